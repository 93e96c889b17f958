"""The tables of the projections, beside the position in the log that they have reached.

A tracking recorder of eventsourcing: what follows from a batch of events and the batch's position
are written in one transaction, or not at all. It knows no event and decides nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from eventsourcing.persistence import OperationalError, Tracking
from eventsourcing.sqlite import SQLiteCursor, SQLiteDatastore, SQLiteTrackingRecorder

from .notifications import Notification
from .rows import SubTaskRow

__all__ = ["LAYOUT", "Changes", "Slot", "ViewTables"]

LAYOUT = 4
"""Counts up when a row or a note is made otherwise: older tables are then made again at opening."""

_NAMES = ("sub_task_rows", "notifications")
_TABLES = (
    """CREATE TABLE IF NOT EXISTS sub_task_rows (
    position INTEGER PRIMARY KEY, sub_task_id TEXT NOT NULL UNIQUE, parent_id TEXT NOT NULL,
    agent TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
    unresolved INTEGER NOT NULL, open INTEGER NOT NULL, watch TEXT, deadline TEXT,
    push INTEGER NOT NULL, data BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS notifications (
    cursor INTEGER PRIMARY KEY, parent_id TEXT NOT NULL, data BLOB NOT NULL)""",
)
_INDICES = (
    "CREATE INDEX IF NOT EXISTS sub_task_rows_parent ON sub_task_rows (parent_id)",
    """CREATE INDEX IF NOT EXISTS sub_task_rows_unresolved ON sub_task_rows (parent_id)
    WHERE unresolved = 1""",
    "CREATE INDEX IF NOT EXISTS sub_task_rows_open ON sub_task_rows (open) WHERE open = 1",
    "CREATE INDEX IF NOT EXISTS notifications_feed ON notifications (parent_id, cursor)",
)
_ADD_ROW = "INSERT INTO sub_task_rows VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
_SET_ROW = (
    "UPDATE sub_task_rows SET version=?, state=?, unresolved=?, open=?, watch=?, deadline=?,"
    " push=?, data=? WHERE sub_task_id=?"
)
_ADD_NOTE = "INSERT INTO notifications VALUES (?,?,?)"

_encoder = msgspec.json.Encoder()
_row_decoder = msgspec.json.Decoder(SubTaskRow)
_note_decoder = msgspec.json.Decoder(Notification)


class Slot(NamedTuple):
    """What recovery needs to know of a sub-task that has something left to do (I1).

    `push` is whether the agent may still hold a push config of ours; `deadline` is RFC 3339.
    """

    id: str
    parent_id: str
    agent: str
    state: str
    watch: str | None
    deadline: str | None
    push: bool


class Changes(NamedTuple):
    """What follows from a batch of events.

    Rows that begin, each with the position of its Created in the log; rows that change; notes.
    Each row comes with its stored bytes.
    """

    begun: list[tuple[int, SubTaskRow, bytes]]
    changed: list[tuple[SubTaskRow, bytes]]
    notes: list[Notification]


class ViewTables(SQLiteTrackingRecorder):
    """Rows and notifications in SQLite, and how far they have come."""

    def __init__(self, datastore: SQLiteDatastore, *, prefix: str = "", indices: bool = True):
        self._prefix = prefix
        self._has_indices = indices
        self.tracked_as = f"{prefix}views.{LAYOUT}"
        """The name that the position is kept under."""
        super().__init__(datastore)

    def named(self, statement: str) -> str:
        """The statement, about these tables."""
        return statement.replace("sub_task_rows", f"{self._prefix}sub_task_rows").replace(
            "notifications", f"{self._prefix}notifications"
        )

    @property
    def position(self) -> int:
        """The position in the log that the tables have reached; 0 for none."""
        return self.max_tracking_id(self.tracked_as) or 0

    def advance(self, expected: int, position: int, changes: Changes) -> bool:
        """Write what follows from the events after `expected` up to `position`.

        False, with nothing written, when the tables are not at `expected`: somebody else has
        written them.
        """
        with self.datastore.transaction(commit=True) as c:
            if (self._max_tracking_id(self.tracked_as, c) or 0) != expected:
                return False
            self._write(c, changes)
            self._insert_tracking(c, Tracking(self.tracked_as, position))
        return True

    def _write(self, c: SQLiteCursor, changes: Changes) -> None:
        c.executemany(
            self.named(_ADD_ROW),
            [
                (position, row.id, row.parent_id, row.agent, *_columns(row), data)
                for position, row, data in changes.begun
            ],
        )
        c.executemany(
            self.named(_SET_ROW),
            [(*_columns(row), data, row.id) for row, data in changes.changed],
        )
        c.executemany(
            self.named(_ADD_NOTE),
            [(note.cursor, note.parent_id, _encoder.encode(note)) for note in changes.notes],
        )

    def row(self, sub_task_id: str) -> SubTaskRow | None:
        """The row of a sub-task, None when there is none."""
        return self.rows_at([sub_task_id])[1].get(sub_task_id)

    def rows_at(self, sub_task_ids: Sequence[str]) -> tuple[int, dict[str, SubTaskRow]]:
        """The rows that there are for these ids, by id, and the position they were read at."""
        statement = self.named("SELECT data FROM sub_task_rows WHERE sub_task_id=?")
        found: dict[str, SubTaskRow] = {}
        with self.datastore.transaction(commit=False) as c:
            position = self._max_tracking_id(self.tracked_as, c) or 0
            for sub_task_id in sub_task_ids:
                c.execute(statement, (sub_task_id,))
                held = c.fetchone()
                if held is not None:
                    found[sub_task_id] = _row_decoder.decode(held[0])
        return position, found

    def rows(
        self,
        parent_id: str | None = None,
        *,
        state: str | None = None,
        unresolved: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[SubTaskRow]:
        """The rows of a parent (None: of all), in the order their sub-tasks were created.

        Only those in `state` where it is given, only the unresolved (or only the ended) ones where
        `unresolved` is; of these the first `limit` past the sub-task with the id `after`, none where
        that is not there.
        """
        wanted: dict[str, list[object]] = {}
        if parent_id is not None:
            wanted["parent_id=?"] = [parent_id]
        if state is not None:
            wanted["state=?"] = [state]
        if unresolved is not None:
            # What is unresolved is open: SQLite then has an index that knows no ended one.
            wanted["unresolved=1 AND open=1" if unresolved else "unresolved=0"] = []
        if after is not None:
            known = "(SELECT position FROM sub_task_rows WHERE sub_task_id=?)"
            wanted[f"position>{known}"] = [after]
        statement = "SELECT data FROM sub_task_rows WHERE {} ORDER BY position LIMIT ?".replace(
            "{}", " AND ".join(wanted) or "1"
        )
        given = [value for values in wanted.values() for value in values]
        # SQLite takes a negative limit for none.
        found = self._select(statement, [*given, -1 if limit is None else limit])
        return [_row_decoder.decode(data) for (data,) in found]

    def versions(self) -> dict[str, int]:
        """The version that each sub-task is known to have reached, by id.

        None without tables, or with those of another layout. Raises OperationalError when they
        are there and cannot be read: that is not to be taken for nothing known.
        """
        columns = self._select("SELECT name FROM pragma_table_info('sub_task_rows')", [])
        if not {"sub_task_id", "version"} <= {name for (name,) in columns}:
            return {}
        return dict(self._select("SELECT sub_task_id, version FROM sub_task_rows", []))

    def unresolved(self, parent_id: str) -> list[str]:
        """The ids of a parent's unresolved sub-tasks, in the order they were created."""
        found = self._select(
            "SELECT sub_task_id FROM sub_task_rows WHERE unresolved = 1 AND parent_id=?"
            " ORDER BY position",
            [parent_id],
        )
        return [sub_task_id for (sub_task_id,) in found]

    def notes(self, parent_id: str, after: int = 0, limit: int = 100) -> list[Notification]:
        """A parent's notifications with a cursor over `after`, the first `limit` of them (E3)."""
        found = self._select(
            "SELECT data FROM notifications WHERE parent_id=? AND cursor>? ORDER BY cursor LIMIT ?",
            [parent_id, after, limit],
        )
        return [_note_decoder.decode(data) for (data,) in found]

    def notes_of(self, parent_id: str, sub_task_id: str) -> list[Notification]:
        """What was told of one sub-task of a parent, in order."""
        found = self._select(
            "SELECT data FROM notifications WHERE parent_id=? ORDER BY cursor", [parent_id]
        )
        notes = (_note_decoder.decode(data) for (data,) in found)
        return [note for note in notes if note.sub_task_id == sub_task_id]

    def open_slots(self, after: int, limit: int) -> list[tuple[int, Slot]]:
        """A page of what has something left to do, each with the key that the next page is after.

        Costs as much as there is of it, however long the history (I1).
        """
        found = self._select(
            "SELECT position, sub_task_id, parent_id, agent, state, watch, deadline, push"
            " FROM sub_task_rows WHERE open = 1 AND position>? ORDER BY position LIMIT ?",
            [after, limit],
        )
        return [(key, Slot._make((*columns, bool(push)))) for key, *columns, push in found]

    def _select(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self.datastore.transaction(commit=False) as c:
            c.execute(self.named(statement), values)
            found: list[Any] = c.fetchall()
            return found

    def prepare(self) -> None:
        """Make the tables where they are missing or of another layout; else write nothing."""
        try:
            with self.datastore.transaction(commit=False) as c:
                is_ready = self._is_ready(c)
        except OperationalError:
            is_ready = False  # a new store has not even the library's own table
        if not is_ready:
            self.clear(keep=True)

    def _is_ready(self, c: SQLiteCursor) -> bool:
        is_tracked = self._max_tracking_id(self.tracked_as, c) is not None
        names = [self.named(name) for name in _NAMES]
        c.execute("SELECT 1 FROM sqlite_master WHERE name IN (?,?)", names)
        return is_tracked and len(c.fetchall()) == len(names)

    def clear(self, *, keep: bool = False) -> None:
        """Drop the tables and what they had reached, and make them anew.

        With `keep`, not when they are as they should be: another process has just made them.
        """
        with self.datastore.transaction(commit=True) as c:
            self._create_tracking(c)
            if keep and self._is_ready(c):
                return
            self.drop(c)
            self.make(c)
            self._insert_tracking(c, Tracking(self.tracked_as, 0))

    def _create_tracking(self, c: SQLiteCursor) -> None:
        """What the library's `create_table` does, but under one lock with what follows."""
        for statement in self.create_table_statements:
            c.execute(statement)
        if self._max_tracking_id(self.table_migration_identifier, c) is None:
            self._insert_tracking(c, Tracking(self.table_migration_identifier, 1))

    def make(self, c: SQLiteCursor) -> None:
        """Make the tables, empty."""
        for statement in (*_TABLES, *(_INDICES if self._has_indices else ())):
            c.execute(self.named(statement))

    def drop(self, c: SQLiteCursor) -> None:
        """Drop the tables and what they had reached."""
        for name in _NAMES:
            c.execute(f"DROP TABLE IF EXISTS {self.named(name)}")
        c.execute("DELETE FROM tracking WHERE application_name=?", (self.tracked_as,))

    def replace(self, live: "ViewTables", rest: Callable[[int], tuple[int, Changes]]) -> int:
        """Put these tables in the place of the `live` ones at once; returns the position reached.

        `rest(position)` gives what follows from the events after it, and where these end. It is
        asked while nobody else can write, so that nothing is missing from what is put in place.
        """
        with self.datastore.transaction(commit=True) as c:
            position = self._max_tracking_id(self.tracked_as, c) or 0
            if position < (self._max_tracking_id(live.tracked_as, c) or 0):
                position, changes = rest(position)
                self._write(c, changes)
            live.drop(c)
            for name in _NAMES:
                c.execute(f"ALTER TABLE {self.named(name)} RENAME TO {live.named(name)}")
            live.make(c)
            self._insert_tracking(c, Tracking(live.tracked_as, position))
            self.drop(c)
        return position


def _columns(row: SubTaskRow) -> tuple[Any, ...]:
    return (
        row.version,
        row.state.value,
        int(row.is_unresolved),
        int(row.is_open),
        row.watch,
        row.deadline,
        int(row.has_push),
    )
