"""Leaving a harness whose executor of `self` does not end when it is told to (A9, F4)."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable

import pytest
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue

from .front import front

CARD = {"name": "Hall", "description": "Knows the hall."}


class Lasting(AgentExecutor):
    """Works, in one of several ways, until it is let go; counts how often it was cancelled."""

    def __init__(self, way: str) -> None:
        ways: dict[str, Callable[[], Awaitable[object]]] = {
            "thread": lambda: asyncio.to_thread(self.released.wait),
            "stubborn": self._swallow,
            "cleanup": self._clean_up,
        }
        self._work = ways[way]
        self.begun = asyncio.Event()
        self.released = threading.Event()
        self.cancelled = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        self.begun.set()
        await self._work()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError

    async def _swallow(self) -> None:
        while not self.released.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                self.cancelled += 1

    async def _clean_up(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1


@pytest.mark.parametrize("way", ["thread", "stubborn", "cleanup"])
async def test_leaving_beside_work_that_does_not_end(way: str) -> None:
    """F4: the harness is left in time, and a task that would not end is let go of."""
    executor = Lasting(way)
    before = asyncio.all_tasks()
    try:
        async with asyncio.timeout(20):
            tables = {"card": CARD, "server": {"shutdown_timeout": "1s"}}
            async with front(tables, executor=executor) as face:
                await face.harness.spawn("p", agent="self", goal="count")
                await executor.begun.wait()
        assert not face.harness.is_open
        left = asyncio.all_tasks() - before
        # Told twice, as is what awaits it; a thread and a bounded cleanup are through by then.
        assert bool(left) == (way == "stubborn")
        assert (executor.cancelled > 0) == (way != "thread")
    finally:
        executor.released.set()
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=10)
    assert asyncio.all_tasks() == before
