"""A bell that one task waits for: asyncio's Event in a tenth of its memory, for there are many.

A desk at rest has two of them. It knows nothing of who rings or why.
"""

import asyncio

__all__ = ["Bell"]


class Bell:
    """Rung until it is cleared; `wait` returns while it is rung."""

    __slots__ = ("_is_rung", "_waiting")

    def __init__(self) -> None:
        self._is_rung = False
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """True while it is rung."""
        return self._is_rung

    def set(self) -> None:
        """Ring: whoever waits goes on."""
        self._is_rung = True
        waiting, self._waiting = self._waiting, ()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def clear(self) -> None:
        """Not rung any more."""
        self._is_rung = False

    async def wait(self) -> None:
        """Return once it has been rung."""
        if self._is_rung:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting = (*self._waiting, future)
        try:
            await future
        finally:
            self._waiting = tuple(other for other in self._waiting if other is not future)
