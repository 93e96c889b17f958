"""`locum agents --check`: looks at one agent from outside, its card first, then a harmless round.

What would be refused is told with its code, and a refused agent is sent nothing. What it finds is
`Checkup`; it shows nothing and decides nothing about the agent's future.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Collection, Mapping

import httpx

from locum.core.errors import CardError

from ...settings.agents import AgentSettings
from ..addresses import Resolve, resolve
from ..calls.remote_agent import AgentClient
from ..cards.accepting import BINDINGS, AcceptedCard, accepted, refusals_of
from ..cards.fetch import FetchedCard, fetch_card
from ..credentials.placing import Credentials, credentials_for
from ..credentials.tls import tls_context_for
from ..guard import AddressGuard
from ..http import open_http
from ..interface import Binding
from ..wire.budget import Budget
from ..wire.notes import WireLimits
from .judge import missing_fields
from .log import Checkup, Finding, Logbook, Step
from .round import MESSAGE, Patience, Round

__all__ = ["MESSAGE", "Checkup", "Finding", "Patience", "Step", "check_up"]


async def check_up(
    agent: AgentSettings,
    *,
    environ: Mapping[str, str],
    participant_id: str = "locum",
    text: str = MESSAGE,
    bindings: Collection[Binding] = BINDINGS,
    patience: Patience | None = None,
    resolve: Resolve = resolve,
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    clock: Callable[[], float] = time.monotonic,
) -> Checkup:
    """Check one agent; what was found. `text` is the message that it is sent,
    `bindings` are those over which it may be called.

    Takes less than a minute, whatever the agent does. `environ` holds the credentials that `agent`
    names, `new_id` gives ids that nobody has used, `clock` seconds that only rise.
    """
    checkup = Checkup(agent.card_url or agent.url, agent.id)
    check = _Check(agent, Logbook(checkup), patience or Patience(), bindings, resolve, clock)
    try:
        credentials = credentials_for(agent, environ)
        http = check.open(credentials)
    except CardError as refusal:
        checkup.refusals.append(refusal)
        return checkup
    async with http:
        await check.perform(http, credentials, participant_id, text, new_id)
    return checkup


class _Check:
    def __init__(
        self,
        agent: AgentSettings,
        log: Logbook,
        patience: Patience,
        bindings: Collection[Binding],
        resolve: Resolve,
        clock: Callable[[], float],
    ) -> None:
        self._agent = agent
        self._log = log
        self._patience = patience
        self._bindings = bindings
        self._resolve = resolve
        self._clock = clock
        self._guard = AddressGuard()

    def open(self, credentials: Credentials) -> httpx.AsyncClient:
        """The agent's HTTP client, its calls noted in the log. Raises CardError."""
        http = open_http(
            credentials=credentials,
            limits=WireLimits(closing_time=self._patience.closing),
            budget=Budget(),
            tls=tls_context_for(self._agent),
            guard=self._guard,
            connect_timeout=self._patience.step,
        )
        http.event_hooks = {"request": [self._log.on_request]}
        return http

    async def perform(
        self,
        http: httpx.AsyncClient,
        credentials: Credentials,
        participant_id: str,
        text: str,
        new_id: Callable[[], str],
    ) -> None:
        """The card, the round, and the clearing away."""
        round_: Round | None = None
        try:
            async with asyncio.timeout(self._patience.whole):
                card = await self._card(http, credentials)
                if card is None:
                    return
                client = AgentClient(
                    agent_id=self._agent.id,
                    card=card.card,
                    interface=card.interface,
                    http=http,
                    participant_id=participant_id,
                    on_anomaly=lambda agent_id, kind: None,  # They are in the notes of each call.
                    extensions=card.extensions,
                )
                round_ = Round(
                    client, self._log, self._patience, text=text, new_id=new_id, clock=self._clock
                )
                await round_.play()
        except TimeoutError:
            seconds = f"{self._patience.whole:g} s"
            method = self._log.last.method if self._log.last is not None else "AgentCard"
            self._log.read_notes()
            self._log.step("everything else", "left_out", f"the check took longer than {seconds}")
            self._log.find("check.too_slow", method, f"Not done in {seconds}.", "Answers in time.")
        finally:
            if round_ is not None:
                await round_.leave()

    async def _card(self, http: httpx.AsyncClient, credentials: Credentials) -> AcceptedCard | None:
        """The card, looked at; None when it is refused."""
        log, checkup = self._log, self._log.checkup
        begun = self._clock()
        try:
            fetched = await self._fetch(http)
        except CardError as refusal:
            checkup.refusals.append(refusal)
            log.read_notes()
            log.step("AgentCard", "failed", refusal.code, self._clock() - begun)
            return None
        card = fetched.card
        checkup.name, checkup.version = card.name, card.version
        checkup.streaming = card.capabilities.streaming
        checkup.push = card.capabilities.push_notifications
        log.read_notes()
        missing = missing_fields(card)
        if missing:
            seen = f"The card is without {', '.join(missing)}."
            expected = "Every field that A2A 1.0 marks as required, lists with an item (A2A 5.7)."
            log.find("fields.missing", "AgentCard", seen, expected)
        checkup.refusals += await refusals_of(
            card,
            self._agent,
            credentials,
            card_url=fetched.url,
            card_reach=self._guard.came_from(fetched.url, fetched.peer),
            resolve=self._resolve,
            bindings=self._bindings,
        )
        seconds = self._clock() - begun
        if checkup.refusals:
            log.step("AgentCard", "failed", "refused", seconds)
            return None
        taken = accepted(card, self._bindings)
        credentials.expect(card)
        checkup.interface = taken.interface
        log.step("AgentCard", "odd" if checkup.findings else "ok", "accepted", seconds)
        return taken

    async def _fetch(self, http: httpx.AsyncClient) -> FetchedCard:
        try:
            async with asyncio.timeout(self._patience.card):
                return await fetch_card(http, self._agent)
        except TimeoutError as late:
            raise CardError(
                f"The card did not come within {self._patience.card:g} s.", code="card.unreachable"
            ) from late
