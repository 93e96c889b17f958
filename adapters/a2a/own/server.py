"""The agent `self`, served by a2a-sdk's own server: JSON-RPC, HTTP+JSON, streaming, push (A9).

It puts the SDK's parts together and closes them. Its routes ask for no token (J1): whoever reaches
them can have the executor work, and all callers share one list of tasks. An embedder whose executor
is not for everybody puts its own authentication in front.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import httpx
from a2a.server.agent_execution import AgentExecutor
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import BasePushNotificationSender
from a2a.types.a2a_pb2 import AgentCard
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Router

from ...origins import BadUrlError, Origin, literal_address
from ...settings import LimitSettings
from ...settings.agents import CardSettings
from ..addresses import Reach, reach_of, resolve, widest
from ..wire.pool import open_pool
from .bounded import BoundedHandler, FewConfigs
from .card import JSONRPC_PATH, REST_PATH, own_card
from .discreet import DiscreetExecutor
from .lasting_tasks import LastingTasks, TaskShelf
from .recent_tasks import RecentTasks
from .unrouted import unrouted

__all__ = ["SelfAgent"]

logger = logging.getLogger("locum.self")

TASKS_KEPT = 10_000
IDLE_RELEASE = 600.0
"""Seconds after which a parked task lives in the store only; a follow-up takes it up again."""
PATIENCE = 2.0
"""Seconds that the executor gets to end what it has under way, unless the settings say more (F4)."""
_BROKEN_OFF = 0.5
"""Seconds that it gets when it is told so again."""
_PUSH_TIMEOUT = 5.0
_CARD_AGE = "public, max-age=300"


class SelfAgent:
    """`self` as a server. `async with` it; `app` is an ASGI application that has its routes.

    Its tasks outlive the process where there is a `shelf` to keep them on.
    """

    def __init__(
        self,
        card: CardSettings,
        *,
        base_url: str,
        executor: AgentExecutor,
        shelf: TaskShelf | None = None,
        limits: LimitSettings | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.card: AgentCard = own_card(card, base_url)
        self._executor = executor
        self._shelf = shelf
        self._limits = limits or LimitSettings()
        self._patience = patience
        self._guard = _PushGuard(Origin.of(base_url))
        self._stack = AsyncExitStack()
        self._app: Starlette | None = None

    @property
    def app(self) -> Starlette:
        """The routes: the card at its well-known path, `/a2a`, and those below `/a2a/rest`."""
        assert self._app is not None, "enter it first"
        return self._app

    async def __aenter__(self) -> Self:
        await self._guard.look()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_end_watchers, _watchers())
            # It stays, since another harness in this process may have a `self` of its own.
            logging.getLogger("a2a.server.routes.jsonrpc_dispatcher").addFilter(_is_no_body)
            pushes = await stack.enter_async_context(
                httpx.AsyncClient(
                    transport=open_pool(guard=self._guard.check),
                    timeout=_PUSH_TIMEOUT,
                    follow_redirects=False,
                    trust_env=False,
                )
            )
            # In memory, wherever the tasks are: a config has a push token in it (D2).
            configs = FewConfigs()
            room = self._limits.self_tasks_limit
            tasks = RecentTasks(TASKS_KEPT, configs, room=room)
            if self._shelf is not None:
                # Closed after the handler is, which lets go of what is under way.
                lasting = LastingTasks(TASKS_KEPT, configs, self._shelf, room=room)
                tasks = await stack.enter_async_context(lasting)
            handler = BoundedHandler(
                DiscreetExecutor(self._executor),
                tasks,
                self.card,
                limit=self._limits.self_task_limit,
                push_config_store=configs,
                push_sender=BasePushNotificationSender(pushes, configs),
                push_url_validator=self._guard.takes,
                interrupted_task_timeout=IDLE_RELEASE,
            )
            stack.push_async_callback(_close, handler, self._patience)
            self._app = Starlette(
                routes=[
                    *create_agent_card_routes(self.card, cache_control=_CARD_AGE),
                    *create_jsonrpc_routes(handler, JSONRPC_PATH),
                    Mount(REST_PATH, app=_exactly(create_rest_routes(handler))),
                ],
                exception_handlers={404: unrouted, 405: unrouted},
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()


async def _close(handler: BoundedHandler, patience: float) -> None:
    """Cancel what the executor does, once more after `patience`, and then let go of it (F4).

    It is foreign: it may swallow a cancellation, or clean up for ever.
    """
    closing = asyncio.create_task(handler.aclose(), name="locum-self-close")
    try:
        await asyncio.wait({closing}, timeout=patience)
    finally:
        closing.cancel()
    await asyncio.wait({closing}, timeout=min(_BROKEN_OFF, patience))
    if not closing.done():
        logger.info("the executor of self has not ended; it is let go of")
    elif not closing.cancelled():
        closing.result()


def _exactly(routes: Sequence[BaseRoute]) -> Router:
    """A router that leads nobody from a path that is not there to one with a slash behind it."""
    return Router(routes, redirect_slashes=False)


class _PushGuard:
    """Where pushes may go: to anywhere public, to ourselves, and to what is as near as we are.

    Whoever reaches `self` can have it post to a URL, so one that is reached from everywhere must
    not post into the network behind it.
    """

    def __init__(self, own: Origin) -> None:
        self._own = own
        self._near = Reach.LOOPBACK if own.is_loopback else Reach.PUBLIC

    async def look(self) -> None:
        """Find out how far away our own address is."""
        found = await resolve(self._own.host, self._own.port)
        if found:
            self._near = widest(found)

    async def takes(self, url: str) -> bool:
        """True for a URL that may be registered; what its host's name means is checked later."""
        try:
            origin = Origin.of(url)
        except BadUrlError:
            return False
        literal = literal_address(origin.host)
        if literal is None and origin.is_loopback:
            return origin.host == self._own.host or self._near is Reach.LOOPBACK
        return literal is None or self._is_open(origin.host, reach_of(literal))

    def check(self, host: str, address: str) -> None:
        """The pool asks this before it dials. Raises ValueError when it must not."""
        reach = reach_of(ipaddress.ip_address(address.partition("%")[0]))
        if not self._is_open(host, reach):
            raise ValueError(f"a {reach} address, and server.base_url is {self._near}")

    def _is_open(self, host: str, reach: Reach) -> bool:
        if host == self._own.host or reach is Reach.PUBLIC:
            return True
        return reach is self._near and reach in (Reach.LOOPBACK, Reach.PRIVATE)


def _is_no_body(record: logging.LogRecord) -> bool:
    """Keeps requests out of the SDK's debug log: push tokens come in them (D2, G8)."""
    return not str(record.msg).startswith("Request body")


def _watchers() -> set[asyncio.Task[object]]:
    """The tasks with which sse-starlette looks out for uvicorn's end; one starts at a stream."""
    return {
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__qualname__", "") == "_shutdown_watcher"
    }


async def _end_watchers(others: set[asyncio.Task[object]]) -> None:
    # They would run on for ever (D11). Whoever streams on in this loop gets a new one.
    ours = _watchers() - others
    for task in ours:
        task.cancel()
    if ours:
        await asyncio.wait(ours)
