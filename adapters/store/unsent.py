"""The messages that had surely not left when locum stopped in good order (F4, C7). Blocking.

Not a record: what happened is in the events alone. It is what a process knew beside them, handed to
the next one, which takes it out before it sends anything: after a crash there is nothing here.
"""

from collections.abc import Mapping

from .sqlite import Datastore

__all__ = ["Unsent"]


class Unsent:
    """By sub-task, the id of the message that is still to be sent."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore

    def keep(self, messages: Mapping[str, str]) -> None:
        """Keep these for the next start; on disk on return."""
        with self._datastore.transaction(commit=True) as c:
            c.execute(
                "CREATE TABLE IF NOT EXISTS unsent_messages"
                " (sub_task_id TEXT PRIMARY KEY, message_id TEXT NOT NULL) WITHOUT ROWID"
            )
            rows = list(messages.items())
            c.executemany("INSERT OR REPLACE INTO unsent_messages VALUES (?, ?)", rows)

    def take(self) -> dict[str, str]:
        """What was kept; from now on it is kept no more, also when this process is killed."""
        with self._datastore.transaction(commit=False) as c:
            c.execute("SELECT 1 FROM sqlite_master WHERE name = 'unsent_messages'")
            if c.fetchone() is None:
                return {}
        with self._datastore.transaction(commit=True) as c:
            c.execute("SELECT sub_task_id, message_id FROM unsent_messages")
            messages = dict(map(tuple, c.fetchall()))
            c.execute("DELETE FROM unsent_messages")
        return messages
