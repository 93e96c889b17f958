"""Who has cost the event loop much waits, in proportion and in order; who has not, does not (J4)."""

import asyncio
import time
from collections.abc import Awaitable

import pytest

from locum.adapters.loop_share import LoopShare, counted, metered


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def _turns(share: LoopShare) -> None:
    for _ in range(100):
        await share.turn()


async def test_small_steps_cost_no_wait() -> None:
    """J4: below some milliseconds nothing is delayed, however often."""
    share = LoopShare(Clock())
    for _ in range(1000):
        share.spend(0.004)
    await asyncio.wait_for(_turns(share), 5)


async def test_a_long_step_is_made_up_for() -> None:
    """J4: after a step of a second the party waits, until four seconds have gone by."""
    clock = Clock()
    share = LoopShare(clock)
    share.spend(1.0)
    waiting = asyncio.create_task(share.turn())
    await asyncio.sleep(0)
    assert (waiting.done(), share.waiting) == (False, 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert share.waiting == 0
    clock.now = 4.0
    await asyncio.wait_for(share.turn(), 5)


async def test_turns_come_in_order() -> None:
    """J4: all that belong to the party share one debt, and get their turns as they asked."""
    share = LoopShare()
    order: list[int] = []

    async def one(number: int) -> None:
        await share.turn()
        order.append(number)

    share.spend(0.01)
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(one(number))
    assert order == [0, 1, 2, 3, 4]


async def test_who_has_its_turn_adds_to_what_the_next_waits_for() -> None:
    """J4: two that wait do not both go on when the time has come: the first one costs again."""
    share = LoopShare()
    share.spend(0.01)
    passed: list[int] = []

    async def one(number: int) -> None:
        await share.turn()
        passed.append(number)
        share.spend(1000.0)

    tasks = [asyncio.create_task(one(number)) for number in range(3)]
    done, _ = await asyncio.wait(tasks, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(0)
    assert (len(done), passed, share.waiting) == (1, [0], 2)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_steps_are_metered_and_waits_are_not() -> None:
    """J4: what counts is the loop's time, step by step; a result comes through, and an error."""
    clock = Clock()
    share = LoopShare(clock)

    async def idle() -> str:
        for _ in range(10):
            _burn(0.001)
            await asyncio.sleep(0)
        return "through"

    assert await metered(idle(), share.spend) == "through"
    await asyncio.wait_for(share.turn(), 5)

    async def busy() -> None:
        _burn(0.02)
        await asyncio.sleep(0)
        raise ValueError("busy")

    with pytest.raises(ValueError, match="busy"):
        await metered(busy(), share.spend)
    clock.now = 0.07
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(share.turn(), 0)


async def test_what_fails_is_counted_too() -> None:
    """J4: what one step has cost counts however it ended."""
    share = LoopShare(Clock())

    def fail() -> None:
        with counted(share.spend):
            _burn(0.02)
            raise ValueError("busy")

    with pytest.raises(ValueError, match="busy"):
        fail()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(share.turn(), 0)


async def test_a_cancellation_comes_to_the_work() -> None:
    """D11: what is metered is cancelled like anything else, and may clean up."""
    share = LoopShare()
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    async def outer(awaited: Awaitable[None]) -> None:
        await metered(awaited, share.spend)

    task = asyncio.create_task(outer(work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cleaned up"]
