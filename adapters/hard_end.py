"""The end of a process by a given time, whatever still runs in it then (F4).

What an embedder brings along may swallow its cancellation, block a thread or block the event loop,
and Python waits for all of it. So a thread of its own, which no loop and no exit waits for, keeps
the time from the first signal on. For `locum serve` only: nobody ends a process that is not his.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue

__all__ = ["HardEnd"]

logger = logging.getLogger("locum")

_SPARE = 0.1
"""Part of the time that is kept for saying what would not end; a second at the most."""
_TOLD_WITHIN = 0.5
"""Part of that which saying it may take: whoever should read it may not."""
_NAMED = 10
"""How many tasks and threads are named."""
_ASYNCIO_WAITS = ("shutdown_default_executor", "_do_shutdown")
"""What asyncio waits with for the threads; they are named themselves."""


class HardEnd:
    """Ends the process `seconds` after the first signal at the latest.

    The status is 0 when locum has ended in good order by then, and 1 when it has not.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._spare = min(seconds * _SPARE, 1.0)
        self._seconds = seconds - self._spare
        # Of all that wakes a thread, this alone may be called in the midst of itself, as a signal
        # does. The time of a signal; None says that locum has ended.
        self._told: SimpleQueue[float | None] = SimpleQueue()
        self._is_due = threading.Event()
        self._has_ended = False
        # Both begin now, since in the course of an exit some versions of Python begin no thread.
        self._telling = threading.Thread(target=self._tell, name="locum-last-word", daemon=True)
        self._telling.start()
        threading.Thread(target=self._watch, name="locum-hard-end", daemon=True).start()

    def signal(self) -> None:
        """A signal to end came. At a second one, nothing but locum itself is waited for."""
        self._told.put(time.monotonic())

    def locum_has_ended(self) -> None:
        """Locum has ended in good order; what still runs is foreign."""
        self._told.put(None)

    def _watch(self) -> None:
        until: float | None = None
        is_urgent = False
        while True:
            try:
                left = None if until is None else max(until - time.monotonic(), 0.0)
                told = self._told.get(timeout=left)
            except Empty:
                break
            if told is None:
                self._has_ended = True
            elif until is None:
                until = told + self._seconds
            else:
                is_urgent = True
            if is_urgent and self._has_ended and until is not None:
                # An exit that nothing holds up needs no more.
                until = min(until, time.monotonic() + self._spare)
        self._is_due.set()
        self._telling.join(self._spare * _TOLD_WITHIN)
        os._exit(0 if self._has_ended else 1)

    def _tell(self) -> None:
        self._is_due.wait()
        names = list(islice(_running(self._loop), _NAMED + 1))
        named = ", ".join(names[:_NAMED]) + (", and more" if len(names) > _NAMED else "")
        is_well = self._has_ended
        order = "locum has ended in good order" if is_well else "locum has not ended itself"
        logger.warning(
            "the process ends now, %s; what would not end: %s", order, named or "unknown"
        )
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()


def _running(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    """The names of all that a process waits for at its end."""
    for thread in threading.enumerate():
        is_main = thread is threading.main_thread()
        if not (thread.daemon or is_main or thread.name.endswith(f"({_ASYNCIO_WAITS[1]})")):
            yield f"thread {thread.name[:100]}"
    tasks: set[asyncio.Task[object]] = set()
    with suppress(RuntimeError):  # The loop runs on meanwhile, and may begin tasks all the time.
        tasks = asyncio.all_tasks(loop)
    # First the one that runs at this moment: it may be what blocks the loop.
    running = asyncio.current_task(loop)
    for task in sorted(tasks, key=lambda task: task is not running):
        coroutine = getattr(task.get_coro(), "__qualname__", "?")
        if not coroutine.endswith(_ASYNCIO_WAITS[0]):
            yield f"task {task.get_name()[:100]} ({coroutine[:100]})"
