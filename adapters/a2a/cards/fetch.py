"""Fetches an agent's card (A2): where it is, with what conditions, and why it could not be had.

Says nothing about whether the card is any good. Redirects, sizes and nulls are the wire's
business; the credentials go with the request by the client's own auth (A6, case C4).
"""

from dataclasses import dataclass

import httpx
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH

from locum.core.errors import CardError, RemoteCallError

from ...origins import Origin
from ...settings.agents import AgentSettings
from ..wire.faults import NoTlsError, error_for
from ..wire.notes import CALL, CallNotes
from ..wire.words import one_line
from .cache import Freshness, freshness_of
from .parse import parse_card

__all__ = ["FetchedCard", "card_urls", "check_plain_http", "fetch_card"]

_NOT_THERE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.GONE})
_CODES = {
    "remote.too_large": "card.invalid",
    "remote.malformed": "card.invalid",
    "remote.address": "card.private_address",
}
"""What the wire refuses, as codes of a card; anything else is `card.unreachable`."""
_WHERE = "See that the agent runs there, or mend its URL."


@dataclass(frozen=True, slots=True)
class FetchedCard:
    """A card, where it was found, and how long it may be used unasked.

    `peer` is the IP address that it came from; a card that was built here has none.
    """

    card: AgentCard
    url: str
    freshness: Freshness
    peer: str = ""
    anomalies: tuple[str, ...] = ()
    """What the wire had to mend to read it (K2)."""


def card_urls(agent: AgentSettings) -> tuple[str, ...]:
    """Where the card may be, in the order to look (A2, case C2, case C3)."""
    if agent.card_url:
        return (agent.card_url,)
    parsed = httpx.URL(agent.url)
    beneath = agent.url.rstrip("/") + AGENT_CARD_WELL_KNOWN_PATH
    if parsed.path.strip("/"):
        return (beneath, str(parsed.copy_with(raw_path=AGENT_CARD_WELL_KNOWN_PATH.encode())))
    return (beneath,)


def check_plain_http(url: str, *, allow_insecure: bool, what: str) -> None:
    """Refuse plain HTTP off loopback (A4 `card.insecure_url`)."""
    origin = Origin.of(url)
    if origin.scheme == "http" and not origin.is_loopback and not allow_insecure:
        raise CardError(
            f"{what} is at {origin}: plain HTTP off loopback. Use https, or set allow_insecure.",
            code="card.insecure_url",
        )


async def fetch_card(
    http: httpx.AsyncClient, agent: AgentSettings, known: FetchedCard | None = None
) -> FetchedCard:
    """The card as it is now; with `known`, the agent is only asked whether it has changed (A11).

    Raises CardError: `card.insecure_url` before anything is sent, `card.unreachable`, or
    `card.invalid` for an answer that is too large or no card.
    """
    missing: list[str] = []
    for url in card_urls(agent):
        check_plain_http(url, allow_insecure=agent.allow_insecure, what="The card")
        before = known if known is not None and known.url == url else None
        response, notes = await _get(http, agent.id, url, before)
        status = response.status_code
        if status == httpx.codes.NOT_MODIFIED and before is not None:
            freshness = freshness_of(response.headers, before.freshness)
            return FetchedCard(before.card, url, freshness, notes.peer)
        if status == httpx.codes.OK:
            card = parse_card(response.content)
            freshness = freshness_of(response.headers)
            return FetchedCard(card, url, freshness, notes.peer, tuple(notes.anomalies))
        if status not in _NOT_THERE:
            raise _unreachable(f"{url} answered HTTP {status}{_hint(response)}.")
        missing.append(f"{url} (HTTP {status})")
    raise _unreachable(
        f"There is no card at {' nor at '.join(missing)}. Set url or card_url to where it is."
    )


async def _get(
    http: httpx.AsyncClient, agent_id: str, url: str, known: FetchedCard | None
) -> tuple[httpx.Response, CallNotes]:
    notes = CallNotes(method="AgentCard", agent_id=agent_id)
    headers = {"Accept": "application/json"} | (known.freshness.conditions if known else {})
    token = CALL.set(notes)
    try:
        return await http.get(url, headers=headers), notes
    except (httpx.HTTPError, httpx.InvalidURL, RemoteCallError) as error:
        said = error_for(error, notes)
        words = said.message.removeprefix(f"Agent {agent_id!r}, AgentCard: ")
        if said.code == "remote.unreachable":
            why = words.removeprefix("it cannot be reached: ")
            words = f"{why}." if isinstance(error, NoTlsError) else f"{why}. {_WHERE}"
        raise CardError(
            f"The card at {url} cannot be had: {words}",
            code=_CODES.get(said.code, "card.unreachable"),
        ) from error
    finally:
        CALL.reset(token)


def _unreachable(message: str) -> CardError:
    return CardError(message, code="card.unreachable")


def _hint(response: httpx.Response) -> str:
    if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        asked = one_line(response.headers.get("www-authenticate", ""), 100)
        return f" ({asked}); check the agent's auth" if asked else "; check the agent's auth"
    return ""
