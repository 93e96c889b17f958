"""What a card's security declaration asks for (A3). Knows no credential."""

from collections.abc import Callable

from a2a.types.a2a_pb2 import AgentCard, SecurityScheme

__all__ = ["Scopes", "missing_schemes", "scheme_words"]

Scopes = tuple[str, ...]


def missing_schemes(
    card: AgentCard, meets: Callable[[SecurityScheme], bool]
) -> tuple[tuple[str, ...], Scopes]:
    """The schemes that are needed and not met, and the scopes of the requirement that is met.

    The requirements are alternatives; all schemes inside one are needed together (A2A section
    4.5). A card with no requirement, or with an empty one, needs nothing. When no alternative is
    met, the names are those that the nearest one lacks.
    """
    nearest: tuple[str, ...] | None = None
    for requirement in card.security_requirements:
        missing = tuple(
            name
            for name in sorted(requirement.schemes)
            # A scheme that the card does not declare is not known, so nothing can meet it.
            if name not in card.security_schemes or not meets(card.security_schemes[name])
        )
        if not missing:
            return (), tuple(
                dict.fromkeys(
                    scope
                    for name in sorted(requirement.schemes)
                    for scope in requirement.schemes[name].list
                )
            )
        if nearest is None or len(missing) < len(nearest):
            nearest = missing
    return nearest or (), ()


def scheme_words(card: AgentCard, name: str) -> str:
    """A scheme in words for a message: its name and what kind it is."""
    if name not in card.security_schemes:
        return f"{name} (not declared)"
    scheme = card.security_schemes[name]
    match scheme.WhichOneof("scheme"):
        case "api_key_security_scheme":
            key = scheme.api_key_security_scheme
            return f"{name} (api_key {key.name!r} in {key.location})"
        case "http_auth_security_scheme":
            return f"{name} (http {scheme.http_auth_security_scheme.scheme})"
        case "oauth2_security_scheme":
            return f"{name} (oauth2)"
        case "open_id_connect_security_scheme":
            return f"{name} (oidc)"
        case "mtls_security_scheme":
            return f"{name} (mtls)"
        case _:
            return f"{name} (unknown kind)"
