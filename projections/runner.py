"""Carrying the projections along the log: right after a commit, when catching up, from nothing.

It reads the log by pages and writes each page's outcome together with the position reached. Any
number of processes may do this on one store: who comes second finds it done.
"""

from collections.abc import Callable, Container, Sequence
from typing import TypeAlias

import msgspec

from locum.core.events import Created, Event

from .notifications import Notification, note_for
from .recent import Recent
from .rows import SubTaskRow, row_after
from .tables import Changes, ViewTables

__all__ = ["PAGE", "Log", "Projector", "rebuild"]

Log: TypeAlias = Callable[[int, int], Sequence[tuple[int, Event]]]
"""`log(after, limit)`: the next events of the log over the position `after`, with theirs."""

PAGE = 4000
"""Events that are projected at once while catching up: a row that several change is written once."""

ROWS_KEPT = 4096
BYTES_KEPT = 16 * 1024 * 1024

_encoder = msgspec.json.Encoder()


class Projector:
    """Keeps one set of tables in step with one log. For one thread."""

    def __init__(self, tables: ViewTables, log: Log, *, page: int = PAGE) -> None:
        self._tables = tables
        self._log = log
        self._page = page
        self._rows: Recent[SubTaskRow] = Recent(ROWS_KEPT, BYTES_KEPT)
        self.position = tables.position
        """The position in the log that the tables have surely reached."""

    def take(self, events: Sequence[tuple[int, Event]]) -> None:
        """Project events that were just recorded, and any that came between in the log."""
        if not events or events[-1][0] <= self.position:
            return
        if events[0][0] != self.position + 1 or not self._advance(events):
            self.catch_up()

    def catch_up(self) -> int:
        """Project all that the log has, and return the position reached."""
        self._look()
        while page := self._log(self.position, self._page):
            if not self._advance(page):
                self._look()
        return self.position

    def _look(self) -> None:
        position = self._tables.position
        if position != self.position:
            # Another process has written the tables: what is remembered of them may be old.
            self._rows.clear()
            self.position = position

    def _advance(self, events: Sequence[tuple[int, Event]]) -> bool:
        """Write what follows from events; False when another process has come before."""
        changes = self._changes(events)
        position = events[-1][0]
        if changes is None or not self._tables.advance(self.position, position, changes):
            return False
        self.position = position
        for row, data in (*((row, data) for _, row, data in changes.begun), *changes.changed):
            if row.is_open:
                self._rows.put(row.id, row, len(data))
            else:
                self._rows.drop(row.id)
        return True

    def rest(self, position: int) -> tuple[int, Changes]:
        """What follows from all events after `position`, unwritten, and where they end."""
        events: list[tuple[int, Event]] = []
        while page := self._log(events[-1][0] if events else position, self._page):
            events += page
        changes = self._changes(events)
        assert changes is not None
        return events[-1][0], changes

    def _changes(self, events: Sequence[tuple[int, Event]]) -> Changes | None:
        """What follows from events: each row once, as it is after the last of them.

        None when the tables have gone on: rows read from them may know the events already.
        """
        begun = {event.sub_task_id: at for at, event in events if isinstance(event, Created)}
        rows = self._before(events, begun)
        if rows is None:
            return None
        notes: list[Notification] = []
        for position, event in events:
            key = event.sub_task_id
            rows[key] = row = row_after(rows.get(key), event)
            note = note_for(row, event, position)
            if note is not None:
                notes.append(note)
        return Changes(
            begun=[(begun[key], rows[key], _encoder.encode(rows[key])) for key in begun],
            changed=[(row, _encoder.encode(row)) for key, row in rows.items() if key not in begun],
            notes=notes,
        )

    def _before(
        self, events: Sequence[tuple[int, Event]], begun: Container[str]
    ) -> dict[str, SubTaskRow] | None:
        """The rows, before these events, of the sub-tasks that they are about."""
        rows: dict[str, SubTaskRow] = {}
        missing: list[str] = []
        for key in dict.fromkeys([event.sub_task_id for _, event in events]):
            held = self._rows.get(key)
            if held is not None:
                rows[key] = held
            elif key not in begun:
                missing.append(key)
        if missing:
            position, found = self._tables.rows_at(missing)
            if position != self.position:
                return None
            rows.update(found)
        return rows


def rebuild(live: ViewTables, log: Log, *, page: int = PAGE) -> int:
    """Make the tables again from the log and put them in place at once; returns the position.

    Readers see the old tables until the new ones are whole (E5).
    """
    fresh = ViewTables(live.datastore, prefix="fresh_", indices=False)
    fresh.clear()
    projector = Projector(fresh, log, page=page)
    projector.catch_up()
    return fresh.replace(live, projector.rest)
