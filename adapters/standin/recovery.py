"""Taking up what was open when locum stopped: all of it, but a few of each agent's at a time (I1).

Begun all at once, a hundred thousand sub-tasks would read the store and call their agents in one
go, and everything else would wait behind them. It starts loops; what they do is not its business.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

from .desk import Desk

__all__ = ["Recovery"]

PATIENCE = 2.0
"""Seconds after which the next one has its turn, whatever the one before waits for (J4)."""


class _Line:
    """The sub-tasks of one agent whose turn has not come, and how many are being taken up."""

    __slots__ = ("busy", "most", "waiting")

    def __init__(self, most: int) -> None:
        self.most = most
        self.busy = 0
        self.waiting: deque[str] = deque()


class Recovery:
    """One line for each agent. `places` says how many of an agent's may be taken up at a time;
    `start` starts the loop of a sub-task and gives its desk, or None when nothing is to be done.
    """

    def __init__(
        self, *, places: Callable[[str], int], start: Callable[[str], Desk | None]
    ) -> None:
        self._places = places
        self._start = start
        self._lines: dict[str, _Line] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._context = copy_context()

    def add(self, sub_task_id: str, agent_id: str) -> None:
        """Take this one up when its turn comes."""
        line = self._lines.get(agent_id)
        if line is None:
            line = self._lines[agent_id] = _Line(self._places(agent_id))
        line.waiting.append(sub_task_id)

    def begin(self) -> None:
        """All are here: begin with the first of each line."""
        for line in self._lines.values():
            self._advance(line)

    def stop(self) -> None:
        """Take up nothing more: locum stops, and the next start will find it."""
        for line in self._lines.values():
            line.waiting.clear()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _advance(self, line: _Line) -> None:
        while line.waiting and line.busy < line.most:
            desk = self._start(line.waiting.popleft())
            if desk is not None:
                line.busy += 1
                timer = asyncio.get_running_loop().call_later(PATIENCE, desk.taken_up)
                self._timers.add(timer)
                desk.on_taken_up = partial(self._next, line, timer)

    def _next(self, line: _Line, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._timers.discard(timer)
        line.busy -= 1
        # The next one must not live in the context of the one before, nor keep it alive.
        asyncio.get_running_loop().call_soon(self._advance, line, context=self._context)
