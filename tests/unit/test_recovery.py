"""Recovery: a few of each agent's at a time, and no agent before which others wait."""

import asyncio
from collections.abc import Callable

from locum.adapters.standin import recovery
from locum.adapters.standin.recovery import Recovery


class Taken:
    """As much of a desk as recovery sees."""

    on_taken_up: Callable[[], None] | None = None

    def taken_up(self) -> None:
        """The next one's turn."""
        if self.on_taken_up is not None:
            on_taken_up, self.on_taken_up = self.on_taken_up, None
            on_taken_up()


class Lines:
    """A recovery of agents with two places each, and what it has started."""

    def __init__(self, *gone: str) -> None:
        self.started: dict[str, Taken] = {}
        self.recovery = Recovery(places=lambda _: 2, start=self._start)  # type: ignore[arg-type]  # a desk's part
        self._gone = gone

    def _start(self, key: str) -> Taken | None:
        if key in self._gone:
            return None
        return self.started.setdefault(key, Taken())


async def test_a_few_at_a_time() -> None:
    """I1: no more of an agent's than it has places; each that is taken up makes room for one."""
    lines = Lines()
    for number in range(5):
        lines.recovery.add(f"s{number}", "a")
    assert not lines.started
    lines.recovery.begin()
    assert list(lines.started) == ["s0", "s1"]
    lines.started["s1"].taken_up()
    lines.started["s1"].taken_up()
    await asyncio.sleep(0)
    assert list(lines.started) == ["s0", "s1", "s2"]
    for key in ("s0", "s2", "s3", "s4"):
        lines.started[key].taken_up()
        await asyncio.sleep(0)
    assert len(lines.started) == 5


async def test_what_needs_no_turn_takes_no_place() -> None:
    """I1: one that was woken before its turn is passed over."""
    lines = Lines("s0", "s2")
    for number in range(4):
        lines.recovery.add(f"s{number}", "a")
    lines.recovery.begin()
    assert list(lines.started) == ["s1", "s3"]


async def test_one_agent_does_not_hold_up_another() -> None:
    """J4: each agent has a line of its own."""
    lines = Lines()
    for number in range(3):
        lines.recovery.add(f"a{number}", "a")
        lines.recovery.add(f"b{number}", "b")
    lines.recovery.begin()
    assert sorted(lines.started) == ["a0", "a1", "b0", "b1"]
    lines.started["b0"].taken_up()
    await asyncio.sleep(0)
    assert sorted(lines.started) == ["a0", "a1", "b0", "b1", "b2"]


async def test_one_that_takes_long_does_not_hold_up_the_rest() -> None:
    """J4: after a while it is the next one's turn, whatever the one before waits for."""
    lines = Lines()
    recovery.PATIENCE, before = 0.01, recovery.PATIENCE
    try:
        for number in range(5):
            lines.recovery.add(f"s{number}", "a")
        lines.recovery.begin()
        async with asyncio.timeout(5):
            while len(lines.started) < 5:
                await asyncio.sleep(0.01)
    finally:
        recovery.PATIENCE = before


async def test_nothing_is_taken_up_after_the_end() -> None:
    """I1, F4: when locum stops, the next of the line is left for the next start."""
    lines = Lines()
    for number in range(5):
        lines.recovery.add(f"s{number}", "a")
    lines.recovery.begin()
    lines.recovery.stop()
    for key in ("s0", "s1"):
        lines.started[key].taken_up()
    await asyncio.sleep(0)
    assert list(lines.started) == ["s0", "s1"]
    loop = asyncio.get_running_loop()
    assert not [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]  # the loop's own list
