"""Whether an agent's card is accepted, and which of its interfaces is used (A3 to A5, A7, A10).

Every refusal is a CardError with its own code and a message that says what was found and what to
change. Fetches nothing from the agent; a name may be resolved, to see whether it is public.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

import httpx
from a2a.types.a2a_pb2 import AgentCard, AgentInterface
from google.protobuf.json_format import MessageToDict
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from locum.core.errors import CardError, UnsupportedExtensionError

from ...origins import BadUrlError, IpAddress, Origin, literal_address
from ...settings.agents import AgentSettings
from ..addresses import Reach, Resolve, reach_of, widest
from ..credentials.placing import Credentials
from ..credentials.security import scheme_words
from ..extensions import IMPLEMENTED
from ..interface import Binding, Interface
from ..wire.words import one_line
from .fetch import check_plain_http
from .trust import check_signature

__all__ = [
    "BINDINGS",
    "AcceptedCard",
    "accept_card",
    "accepted",
    "choose_interface",
    "digest_of",
    "refusals_of",
]

BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")
"""The bindings that locum speaks (G6)."""
_BINDINGS: dict[str, Binding] = {binding: binding for binding in BINDINGS}
_LISTED = 10


@dataclass(frozen=True, slots=True)
class AcceptedCard:
    """A card that was accepted: its digest (SHA-256 in hex), and how the agent is called."""

    card: AgentCard
    digest: str
    interface: Interface
    extensions: tuple[str, ...]
    """The extensions that the card advertises and locum implements, in the card's order (A7)."""


async def accept_card(
    card: AgentCard,
    agent: AgentSettings,
    credentials: Credentials,
    *,
    card_url: str,
    card_reach: Reach,
    resolve: Resolve,
) -> AcceptedCard:
    """Check a card that was found at `card_url`, at an address as far away as `card_reach`.

    Raises CardError, or UnsupportedExtensionError (A3).
    """
    for refusal in await refusals_of(
        card, agent, credentials, card_url=card_url, card_reach=card_reach, resolve=resolve
    ):
        raise refusal
    return accepted(card)


def accepted(card: AgentCard, bindings: Collection[Binding] = BINDINGS) -> AcceptedCard:
    """A card that nothing speaks against (`refusals_of`)."""
    advertised = [extension.uri for extension in card.capabilities.extensions]
    extensions = tuple(dict.fromkeys(uri for uri in advertised if uri in IMPLEMENTED))
    return AcceptedCard(card, digest_of(card), choose_interface(card, bindings), extensions)


async def refusals_of(
    card: AgentCard,
    agent: AgentSettings,
    credentials: Credentials,
    *,
    card_url: str,
    card_reach: Reach,
    resolve: Resolve,
    bindings: Collection[Binding] = BINDINGS,
) -> list[CardError]:
    """Everything that the card is refused for, what counts most first; none when it is accepted.

    `bindings` are those that may be used.
    """
    found: list[CardError] = []
    with _noting(found):
        if agent.trusted_keys:
            check_signature(card, agent.trusted_keys)
    if found:
        return found  # Nothing that an untrusted card names is looked at, or looked up.
    with _noting(found):
        interface = choose_interface(card, bindings)
        _check_form(interface)
        await _check_url(interface.url, agent, card_url, card_reach, resolve)
    with _noting(found):
        _check_extensions(card)
    with _noting(found):
        _check_security(card, credentials)
    with _noting(found):
        _check_version(card, agent.version)
    return found


@contextmanager
def _noting(found: list[CardError]) -> Iterator[None]:
    try:
        yield
    except CardError as refusal:
        found.append(refusal)


def digest_of(card: AgentCard) -> str:
    """SHA-256 (hex) of the card as canonical JSON: the same for the same card, however written.

    The signatures are left out, as they are in what they sign: some agents sign anew for every
    request, and the card is the same all the same.
    """
    fields = MessageToDict(card)
    fields.pop("signatures", None)
    written = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def choose_interface(card: AgentCard, bindings: Collection[Binding] = BINDINGS) -> Interface:
    """The first interface that speaks A2A 1.x over JSONRPC or HTTP+JSON, its URL verbatim (A5).

    One that names no version counts when none that names one does. Raises CardError
    `card.no_interface`, listing what the card offers.
    """
    offered = card.supported_interfaces
    usable = [one for one in offered if one.protocol_binding.upper() in bindings]
    current = [one for one in usable if _major(one) == 1]
    for one in [*current, *(one for one in usable if not one.protocol_version)]:
        return Interface(
            url=one.url,
            binding=_BINDINGS[one.protocol_binding.upper()],
            tenant=one.tenant,
            protocol_version=one.protocol_version or "1.0",
        )
    raise _no_interface(offered, bindings)


def _major(interface: AgentInterface) -> int | None:
    try:
        return Version(interface.protocol_version).major
    except ValueError:  # InvalidVersion, or a number of more digits than Python reads
        return None


def _no_interface(offered: Sequence[AgentInterface], bindings: Collection[Binding]) -> CardError:
    listed = [f"{one.protocol_binding or '?'} {one.protocol_version or '?'}" for one in offered]
    said = ", ".join(one_line(each, 40) for each in listed[:_LISTED]) or "none"
    if len(listed) > _LISTED:
        said += f" and {len(listed) - _LISTED} more"
    what = "The card has no interface that locum can use"
    if listed and all(_major(one) == 0 for one in offered):
        what = "The card is for A2A 0.3 only"
    return CardError(
        f"{what}: offered {said}; supported A2A 1.x over {' or '.join(bindings)}. Have the agent"
        " offer one of these.",
        code="card.no_interface",
        detail={"offered": listed[:_LISTED], "supported": [f"{one} 1.x" for one in bindings]},
    )


def _check_form(interface: Interface) -> None:
    # Over HTTP+JSON each call has a path of its own behind that of the URL. A query can stand
    # behind both; with a fragment nobody can say what is meant.
    if interface.binding == "HTTP+JSON" and "#" in interface.url:
        raise _bad_url(_shown(interface.url), "it has a fragment, and calls would go behind that")


async def _check_url(
    url: str, agent: AgentSettings, card_url: str, card_reach: Reach, resolve: Resolve
) -> None:
    """Where the interface leads (A4); the order is that of how surely it is wrong."""
    shown = _shown(url)
    try:
        origin = Origin.of(url)
    except BadUrlError as error:
        raise _bad_url(shown, str(error)) from None
    literal = literal_address(origin.host)
    if literal is not None and reach_of(literal) is Reach.UNSPECIFIED:
        raise _bad_url(shown, f"{origin.host} is no address that can be reached")
    from_public = card_reach is Reach.PUBLIC
    if from_public and literal is not None and reach_of(literal) is not Reach.PUBLIC:
        raise _private(shown, reach_of(literal))
    if _is_respelled(url, literal):
        raise _bad_url(shown, f"its host is another spelling of {literal}, which nobody dials")
    own = {Origin.of(each) for each in (card_url, agent.url) if each}
    if origin not in own and not any(host.matches(origin) for host in agent.allowed_hosts):
        raise CardError(
            f"The card's interface is at {origin}, another origin than the card's"
            f" ({Origin.of(card_url)}). Put it into allowed_hosts if it may be called.",
            code="card.foreign_host",
            detail={"interface": str(origin), "card": str(Origin.of(card_url))},
        )
    check_plain_http(url, allow_insecure=agent.allow_insecure, what="The card's interface")
    if from_public and literal is None and origin.host != Origin.of(card_url).host:
        reach = widest(await resolve(origin.host, origin.port))
        if reach is not Reach.PUBLIC:
            raise _private(shown, reach)


def _is_respelled(url: str, literal: IpAddress | None) -> bool:
    # Resolvers read 2130706433 and 0x7f.1 as addresses; the pool refuses to.
    return isinstance(literal, IPv4Address) and httpx.URL(url).host != str(literal)


def _shown(url: str) -> str:
    return one_line(url.rpartition("@")[2], 200)


def _bad_url(shown: str, why: str) -> CardError:
    return CardError(
        f"The card's interface URL {shown!r} cannot be used: {why}. Have the card name an absolute"
        " http(s) URL.",
        code="card.bad_url",
    )


def _private(shown: str, reach: Reach) -> CardError:
    return CardError(
        f"The card came from a public address, and its interface {shown!r} is at a {reach} one."
        " Have the card name a public address, or configure the agent by its private one.",
        code="card.private_address",
    )


def _check_extensions(card: AgentCard) -> None:
    needed = [one.uri for one in card.capabilities.extensions if one.required]
    unknown = [one_line(uri, 200) for uri in needed if uri not in IMPLEMENTED][:_LISTED]
    if unknown:
        raise UnsupportedExtensionError(
            f"The card requires what locum does not implement: {', '.join(unknown)}. The agent"
            " cannot be used until its card stops requiring it.",
            detail={"extensions": unknown},
        )


def _check_security(card: AgentCard, credentials: Credentials) -> None:
    missing = credentials.fits(card)[:_LISTED]
    if missing:
        words = ", ".join(one_line(scheme_words(card, name), 100) for name in missing)
        raise UnsupportedExtensionError(
            f"The card needs a security scheme for which no credential is configured: {words}."
            " Set the agent's auth.",
            detail={"schemes": [one_line(name, 100) for name in missing]},
        )


def _check_version(card: AgentCard, wanted: str) -> None:
    if not wanted:
        return
    try:
        # As a text, which is what `===` is about: what is no version otherwise meets nothing else.
        met = SpecifierSet(wanted).contains(card.version, prereleases=True)
    except ValueError:  # a number of more digits than Python reads
        met = False
    if not met:
        raise CardError(
            f"The card's version is {one_line(card.version, 50)!r}, and {wanted!r} is configured."
            " Change the agent's version setting, or deploy a version that it takes.",
            code="card.version_mismatch",
            detail={"found": one_line(card.version, 50), "wanted": wanted},
        )
