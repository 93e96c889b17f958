"""The web face: one ASGI application over a harness that it is handed. Wires routes, nothing else.

A request goes through here: which path it is about (`paths`), whether it may come in (`door`), how
large its body may be (`reading`), and then to Litestar, or to the A2A routes of `self`
(`own_agent`).

Served by itself, the application's lifespan opens the harness, if nobody has, and closes what it
opened. Mounted in another application it gets no lifespan: enter the harness there (`async with`).
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from litestar import Litestar
from litestar.types import (
    HTTPScope,
    LifeSpanReceive,
    LifeSpanSend,
    Message,
    Receive,
    Send,
)

from locum.core.errors import LocumError, ServerError

from .api import Api
from .door import Door, area_of
from .feed import KEEP_ALIVE
from .own_agent import OwnAgentDoor
from .paths import routed_path
from .ports import HarnessPort
from .probes import Probes
from .problems import refuse_websocket, respond, send_problem
from .push import PushRoute
from .reading import bounded, strict_request
from .schema import openapi_config

__all__ = ["WebApp", "build_app"]


def build_app(harness: HarnessPort, *, keep_alive: float = KEEP_ALIVE) -> "WebApp":
    """The application of `harness`. `keep_alive`: seconds between a quiet stream's comments."""
    return WebApp(harness, keep_alive=keep_alive)


PATIENCE = 1.0
"""Seconds that requests which are under way get to end by themselves once locum stops (F4)."""


class WebApp:
    """The ASGI application. `stop` ends what would not end by itself."""

    def __init__(self, harness: HarnessPort, *, keep_alive: float = KEEP_ALIVE) -> None:
        self._harness = harness
        self._limits = harness.settings.limits
        self._stopping = asyncio.Event()
        self._answering: set[asyncio.Task[Any]] = set()
        self._door = Door(harness.settings.server)
        self._own_agent = OwnAgentDoor(self._limits, self._stopping)
        self._push = PushRoute(harness, self._limits)
        api = Api(harness, stopping=self._stopping, keep_alive=keep_alive)
        self._litestar = Litestar(
            [*api.routes(), *self._push.routes(), *Probes(harness).routes()],
            exception_handlers={Exception: respond},
            request_class=strict_request(self._limits.value_limit),
            request_max_body_size=None,  # `bounded` counts, for all routes alike
            logging_config=None,  # locum logs by itself, and configures nobody's loggers
            openapi_config=openapi_config(),
            debug=False,
        )

    @property
    def push_refusals(self) -> Mapping[str, int]:
        """How many pushes were refused so far, by reason (D5)."""
        return self._push.refused

    @property
    def self_waiting(self) -> int:
        """How many requests to `self` wait for their turn now (J4)."""
        return self._own_agent.waiting

    def stop(self) -> None:
        """End every stream now; what comes after is answered with 503. The server calls this.

        So is what is still waited for a little later: a body that does not come, an agent's card.
        """
        self._stopping.set()
        asyncio.get_running_loop().call_later(PATIENCE, self._break_off)

    def _break_off(self) -> None:
        for task in self._answering:
            task.cancel()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one ASGI connection, of whichever type."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer_in_time(scope, receive, send)
        else:
            await refuse_websocket(scope, send)

    async def _answer_in_time(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        answer = _Answer(send)
        self._answering.add(task)
        try:
            await self._answer(scope, receive, answer.send)
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            task.uncancel()
            await answer.end()
        finally:
            self._answering.discard(task)

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        try:
            path = routed_path(scope)
            area = area_of(path)
            self._door.check(scope, area)
            if path not in ("/healthz", "/readyz"):
                self._check_open()
        except LocumError as error:
            await send_problem(send, error)
            return
        limits = self._limits
        routes = self._harness.self_routes if area == "a2a" else None
        limit = limits.body_limit if routes is None else limits.self_limit
        if path.startswith("/a2a/push/"):
            limit = limits.push_body_limit
        limited = bounded(receive, scope["headers"], limit, limits.body_timeout)
        # Whoever answers sees the very path that the door has judged.
        if routes is None:
            await self._litestar({**scope, "path": path, "root_path": ""}, limited, send)
        else:
            answer = _Answer(send)
            judged: HTTPScope = {**scope, "path": path}
            await self._own_agent.answer(routes, judged, limited, answer.send)
            if self._stopping.is_set():
                await answer.end()

    def _check_open(self) -> None:
        if self._stopping.is_set():
            raise _stopping_error()
        if not self._harness.is_open:
            raise ServerError(
                "The harness is not open: enter it with `async with`, or let the application's"
                " lifespan do it.",
                code="server.not_open",
            )

    async def _live(self, receive: LifeSpanReceive, send: LifeSpanSend) -> None:
        """The lifespan protocol: open the harness if nobody has, and close what was opened."""
        await receive()
        async with AsyncExitStack() as stack:
            try:
                if not self._harness.is_open:
                    await stack.enter_async_context(self._harness)
            except LocumError as error:
                await send({"type": "lifespan.startup.failed", "message": error.message})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self.stop()
        await send({"type": "lifespan.shutdown.complete"})


def _stopping_error() -> ServerError:
    return ServerError("locum is shutting down; try again in a moment.", code="server.stopping")


class _Answer:
    """What was sent of an answer, so that one that is broken off still ends in good order."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_begun = self._is_through = False

    async def send(self, message: Message) -> None:
        self._is_begun = True
        self._is_through = not message.get("more_body", message["type"] != "http.response.body")
        await self._send(message)

    async def end(self) -> None:
        if not self._is_begun:
            await send_problem(self._send, _stopping_error())
        elif not self._is_through:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
