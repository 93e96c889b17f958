"""The tasks of `self` that outlive its process, as bytes by task id (A9, I1). Blocking.

Not a record: what becomes of a sub-task is in the events alone. What the bytes mean is not known
here, nor when they are to be kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .sqlite import Datastore

__all__ = ["KeptTask", "OwnTasks"]


class KeptTask(NamedTuple):
    """A task as it was kept. Of two, the one that was kept later has the higher place."""

    place: int
    task_id: str
    owner: str
    state: bytes


class OwnTasks:
    """A table beside the events'; a store has none before the first task is kept in it."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore

    def keep(self, tasks: Sequence[tuple[str, str, bytes]], forgotten: Sequence[str]) -> None:
        """Keep these (id, owner, bytes), each instead of what was kept of it, and forget others.

        In one transaction, which is on disk on return.
        """
        with self._datastore.transaction(commit=True) as c:
            c.execute(
                "CREATE TABLE IF NOT EXISTS own_tasks (place INTEGER PRIMARY KEY,"
                " task_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, state BLOB NOT NULL)"
            )
            c.executemany("DELETE FROM own_tasks WHERE task_id = ?", [(one,) for one in forgotten])
            # The row that is replaced goes, and the new one's place is past all others.
            c.executemany(
                "INSERT OR REPLACE INTO own_tasks (task_id, owner, state) VALUES (?, ?, ?)", tasks
            )

    def page(self, after: int, limit: int) -> list[KeptTask]:
        """The next tasks after a place, at most `limit`, the one kept longest ago first."""
        with self._datastore.transaction(commit=False) as c:
            c.execute("SELECT 1 FROM sqlite_master WHERE name = 'own_tasks'")
            if c.fetchone() is None:
                return []
            c.execute(
                "SELECT place, task_id, owner, state FROM own_tasks WHERE place > ?"
                " ORDER BY place LIMIT ?",
                (after, limit),
            )
            return [KeptTask(*row) for row in c.fetchall()]
