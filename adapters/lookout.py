"""Waiting for what is recorded: a sub-task's row to be so, a parent's next notification.

It reads the views and is told what was recorded; it changes nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, suppress

from locum.core.errors import ServerError, StoreError, SubTaskNotFoundError
from locum.core.events import Created, Event, Resolved
from locum.projections import Notification, SubTaskRow, row_of

from .signals import Signals
from .store.journal import Journal
from .store.writer import Recorded

__all__ = ["Lookout"]


class Lookout:
    """Who waits, and for what. `note` is called with everything that was recorded."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._signals = Signals()
        self._parents: dict[str, str] = {}
        """The parents of the open sub-tasks, by sub-task id: whose feed an event belongs to."""
        self._closing = asyncio.Event()

    def expect(self, sub_task_id: str, parent_id: str) -> None:
        """A sub-task that was open when locum started."""
        self._parents[sub_task_id] = parent_id

    def note(self, events: Sequence[tuple[int, Event]]) -> None:
        """These events were recorded, and the views show them."""
        for _, event in events:
            self._signals.send(event.sub_task_id)
            if isinstance(event, Created):
                self._parents[event.sub_task_id] = event.parent_id
            if (parent_id := self._parents.get(event.sub_task_id)) is not None:
                self._signals.send(_parent_key(parent_id))
            if isinstance(event, Resolved):
                self._parents.pop(event.sub_task_id, None)

    def stop(self) -> None:
        """Let go of everybody who waits."""
        self._closing.set()
        self._signals.send_all()

    def changes(self, sub_task_id: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever the sub-task changes, while the context lasts."""
        return self._signals.subscribed(sub_task_id)

    async def row(self, sub_task_id: str) -> SubTaskRow:
        """The row, with all that this process has recorded. Raises SubTaskNotFoundError."""
        await self._journal.views.wait(self._journal.position)
        row = await self._journal.views.row(sub_task_id)
        if row is None:
            raise SubTaskNotFoundError(sub_task_id)
        return row

    async def row_as(self, recorded: Recorded) -> SubTaskRow:
        """The row as it was recorded, which readers find by now; the agent may be further."""
        # What was recorded is done, and told as done, also while the views cannot be brought up to
        # it (I4); the journal logs why, and tries again.
        with suppress(StoreError):
            await self._journal.views.wait(recorded.position)
        return row_of(recorded.sub_task)

    async def row_when(self, sub_task_id: str, is_so: Callable[[SubTaskRow], bool]) -> SubTaskRow:
        """The row as soon as it is so. Raises ServerError `server.stopping` when locum stops."""
        with self.changes(sub_task_id) as changed:
            while not is_so(row := await self.row(sub_task_id)):
                await self._wait(changed)
            return row

    async def notifications(self, parent_id: str, after: int) -> AsyncGenerator[Notification, None]:
        """The parent's notifications past the cursor; ends when locum stops (E3)."""
        with self._signals.subscribed(_parent_key(parent_id)) as changed:
            while True:
                notes, after = await self._journal.views.notes(parent_id, after)
                for note in notes:
                    yield note
                if notes:
                    continue
                if self._closing.is_set():
                    return
                await changed.wait()
                changed.clear()

    def check_open(self) -> None:
        """Raises ServerError `server.stopping` once locum stops."""
        if self._closing.is_set():
            raise ServerError("locum is stopping; ask again when it is up.", code="server.stopping")

    async def _wait(self, changed: asyncio.Event) -> None:
        self.check_open()
        await changed.wait()
        changed.clear()


def _parent_key(parent_id: str) -> str:
    return f"parent:{parent_id}"
