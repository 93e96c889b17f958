"""The deadlines of all open sub-tasks, and one timer for them (C11). What is done then is others'.

The timer looks at the clock now and then: the clock may be set, and a computer may sleep, while the
event loop's own time goes on, or does not.
"""

import asyncio
import heapq
from collections.abc import Callable
from contextvars import copy_context

from locum.core.times import seconds_between

__all__ = ["Deadlines"]

STEP = 5.0
"""Seconds after which the clock is looked at again, at the latest."""
_SLACK = 64


class Deadlines:
    """`now` gives the time as text; `due` is called with a sub-task's id, once, in the event loop."""

    def __init__(
        self, *, now: Callable[[], str], due: Callable[[str], None], step: float = STEP
    ) -> None:
        self._now = now
        self._due = due
        self._step = step
        self._by_id: dict[str, str] = {}
        self._heap: list[tuple[str, str]] = []
        """The deadlines with their sub-tasks, and some of those that are forgotten by now."""
        self._timer: asyncio.TimerHandle | None = None
        self._context = copy_context()
        self._is_over = False

    def __len__(self) -> int:
        """How many are kept, with some that are forgotten by now."""
        return len(self._heap)

    def set(self, sub_task_id: str, deadline: str | None) -> None:
        """This sub-task has this deadline, or none."""
        if deadline is None or self._is_over or self._by_id.get(sub_task_id) == deadline:
            return
        self._by_id[sub_task_id] = deadline
        heapq.heappush(self._heap, (deadline, sub_task_id))
        if self._timer is None or self._heap[0] == (deadline, sub_task_id):
            self._wait()

    def forget(self, sub_task_id: str) -> None:
        """It has ended."""
        self._by_id.pop(sub_task_id, None)
        if len(self._heap) > 2 * len(self._by_id) + _SLACK:
            self._heap = [(deadline, id_) for id_, deadline in self._by_id.items()]
            heapq.heapify(self._heap)

    def stop(self) -> None:
        """Call nobody any more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._heap:
            return
        left = max(seconds_between(self._now(), self._heap[0][0]), 0.0)
        # Not in the context of who sets a deadline: it would keep that call's notes and trace alive.
        self._timer = asyncio.get_running_loop().call_later(
            min(left + 0.001, self._step), self._look, context=self._context
        )

    def _look(self) -> None:
        now = self._now()
        while self._heap and self._heap[0][0] <= now:
            deadline, sub_task_id = heapq.heappop(self._heap)
            if self._by_id.get(sub_task_id) == deadline:
                del self._by_id[sub_task_id]
                self._due(sub_task_id)
        self._wait()
