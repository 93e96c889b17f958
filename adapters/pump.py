"""Reading an async generator with time limits, in one task of its own, closed on every exit (D11).

A generator must be driven from one task (its context variables and its connection live there), yet
its reader wants to give up waiting without killing it. So one task reads and a short queue hands
over.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Generic, TypeVar

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

    async def next(self, timeout: float | None = None) -> T:
        """The next item.

        Raises TimeoutError after `timeout` seconds without one (nothing is lost: ask again),
        StreamEndedError at the end, and whatever the generator raised.
        """
        async with asyncio.timeout(timeout):
            item = await self._queue.get()
        if isinstance(item, Exception):
            raise item
        return item


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
