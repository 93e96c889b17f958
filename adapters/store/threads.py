"""Threads for blocking work, and waiting for them without losing what they hold."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from locum.core.errors import StoreError

__all__ = ["Readers", "unhurried"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def unhurried(future: "asyncio.Future[_T]") -> _T:
    """The outcome of `future`, awaited to its end; a cancellation is raised after that."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return future.result()


class Readers:
    """A few threads in which the store is read, off the event loop."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="locum-reader")
        self._running: set[asyncio.Future[Any]] = set()
        self._is_closed = False

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What `work` returns or raises. Raises StoreError `store.closed` after closing.

        Work that has begun is done to its end, also when nobody waits for it any more.
        """
        if self._is_closed:
            raise StoreError("The store is closed.", code="store.closed")
        future = asyncio.get_running_loop().run_in_executor(
            self._pool, partial(work, *args, **kwargs)
        )
        self._running.add(future)
        future.add_done_callback(self._ended)
        return await asyncio.shield(future)

    def _ended(self, future: "asyncio.Future[Any]") -> None:
        self._running.discard(future)
        future.exception()  # asyncio complains of one that nobody has looked at

    async def close(self, last: Callable[[], None]) -> None:
        """Take no more work, wait for what runs, do `last` and end the threads."""
        self._is_closed = True
        while self._running:
            # A copy: what runs may end before the wait has begun.
            await unhurried(asyncio.ensure_future(asyncio.wait(tuple(self._running))))
        loop = asyncio.get_running_loop()
        try:
            await unhurried(loop.run_in_executor(self._pool, last))
        finally:
            self._pool.shutdown()
