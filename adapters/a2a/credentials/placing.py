"""The credentials of one agent, put onto its requests: to configured origins and nowhere else (A6).

What the kinds are is in `kinds.py`. Nothing here shows a secret: not in a repr, an error or a log
line (G8).
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import assert_never

import httpx
from a2a.types.a2a_pb2 import AgentCard, SecurityScheme

from locum.core.errors import UnsupportedExtensionError

from ...origins import BadUrlError, Origin, OriginPattern
from ...secret import Secret
from ...settings.agents import (
    AgentSettings,
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    MtlsAuth,
    OAuth2Auth,
    OidcAuth,
)
from .kinds import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    Credential,
    CustomCredential,
    CustomCredentials,
    MtlsCredential,
    TokenCredential,
    is_sendable,
)
from .security import Scopes, missing_schemes
from .tls import tls_context
from .tokens import TokenClient, TokenSource

__all__ = ["Credentials", "credentials_for"]


class Credentials(httpx.Auth):
    """An httpx auth that puts every credential of one agent on each request to where it belongs."""

    def __init__(
        self, parts: Sequence[Credential], allowed: Sequence[Origin | OriginPattern]
    ) -> None:
        self._parts = tuple(parts)
        self._allowed = tuple(allowed)
        self._known: dict[tuple[str, str, int | None], bool] = {}
        self._scopes: Scopes = ()

    def __repr__(self) -> str:
        kinds = ", ".join(type(part).__name__ for part in self._parts)
        return f"<Credentials: {kinds or 'none'}>"

    def fits(self, card: AgentCard) -> tuple[str, ...]:
        """The names of the schemes that the card needs and nothing here meets; none: it fits (A3)."""
        return missing_schemes(card, self._meets)[0]

    def expect(self, card: AgentCard) -> None:
        """From now on ask for the scopes that an accepted card names."""
        self._scopes = missing_schemes(card, self._meets)[1]

    def _meets(self, scheme: SecurityScheme) -> bool:
        return any(part.meets(scheme) for part in self._parts)

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Put the credentials on; after a 401 once more, if they can be renewed (never in a loop)."""
        if not self._parts or not self._belong_at(request.url):
            yield request
            return
        for part in self._parts:
            await part.put_on(request, self._scopes)
        response = yield request
        if response.status_code != httpx.codes.UNAUTHORIZED:
            return
        renewed = [await part.renew(request, self._scopes) for part in self._parts]
        if any(renewed):
            yield request

    def _belong_at(self, url: httpx.URL) -> bool:
        place = (url.scheme, url.host, url.port)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._is_allowed(str(url))
        return known

    def _is_allowed(self, url: str) -> bool:
        try:
            origin = Origin.of(url)
        except BadUrlError:
            return False
        return any(
            allowed.matches(origin) if isinstance(allowed, OriginPattern) else allowed == origin
            for allowed in self._allowed
        )


def credentials_for(
    agent: AgentSettings,
    environ: Mapping[str, str],
    *,
    custom: CustomCredentials | None = None,
    token_timeout: float = 10.0,
) -> Credentials:
    """The credentials that an agent's settings name, their secrets taken from `environ`.

    They go to the origins of `url` and `card_url` and to `allowed_hosts`. Raises
    UnsupportedExtensionError (`card.unsupported`) when a variable is not set or a file cannot be
    used, naming it: that agent cannot be used, the others can.
    """
    parts: list[Credential] = [
        _credential(auth, environ, agent, token_timeout) for auth in agent.auth
    ]
    if custom is not None:
        parts.append(CustomCredential(custom))
    own = [Origin.of(url) for url in (agent.url, agent.card_url) if url]
    return Credentials(parts, [*own, *agent.allowed_hosts])


def _credential(
    auth: Auth, environ: Mapping[str, str], agent: AgentSettings, token_timeout: float
) -> Credential:
    match auth:
        case BearerAuth():
            return BearerCredential(_variable(auth.token_env, environ))
        case ApiKeyAuth():
            return ApiKeyCredential(auth.name, auth.in_, _variable(auth.value_env, environ))
        case BasicAuth():
            return BasicCredential(auth.username, _variable(auth.password_env, environ))
        case OAuth2Auth() | OidcAuth():
            return TokenCredential(_token_source(auth, environ, agent, token_timeout))
        case MtlsAuth():
            return MtlsCredential()
        case _:
            assert_never(auth)


def _token_source(
    auth: OAuth2Auth | OidcAuth,
    environ: Mapping[str, str],
    agent: AgentSettings,
    timeout: float,
) -> TokenSource:
    source = partial(
        TokenSource,
        TokenClient(tls_context(ca_file=agent.ca_file), timeout, agent.allow_insecure),
        client_id=auth.client_id,
        client_secret=_variable(auth.client_secret_env, environ),
        scopes=auth.scopes,
        audience=auth.audience,
    )
    if isinstance(auth, OAuth2Auth):
        return source(token_url=auth.token_url)
    return source(issuer=auth.issuer, allowed_hosts=auth.allowed_hosts)


def _variable(name: str, environ: Mapping[str, str]) -> Secret:
    # White space around it is what files and shells leave behind; inside it is a mistake.
    value = environ.get(name, "").strip()
    if not value:
        what = "is not set" if name not in environ else "is empty"
    elif not is_sendable(value):
        what = "holds signs other than printable ASCII"
    else:
        return Secret(value)
    raise UnsupportedExtensionError(
        f"The environment variable {name}, which the agent's auth names, {what}.",
        detail={"variable": name},
    )
