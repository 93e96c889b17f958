"""One timer for all deadlines, by a clock that may be set (C11)."""

import asyncio

import pytest

from locum.adapters.standin.deadlines import Deadlines
from locum.core.times import add_seconds
from tests.loops import Timers

NOON = "2026-01-31T12:00:00.000000Z"


class Watched:
    """Deadlines by a clock that stands still until it is set, and what has come."""

    def __init__(self, step: float) -> None:
        self.now = NOON
        self.due: asyncio.Queue[str] = asyncio.Queue()
        self.deadlines = Deadlines(now=lambda: self.now, due=self.due.put_nowait, step=step)

    def set(self, sub_task_id: str, seconds: float) -> None:
        """A deadline so many seconds after noon."""
        self.deadlines.set(sub_task_id, add_seconds(NOON, seconds))

    async def come(self) -> str:
        """The next one that has come."""
        async with asyncio.timeout(10):
            return await self.due.get()


async def test_a_clock_that_is_set() -> None:
    """C11: a clock that jumps past a deadline is seen at the next look; one set back holds it up."""
    watched = Watched(step=0.01)
    watched.set("later", 7200)
    watched.set("soon", 3600)
    watched.set("never", 9000)
    watched.now = add_seconds(NOON, 8000)
    assert [await watched.come(), await watched.come()] == ["soon", "later"]
    watched.set("passed", 100)
    assert await watched.come() == "passed"
    watched.now = add_seconds(NOON, -8000)
    watched.set("again", 100)
    watched.now = add_seconds(NOON, 100)
    assert await watched.come() == "again"
    watched.deadlines.stop()
    assert watched.due.empty()


async def test_many_deadlines_and_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """C11: ten thousand parked sub-tasks cost one look at the clock a step, and ended ones nothing."""
    timers = Timers(monkeypatch, 60)
    watched = Watched(step=60)
    for n in range(10_000):
        watched.set(f"s{n}", 3600 + n)
    assert timers.running() == 1
    for n in range(9_999):
        watched.deadlines.forget(f"s{n}")
    assert len(watched.deadlines) < 100
    watched.now = add_seconds(NOON, 20_000)
    watched.set("last", 10)
    assert [await watched.come(), await watched.come()] == ["last", "s9999"]
    assert len(watched.deadlines) == 0
    watched.deadlines.stop()


async def test_no_deadline_and_none_after_the_stop() -> None:
    """C11, F4: what has none is never due, and nothing is once locum stops."""
    watched = Watched(step=0.01)
    watched.deadlines.set("none", None)
    watched.deadlines.stop()
    watched.set("after", -1)
    assert len(watched.deadlines) == 0
