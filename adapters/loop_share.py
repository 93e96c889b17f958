"""A share of the event loop for one party, be it an agent or whoever calls `self` (J4).

What a party's input has cost is measured, in seconds of this thread's own time, and its next input
waits in proportion; so the others get their turns, however much one of them sends.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

__all__ = ["LoopShare", "counted", "metered"]

T = TypeVar("T")

_FREE: Final = 0.005
"""Seconds of one step of the loop that count for nothing: whoever waits for it does not notice."""
_PART: Final = 0.2
"""The part of the loop's time that a party may have in steps that are longer."""


class LoopShare:
    """One party's share. `turn` waits, `spend` counts; `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._even_at = 0.0
        self._line = asyncio.Lock()
        self.waiting = 0
        """How many wait for their turn now."""

    async def turn(self) -> None:
        """Return when the party may cost something again; in the order in which it was asked.

        Cancelling it ends the wait at once.
        """
        if not self._line.locked() and self._debt() <= 0:
            return
        self.waiting += 1
        try:
            async with self._line:
                # What is under way with the party may add to it while this one waits.
                while (seconds := self._debt()) > 0:  # noqa: ASYNC110 (it is time that is waited for)
                    await asyncio.sleep(seconds)
        finally:
            self.waiting -= 1

    def spend(self, seconds: float) -> None:
        """Count a step of the loop that has taken so long."""
        if seconds > _FREE:
            self._even_at = max(self._even_at, self._clock()) + seconds * (1 / _PART - 1)

    def _debt(self) -> float:
        return self._even_at - self._clock()


async def metered(work: Awaitable[T], spend: Callable[[float], None]) -> T:
    """What `work` comes to; `spend` is told of each step that it takes of the loop as it ends."""
    return await _Metered(work, spend)


@contextmanager
def counted(spend: Callable[[float], None]) -> Iterator[None]:
    """Tell `spend` what has been done here, in one step."""
    began = time.thread_time()
    try:
        yield
    finally:
        spend(time.thread_time() - began)


class _Metered(Generic[T]):
    """Awaits something step by step, and tells how long each step has kept the thread busy."""

    def __init__(self, work: Awaitable[T], spend: Callable[[float], None]) -> None:
        self._work = work
        self._spend = spend

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        send: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            began = time.thread_time()
            try:
                waits_for = send(given)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # what a generator returns is untyped
            finally:
                self._spend(time.thread_time() - began)
            try:
                send, given = steps.send, (yield waits_for)
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as thrown:  # noqa: BLE001 (a cancellation, too, is for the work)
                send, given = steps.throw, thrown
