"""One send or subscription under way: its results, one after another, and what leaving it means.

It gives a caller's deadline, cancellation and failure their due: the connection is closed, and a
task that only this caller knows of is cancelled on the agent (G5).
"""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from locum.core.errors import ClientTimeoutError, LocumError, RemoteCallError

from .account import Account
from .lines import Lines
from .result import A2AResult

__all__ = ["Updates"]

logger = logging.getLogger("locum.client")


class Updates:
    """Iterate over it with `async for`, best inside `async with`, which closes it on every exit.

    Raises ClientTimeoutError past the deadline, and what the operation itself raises. Whoever leaves
    early by `break` or `return` leaves the task to the agent: `subscribe` hears of it again. Whoever
    is cancelled, is late or fails before a settled result has come cannot come back to the task, so
    it is cancelled on the agent then, when it was started here.
    """

    def __init__(
        self,
        results: AsyncGenerator[A2AResult, None],
        account: Account,
        lines: Lines,
        *,
        timeout: float | None,
        cancel_grace: float,
        is_ours: bool,
    ) -> None:
        self._results = results
        self._account = account
        self._lines = lines
        self._timeout = timeout
        self._cancel_grace = cancel_grace
        self._is_ours = is_ours
        self._deadline: float | None = None
        self._is_closed = False
        self._is_settled = False
        # An error that is being handled all along is no reason of ours to be left.
        self._handled = sys.exception()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> A2AResult:
        loop = asyncio.get_running_loop()
        if self._deadline is None and self._timeout is not None:
            self._deadline = loop.time() + self._timeout
        try:
            async with asyncio.timeout_at(self._deadline):
                result = await anext(self._results)
        except TimeoutError as late:
            await self._close(failed=True)
            raise self._too_late() from late
        except asyncio.CancelledError:
            await self._close(failed=True)
            raise
        except (StopAsyncIteration, LocumError) as over:
            # The operation itself is over, and has closed everything.
            self._is_closed = True
            if isinstance(over, RemoteCallError):
                over.detail.update(self._named())
            raise
        self._is_settled = result.settled
        return result

    async def aclose(self) -> None:
        """Close the connection, if there is one. Closing again does nothing."""
        failing = sys.exception()
        await self._close(failed=failing is not None and failing is not self._handled)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close(failed=error is not None)

    async def _close(self, *, failed: bool) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await self._results.aclose()
        task_id = self._account.active_task_id
        if failed and self._is_ours and task_id and not self._is_settled:
            await self._cancel(task_id)

    async def _cancel(self, task_id: str) -> None:
        """CancelTask, best effort and bounded (G5)."""
        try:
            async with asyncio.timeout(self._cancel_grace), self._lines.opened() as line:
                await (await line.agent()).cancel(task_id)
        except (LocumError, TimeoutError) as error:
            code = error.code if isinstance(error, LocumError) else "no answer in time"
            logger.debug("task %r was given up and could not be cancelled: %s", task_id, code)

    def _too_late(self) -> ClientTimeoutError:
        return ClientTimeoutError(
            f"The agent was not through within {self._timeout:g} s. Allow more time with `timeout`.",
            detail={"timeout": self._timeout} | self._named(),
        )

    def _named(self) -> dict[str, str]:
        """The task, as far as the agent has named it, so that the caller can come back to it."""
        named = {"task_id": self._account.task_id, "context_id": self._account.context_id}
        return {name: value for name, value in named.items() if value}
