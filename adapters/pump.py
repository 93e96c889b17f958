"""Reading an async generator with time limits, in one task of its own, closed on every exit (D11).

A generator must be driven from one task (its context variables and its connection live there), yet
its reader wants to give up waiting without killing it. So one task reads and a short queue hands
over.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Generic, TypeVar

__all__ = ["Pump", "StreamEndedError", "pumped"]

logger = logging.getLogger("locum.streams")

T = TypeVar("T")
DEPTH = 4
"""How many items may wait: enough to keep reading, few enough to stay small (J3)."""


class StreamEndedError(Exception):
    """The generator is through."""


class Pump(Generic[T]):
    """The reading end of a pumped generator."""

    def __init__(self, queue: "asyncio.Queue[T | Exception]") -> None:
        self._queue = queue
        self._ahead: deque[T | Exception] = deque()

    async def next(self, timeout: float | None = None) -> T:
        """The next item.

        Raises TimeoutError after `timeout` seconds without one (nothing is lost: ask again),
        StreamEndedError at the end, and whatever the generator raised.
        """
        if self._ahead:
            item = self._ahead.popleft()
        else:
            async with asyncio.timeout(timeout):
                item = await self._queue.get()
        if isinstance(item, Exception):
            raise item
        return item

    async def meanwhile(self, work: asyncio.Task[Any], is_wanted: Callable[[T], bool]) -> bool:
        """Read on until `work` is done (False), or until an item came that is wanted (True).

        No more than DEPTH items are read ahead, and all of them stay to be read.
        """
        while not work.done() and len(self._ahead) < DEPTH:
            coming = asyncio.create_task(self._queue.get())
            try:
                await asyncio.wait({work, coming}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                # What it had not got by then is still in the queue.
                coming.cancel()
                await asyncio.wait({coming})
                if not coming.cancelled():
                    self._ahead.append(coming.result())
            if not coming.cancelled() and _is(coming.result(), is_wanted):
                return True
        await asyncio.wait({work})
        return False


def _is(item: T | Exception, is_wanted: Callable[[T], bool]) -> bool:
    return not isinstance(item, Exception) and is_wanted(item)


@asynccontextmanager
async def pumped(source: AsyncGenerator[T, None]) -> AsyncIterator[Pump[T]]:
    """Read `source` in a task of its own; leaving the block closes it and awaits that.

    What closing it raises is logged: nobody is left to be told, or to make room in the queue.
    """
    queue: asyncio.Queue[T | Exception] = asyncio.Queue(maxsize=DEPTH)
    has_left = False

    async def read() -> None:
        end: Exception = StreamEndedError()
        try:
            async with aclosing(source):
                async for item in source:
                    if has_left:
                        break
                    await queue.put(item)
        except Exception as error:  # noqa: BLE001 - it is handed to the reader, who raises it
            if has_left:
                logger.info("a stream was closed and failed at that: %r", error)
            end = error
        if not has_left:
            await queue.put(end)

    task = asyncio.create_task(read())
    try:
        yield Pump(queue)
    finally:
        has_left = True
        task.cancel()
        await asyncio.wait({task})
