"""Keeps one agent's card current: fetches, checks, accepts or refuses it (A2, A11).

Whatever goes wrong with the agent becomes the reason of its refusal; nothing is raised to whoever
asked, so that one broken agent stops neither the others nor the start.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH

from locum.core.errors import CardError

from ..loop_share import LoopShare
from ..settings import LimitSettings
from .addresses import Reach, Resolve
from .agent import Agent, ClientFactory
from .cards.accepting import AcceptedCard, accept_card
from .cards.cache import Freshness
from .cards.fetch import FetchedCard, fetch_card
from .credentials.placing import Credentials, credentials_for
from .credentials.tls import tls_context_for
from .guard import AddressGuard
from .http import open_http
from .local_cards import CardFactory, local_card
from .roster import plain_line
from .wire.budget import Budget
from .wire.notes import WireLimits

__all__ = ["CardKeeper"]

logger = logging.getLogger("locum.agents")

_REASON = 600
LOOK_PAUSE = 0.5
"""Seconds between two looks at the card of an agent that many sub-tasks wait for."""


class CardKeeper:
    """One agent's. `own_card` builds the card of `self`, which is never fetched (A9).

    `clock` gives seconds that only rise; `environ` holds the credentials.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        limits: LimitSettings,
        wire: WireLimits,
        environ: Mapping[str, str],
        client_factory: ClientFactory,
        clock: Callable[[], float],
        resolve: Resolve,
        own_card: CardFactory | None = None,
    ) -> None:
        self.agent = agent
        self._limits = limits
        self._wire = wire
        self._environ = environ
        self._client_factory = client_factory
        self._clock = clock
        self._resolve = resolve
        self._own_card = own_card
        self._credentials: Credentials | None = None
        self._guard = AddressGuard()
        self._fetched: FetchedCard | None = None
        self._built_by: CardFactory | None = None
        self._stale_at = 0.0
        self._lock = asyncio.Lock()
        self._attempts = 0
        self._looked_at = float("-inf")
        self._logged = ""

    @property
    def is_current(self) -> bool:
        """True when the agent is accepted and its card need not be looked at again yet (A11)."""
        return (
            self.agent.state == "accepted"
            and self._built_by is self._builder()
            and self._clock() < self._stale_at
        )

    @property
    def is_due(self) -> bool:
        """True when the last look is long enough ago to be worth another (A2)."""
        return self._clock() >= self._looked_at + LOOK_PAUSE

    async def refresh(self) -> None:
        """Look at the card now. Who comes while that is under way waits for the same outcome."""
        attempts = self._attempts
        async with self._lock:
            if self._attempts != attempts:
                return
            try:
                self._accept(await self._look())
            except CardError as error:
                self._refuse(error.code, error.message)
            except Exception as error:
                # One broken agent must not stop the others, whatever it makes us trip over (A2).
                logger.exception("agent %s: its card could not be looked at", self.agent.id)
                said = f"Looking at the card failed here: {type(error).__name__}; see the log."
                self._refuse("card.invalid", said)
            self._attempts += 1
            self._looked_at = self._clock()

    def waits(self, seconds: float) -> None:
        """The first look takes longer than that: until it is over the agent is refused."""
        said = f"Its card has not come within {seconds:g} s. It is still waited for."
        self._refuse("card.unreachable", said)

    async def aclose(self) -> None:
        """Close every connection to the agent."""
        if self.agent.http is not None:
            await self.agent.http.aclose()

    def _builder(self) -> CardFactory | None:
        """What builds the card here, when it is that of a harness of this process (A8, A9)."""
        return self._own_card or local_card(self._place)

    @property
    def _place(self) -> str:
        """Where the agent is, also when only its card's URL is configured."""
        settings = self.agent.settings
        return settings.url or settings.card_url.removesuffix(AGENT_CARD_WELL_KNOWN_PATH)

    async def _look(self) -> AcceptedCard:
        settings = self.agent.settings
        credentials = self._open()
        try:
            async with asyncio.timeout(self._limits.card_timeout):
                fetched, reach = await self._have()
                return await accept_card(
                    fetched.card,
                    settings,
                    credentials,
                    card_url=fetched.url,
                    card_reach=reach,
                    resolve=self._resolve,
                )
        except TimeoutError as error:
            raise CardError(
                f"The card of {settings.card_url or settings.url} did not come within"
                f" {self._limits.card_timeout:g} s.",
                code="card.unreachable",
            ) from error

    def _open(self) -> Credentials:
        """The credentials and, on their ground, the HTTP client; both stay once they are had."""
        settings = self.agent.settings
        if self._credentials is None:
            self._credentials = credentials_for(
                settings, self._environ, token_timeout=self._limits.token_timeout
            )
        if self.agent.http is None:
            self.agent.http = open_http(
                credentials=self._credentials,
                limits=self._wire,
                budget=Budget(
                    settings.max_calls,
                    settings.max_streams,
                    LoopShare(),
                    unfinished=self._limits.unfinished_limit,
                ),
                tls=tls_context_for(settings),
                guard=self._guard,
                connect_timeout=self._limits.connect_timeout,
            )
        return self._credentials

    async def _have(self) -> tuple[FetchedCard, Reach]:
        """The card, built here or fetched, and how far away it was found."""
        settings = self.agent.settings
        builder = self._builder()
        if builder is not None:
            fetched, reach = FetchedCard(builder(), self._place, Freshness()), Reach.LOOPBACK
        else:
            assert self.agent.http is not None
            known = self._fetched if self._built_by is None else None
            fetched = await fetch_card(self.agent.http, settings, known)
            reach = self._guard.came_from(fetched.url, fetched.peer)
            self.agent.anomalies.update(fetched.anomalies)
        self._built_by, self._fetched = builder, fetched
        fresh = fetched.freshness.seconds
        self._stale_at = self._clock() + (settings.card_refresh if fresh is None else fresh)
        return fetched, reach

    def _accept(self, accepted: AcceptedCard) -> None:
        agent = self.agent
        before, agent.accepted = agent.accepted, accepted
        if agent.client is None or before is None or accepted.digest != before.digest:
            try:
                agent.client = self._client_factory(agent)
            except BaseException:
                agent.accepted = before
                raise
        assert self._credentials is not None
        self._credentials.expect(accepted.card)
        if self._logged:
            logger.info("agent %s is accepted now", agent.id)
        agent.state, agent.reason, agent.reason_code, self._logged = "accepted", "", "", ""

    def _refuse(self, code: str, message: str) -> None:
        agent, reason = self.agent, plain_line(message, _REASON)
        agent.state, agent.reason, agent.reason_code = "refused", reason, code
        if self._logged != reason:
            self._logged = reason
            logger.warning("agent %s is refused: %s (%s)", agent.id, reason, code)
