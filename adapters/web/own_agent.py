"""How the A2A routes of `self` are reached: measured, paced, and let go of when locum stops (J4).

Nobody has to bear a token for them, so what a caller can make them cost is bounded before a2a-sdk
sees it. What they answer is the SDK's.
"""

import asyncio
from typing import Final

from litestar.types import ASGIApp, HTTPScope, Receive, Send

from locum.core.errors import LocumError, ServerError

from ..loop_share import LoopShare, metered
from ..settings import LimitSettings
from .paths import segment
from .problems import ClientGoneError, send_problem
from .racing import first_of, hung_up
from .reading import check_json, read_body, replayed

__all__ = ["OwnAgentDoor"]

_DEPTH: Final = 100
"""How deep JSON may be nested: as deep as google.protobuf reads it."""
_WAITING: Final = 100
"""How many requests may wait for their turn; what comes then is sent away."""


class OwnAgentDoor:
    """The way to the routes; all that goes through it has one share of the event loop."""

    def __init__(self, limits: LimitSettings, stopping: asyncio.Event) -> None:
        self._values = limits.self_value_limit
        self._stopping = stopping
        self._share = LoopShare()

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn now."""
        return self._share.waiting

    async def answer(self, routes: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Let the routes answer, or answer with the problem that keeps the request from them.

        Returns as well when locum stops, whatever was answered by then.
        """
        # The SDK would make an internal error of a body that is too large, so it is read before.
        try:
            body = await read_body(receive)
            check_json(body, self._values, _DEPTH)
            if self.waiting >= _WAITING:
                raise _BusyError
        except LocumError as error:
            await send_problem(send, error)
            return
        except ClientGoneError:
            return
        if not await self._has_its_turn(receive):
            return
        given = replayed(body, receive)
        inner: HTTPScope = {**scope, "path": segment(scope["path"]), "root_path": ""}
        # A stream of `self` may last as long as its task does; it ends when the server stops.
        await first_of(self._run(routes, inner, given, send), self._stopping.wait())

    async def _has_its_turn(self, receive: Receive) -> bool:
        """Wait for it; False when it is no longer wanted: the client has gone, or locum stops."""
        has_come = False

        async def come() -> None:
            nonlocal has_come
            await self._share.turn()
            has_come = True

        await first_of(come(), hung_up(receive), self._stopping.wait())
        return has_come and not self._stopping.is_set()

    async def _run(self, routes: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
        await metered(routes(scope, receive, send), self._share.spend)


class _BusyError(ServerError):
    code = "server.busy"

    def __init__(self) -> None:
        super().__init__("Too many requests to this agent wait for their turn; try again later.")
        self.retry_after = 1.0
