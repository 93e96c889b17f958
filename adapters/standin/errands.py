"""Calls that are made beside sub-tasks that have ended (F2). What they say is nobody's business."""

import asyncio
import logging
from typing import Any

__all__ = ["Errands"]

logger = logging.getLogger("locum.standin")


class Errands:
    """What is still under way when nobody waits for it any more; it ends when locum stops."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False

    async def take(self, task: asyncio.Task[Any]) -> None:
        """Let it run beside all else; not at all once locum stops."""
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if self._is_over:
            task.cancel()
            await asyncio.wait({task})

    async def stop(self) -> None:
        """End all of them now, and take no more."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("a call beside what has ended has failed", exc_info=error)
