"""The projections as the rest of locum reads them: off the event loop, and up to a position."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TypeVar

from locum.core.errors import StoreError
from locum.projections.notifications import Notification
from locum.projections.rows import SubTaskRow
from locum.projections.tables import Slot, ViewTables

from ..values import found_in, refusal
from .sqlite import INTEGER_LIMIT, is_text, store_errors
from .threads import Readers

__all__ = ["Views"]

SLOTS_PAGE = 2000

_T = TypeVar("_T")


class Views:
    """Rows and notifications. Every method may raise StoreError.

    Of an id that no text can be there is nothing, as of any other that was never recorded.
    """

    def __init__(
        self, tables: ViewTables, readers: Readers, position: int, reach: Callable[[int], None]
    ) -> None:
        self._tables = tables
        self._readers = readers
        self._reach = reach
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.position = position
        """The position in the log that the views show."""

    async def row(self, sub_task_id: str) -> SubTaskRow | None:
        """The row of a sub-task with all of its artifacts; None when there is none."""
        if not is_text(sub_task_id):
            return None
        return await self._read(lambda: self._tables.row(sub_task_id))

    async def rows(
        self,
        parent_id: str | None = None,
        *,
        state: str | None = None,
        unresolved: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[SubTaskRow]:
        """The rows of a parent (None: of all), in the order their sub-tasks were created.

        Only those in `state` where it is given; with `unresolved`, only those that have not ended
        (True) or have (False). Of these the first `limit` past the sub-task with the id `after`,
        none where that is not there. Raises RequestError for what is no limit.
        """
        if limit is not None:
            _check_number("limit", limit, 1)
        if not all(one is None or is_text(one) for one in (parent_id, state, after)):
            return []
        return await self._read(
            lambda: self._tables.rows(
                parent_id, state=state, unresolved=unresolved, after=after, limit=limit
            )
        )

    async def unresolved(self, parent_id: str) -> list[str]:
        """The ids of a parent's unresolved sub-tasks, in the order they were created (C8)."""
        if not is_text(parent_id):
            return []
        return await self._read(lambda: self._tables.unresolved(parent_id))

    async def notes(
        self, parent_id: str, after: int = 0, limit: int = 100
    ) -> tuple[list[Notification], int]:
        """A parent's notifications after a cursor, at most `limit`, and the cursor to go on from.

        Whoever goes on from the cursor misses none and gets none twice (E3). Raises RequestError
        for what is no cursor and no limit.
        """
        _check_number("after", after, 0)
        _check_number("limit", limit, 1)
        if not is_text(parent_id):
            return [], after
        notes = await self._read(lambda: self._tables.notes(parent_id, after, limit))
        return notes, notes[-1].cursor if notes else after

    async def notes_of(self, row: SubTaskRow) -> list[Notification]:
        """What the model was told of one sub-task, in order (H4)."""
        return await self._read(lambda: self._tables.notes_of(row.parent_id, row.id))

    async def open_slots(self) -> AsyncGenerator[Slot, None]:
        """What has something left to do, in the order it was created (I1)."""
        after = 0
        while page := await self._read(partial(self._tables.open_slots, after, SLOTS_PAGE)):
            for _, slot in page:
                yield slot
            after = page[-1][0]

    async def wait(self, position: int) -> None:
        """Return once the views show what the log has up to `position`: read your own writes.

        Raises StoreError when projecting failed, or when the journal was closed before.
        """
        if position <= self.position:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((position, future))
        self._reach(position)
        await future

    def advance(self, position: int) -> None:
        """Take note that the views show the log up to `position`. For the journal."""
        self.position = max(position, self.position)
        waiting, self._waiting = self._waiting, []
        for wanted, future in waiting:
            if wanted > self.position:
                self._waiting.append((wanted, future))
            elif not future.done():
                future.set_result(None)

    def fail(self, words: str, code: str) -> None:
        """Tell everybody who waits that it will not come. For the journal."""
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(StoreError(words, code=code))

    async def _read(self, read: Callable[[], _T]) -> _T:
        return await self._readers.run(_reading, read)


def _check_number(field: str, value: object, least: int) -> None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not least <= value <= INTEGER_LIMIT:  # type: ignore[operator]  # is a number
        accepted = f"a whole number from {least} to {INTEGER_LIMIT}"
        raise refusal(field, found=found_in(value), accepted=accepted)


def _reading(read: Callable[[], _T]) -> _T:
    with store_errors("to read its projections"):
        return read()
