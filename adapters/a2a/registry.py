"""All agents of one harness: which there are, which take work, and why the others do not (section A).

It fetches their cards when it is entered and looks at them again when they grow stale; it sends
no work.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from locum.core.errors import AgentUnknownError

from ..settings import Settings
from ..settings.agents import SELF, AgentSettings
from .addresses import Resolve, resolve
from .agent import Agent, ClientFactory
from .calls.remote_agent import AgentClient
from .card_keeper import CardKeeper
from .http import wire_limits
from .local_cards import CardFactory, register_local
from .own.card import own_card
from .roster import roster_of

__all__ = ["Agent", "ClientFactory", "Registry"]

logger = logging.getLogger("locum.agents")

PATIENCE = 3.0
"""Seconds that a start waits for cards: an agent that hangs holds up nobody else (A2)."""


class Registry:
    """The agents of `settings`, and `self` when `own_url` says where it is reached (A9).

    Enter it to fetch all cards, at once and each within `limits.card_timeout`; leaving it closes
    every connection. Entering waits for them, but no longer than `patience` seconds (None: for
    all): an agent whose card comes later is refused until then. `environ` holds the credentials (the process's when None), `monotonic` gives
    seconds that only rise, `resolve` the addresses of a name.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        own_url: str | None = None,
        client_factory: ClientFactory | None = None,
        environ: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        resolve: Resolve = resolve,
        patience: float | None = PATIENCE,
    ) -> None:
        self._settings = settings
        self._patience = patience
        self._own_card: CardFactory | None = None
        self._client_factory = client_factory or self._client_for
        self._environ = os.environ if environ is None else environ
        self._monotonic = monotonic
        self._resolve = resolve
        self._warned: dict[tuple[str, str], str] = {}
        """For each agent and field, the card that a cut was last warned of."""
        self._keepers = dict(sorted(self._make_keepers(own_url)))
        self._own_url = own_url
        self._stack = AsyncExitStack()

    def _make_keepers(self, own_url: str | None) -> Iterator[tuple[str, CardKeeper]]:
        for one in self._settings.agents:
            yield one.id, self._keeper(one)
        if self._settings.card is not None and own_url is not None:
            self._own_card = partial(own_card, self._settings.card, own_url)
            yield SELF, self._keeper(self._settings.own_agent(own_url), self._own_card)

    def _keeper(self, one: AgentSettings, built_by: CardFactory | None = None) -> CardKeeper:
        return CardKeeper(
            Agent(one.id, one),
            limits=self._settings.limits,
            wire=wire_limits(self._settings),
            environ=self._environ,
            client_factory=self._client_factory,
            clock=self._monotonic,
            resolve=self._resolve,
            own_card=built_by,
        )

    # Life

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            if self._own_card is not None and self._own_url is not None:
                stack.enter_context(register_local(self._own_url, self._own_card))
            stack.push_async_callback(self._close)
            looks = await stack.enter_async_context(_Looks(self._keepers.values()))
            await looks.first(self._patience)
            self._tell()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def _close(self) -> None:
        for keeper in self._keepers.values():
            await keeper.aclose()

    def _tell(self) -> None:
        agents = [keeper.agent for keeper in self._keepers.values()]
        accepted = ", ".join(one.id for one in agents if one.state == "accepted") or "none"
        refused = ", ".join(one.id for one in agents if one.state == "refused") or "none"
        logger.info("agents accepted: %s; refused: %s", accepted, refused)
        self.roster()

    # What there is

    def ids(self) -> list[str]:
        """The ids of all registered agents, refused ones too, sorted."""
        return list(self._keepers)

    def get(self, agent_id: str) -> Agent:
        """The agent. Raises AgentUnknownError, which lists those that take work (C1)."""
        return self._keeper_of(agent_id).agent

    def find(self, agent_id: str) -> Agent | None:
        """The agent, or None when there is none of that id."""
        keeper = self._keepers.get(agent_id)
        return keeper.agent if keeper is not None else None

    def _keeper_of(self, agent_id: str) -> CardKeeper:
        keeper = self._keepers.get(agent_id)
        if keeper is None:
            agents = [one.agent for one in self._keepers.values()]
            accepted = [one.id for one in agents if one.state == "accepted"]
            refused = {one.id: one.reason for one in agents if one.state == "refused"}
            raise AgentUnknownError(agent_id, accepted, refused)
        return keeper

    def agents(self) -> list[dict[str, Any]]:
        """All agents, accepted and refused, as `GET /v1/agents` shows them, sorted by id."""
        return [keeper.agent.view() for keeper in self._keepers.values()]

    def roster(self) -> str:
        """The roster of the accepted agents (section B); a cut is logged once for each card."""
        accepted = {
            id_: card
            for id_, keeper in self._keepers.items()
            if keeper.agent.state == "accepted" and (card := keeper.agent.card) is not None
        }
        roster = roster_of(accepted.items())
        for agent_id, field in roster.cut:
            digest = self._keepers[agent_id].agent.card_digest
            if self._warned.get((agent_id, field)) != digest:
                self._warned[agent_id, field] = digest
                logger.warning(
                    "agent %s: %s is too long and was cut in the roster", agent_id, field
                )
        return roster.text

    def count_anomaly(self, agent_id: str, kind: str) -> None:
        """Count an oddity met with an agent (K2); of an agent that is not registered, nothing."""
        agent = self.find(agent_id)
        if agent is not None:
            agent.anomalies[kind] += 1

    # Use

    async def ready(self, agent_id: str) -> Agent:
        """The agent, for new work: a refused one or a stale card is looked at first (A2, A11).

        Raises AgentUnknownError (C1) or AgentRefusedError with the reason.
        """
        keeper = self._keeper_of(agent_id)
        if not keeper.is_current:
            await keeper.refresh()
        if keeper.agent.state == "refused":
            raise keeper.agent.refusal()
        return keeper.agent

    async def client(self, agent_id: str) -> AgentClient:
        """The client for work that is already under way: also of an agent that is refused by now,
        if it was accepted before (A11).

        Raises AgentUnknownError, or AgentRefusedError when there never was an accepted card.
        """
        keeper = self._keeper_of(agent_id)
        if keeper.agent.client is None:
            await keeper.refresh()
        if keeper.agent.client is None:
            raise keeper.agent.refusal()
        return keeper.agent.client

    async def reach(self, agent_id: str) -> None:
        """Look for an agent that cannot be called yet; seldom, however many sub-tasks wait for it.

        Raises AgentUnknownError, or AgentRefusedError when there still is no accepted card.
        """
        keeper = self._keeper_of(agent_id)
        if keeper.agent.client is None and not keeper.is_due:
            raise keeper.agent.refusal()
        await self.client(agent_id)

    def _client_for(self, agent: Agent) -> AgentClient:
        assert agent.card is not None
        assert agent.interface is not None
        assert agent.http is not None
        return AgentClient(
            agent_id=agent.id,
            card=agent.card,
            interface=agent.interface,
            http=agent.http,
            participant_id=self._settings.standin.participant_id,
            on_anomaly=self.count_anomaly,
            extensions=agent.extensions,
            tracing=self._settings.telemetry.tracing,
            tokens=agent.tokens,
        )


class _Looks:
    """While entered, looks at each card, and every `card_refresh` at each that is not current (A2)."""

    def __init__(self, keepers: Collection[CardKeeper]) -> None:
        self._keepers = {keeper: asyncio.Event() for keeper in keepers}
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._tasks = [
            self._group.create_task(self._repeat(keeper, is_done))
            for keeper, is_done in self._keepers.items()
        ]
        return self

    async def first(self, patience: float | None) -> None:
        """Wait for the first look at each card, but no longer than `patience` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                for is_done in self._keepers.values():
                    await is_done.wait()
        for keeper, is_done in self._keepers.items():
            if patience is not None and not is_done.is_set():
                keeper.waits(patience)

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        # What made the owner leave is no failure of these tasks; handed on, the group would wrap
        # it into a group of exceptions.
        await self._group.__aexit__(None, None, None)

    @staticmethod
    async def _repeat(keeper: CardKeeper, is_done: asyncio.Event) -> None:
        await keeper.refresh()
        is_done.set()
        while True:
            await asyncio.sleep(keeper.agent.settings.card_refresh)
            if not keeper.is_current:
                await keeper.refresh()
