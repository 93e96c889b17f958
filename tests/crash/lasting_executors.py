"""Executors of `self` that do not end when they are told to, each in its way. Asserts nothing.

Each says on standard output that it is at work, once it cannot be ended any more.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue

__all__ = ["AT_WORK", "LONG"]

AT_WORK = "the executor is at work"
LONG = 60.0
"""Seconds: longer than any end may take."""


def _begin() -> None:
    print(AT_WORK, flush=True)


async def _swallow() -> None:
    until = time.monotonic() + LONG
    _begin()
    while time.monotonic() < until:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(LONG)


async def _in_a_thread_of_the_loop() -> None:
    _begin()
    await asyncio.to_thread(time.sleep, LONG)


async def _in_a_thread_of_its_own() -> None:
    threading.Thread(target=time.sleep, args=(LONG,), name="slow-model").start()
    _begin()
    await asyncio.sleep(LONG)


async def _in_a_task_of_its_own() -> None:
    await asyncio.create_task(_swallow(), name="stubborn-task")


async def _cleaning_up() -> None:
    _begin()
    try:
        await asyncio.sleep(LONG)
    finally:
        await asyncio.sleep(LONG)


async def _in_the_loop() -> None:
    _begin()
    time.sleep(LONG)


class _Working(AgentExecutor):
    """Makes a task of what it is sent, and does one thing for long."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        await self._work()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await _swallow()


async def _until_cancelled() -> None:
    await asyncio.sleep(LONG)


thread = _Working(_in_a_thread_of_the_loop)
own_thread = _Working(_in_a_thread_of_its_own)
stubborn = _Working(_swallow)
own_task = _Working(_in_a_task_of_its_own)
cleanup = _Working(_cleaning_up)
blocking = _Working(_in_the_loop)
cancelling = _Working(_until_cancelled)
