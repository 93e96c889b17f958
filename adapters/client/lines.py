"""The explicit client's connections to its agent: one pool an event loop, open only while needed.

A pool belongs to the event loop that it was opened in (G1). It is opened by the first operation there
and closed with the last one, or held open for as long as the client is entered; so nothing is left
behind in a loop that has ended. Decides nothing about messages and tasks.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import httpx

from locum.core.errors import CardError

from ..a2a.addresses import resolve
from ..a2a.calls.remote_agent import AgentClient
from ..a2a.cards.accepting import AcceptedCard, accept_card
from ..a2a.cards.fetch import fetch_card
from ..a2a.credentials.kinds import CustomCredentials
from ..a2a.credentials.placing import Credentials, credentials_for
from ..a2a.credentials.tls import tls_context_for
from ..a2a.guard import AddressGuard
from ..a2a.http import open_http
from ..a2a.wire.budget import Budget
from ..a2a.wire.notes import WireLimits
from ..settings.agents import AgentSettings

__all__ = ["Line", "Lines"]

CARD_TIME = 10.0
"""Seconds in which the card is fetched, like `limits.card_timeout`."""


class Lines:
    """All lines to one agent. `accepted` is its card, fetched and validated once (G1).

    `custom` looks after credentials that are not in `settings`; `environ` holds those that are.
    """

    def __init__(
        self,
        settings: AgentSettings,
        *,
        custom: CustomCredentials | None,
        environ: Mapping[str, str],
        tracing: bool,
    ) -> None:
        self.settings = settings
        self.accepted: AcceptedCard | None = None
        self.anomalies: Counter[str] = Counter()
        """How often each oddity was met with the agent (K2)."""
        self._custom = custom
        self._environ = environ
        self._tracing = tracing
        self._guard = AddressGuard()
        self._credentials: Credentials | None = None
        self._tls: ssl.SSLContext | None = None
        self._lines: dict[asyncio.AbstractEventLoop, Line] = {}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Line"]:
        """The running loop's line, open at least until the block is left.

        Raises UnsupportedExtensionError when a credential that the settings name is not there.
        """
        line = self.hold()
        try:
            yield line
        finally:
            await line.release()

    def hold(self) -> "Line":
        """The running loop's line, open until it is released as often as it was held."""
        loop = asyncio.get_running_loop()
        for ended in [one for one in list(self._lines) if one.is_closed()]:
            # Its sockets went with it; there is nothing left that could be closed in it.
            self._lines.pop(ended, None)
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = self._open()
        line.holders += 1
        return line

    def held(self) -> "Line":
        """The running loop's line, which somebody holds there."""
        return self._lines[asyncio.get_running_loop()]

    def _open(self) -> "Line":
        settings = self.settings
        if self._credentials is None:
            self._tls = tls_context_for(settings)
            self._credentials = credentials_for(settings, self._environ, custom=self._custom)
        http = open_http(
            credentials=self._credentials,
            limits=WireLimits(),
            budget=Budget(settings.max_calls, settings.max_streams),
            tls=self._tls,
            guard=self._guard,
        )
        forget = partial(self._lines.pop, asyncio.get_running_loop(), None)
        return Line(http, partial(self._client, self._credentials), forget)

    async def _client(self, credentials: Credentials, http: httpx.AsyncClient) -> AgentClient:
        if self.accepted is None:
            self.accepted = await self._look(credentials, http)
            credentials.expect(self.accepted.card)
        return AgentClient(
            agent_id=self.settings.id,
            card=self.accepted.card,
            interface=self.accepted.interface,
            http=http,
            participant_id="",
            on_anomaly=self._count,
            extensions=self.accepted.extensions,
            tracing=self._tracing,
        )

    async def _look(self, credentials: Credentials, http: httpx.AsyncClient) -> AcceptedCard:
        settings = self.settings
        try:
            async with asyncio.timeout(CARD_TIME):
                fetched = await fetch_card(http, settings)
                self.anomalies.update(fetched.anomalies)
                return await accept_card(
                    fetched.card,
                    settings,
                    credentials,
                    card_url=fetched.url,
                    card_reach=self._guard.came_from(fetched.url, fetched.peer),
                    resolve=resolve,
                )
        except TimeoutError as error:
            raise CardError(
                f"The card of {settings.id} did not come within {CARD_TIME:g} s.",
                code="card.unreachable",
            ) from error

    def _count(self, agent_id: str, kind: str) -> None:
        self.anomalies[kind] += 1


class Line:
    """The connections to the agent in one event loop. `make` makes what calls the agent with them,
    `forget` is called when they are closed.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        make: Callable[[httpx.AsyncClient], Awaitable[AgentClient]],
        forget: Callable[[], object],
    ) -> None:
        self.holders = 0
        self._http = http
        self._make = make
        self._forget = forget
        self._lock = asyncio.Lock()
        self._agent: AgentClient | None = None

    async def agent(self) -> AgentClient:
        """What calls the agent; its card is looked at first, unless it was already (G1).

        Raises CardError, UnsupportedExtensionError; nothing of that is remembered.
        """
        async with self._lock:
            if self._agent is None:
                self._agent = await self._make(self._http)
            return self._agent

    async def release(self) -> None:
        """Let go of it; the last to do so closes the connections."""
        self.holders -= 1
        if self.holders == 0:
            self._forget()
            await self._http.aclose()
