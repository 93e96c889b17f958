"""An opened store: its log of events and its projections, brought up to date. Blocking."""

from collections.abc import Mapping, Sequence

from locum.core.chain import decode
from locum.core.errors import SubTaskNotFoundError
from locum.core.events import Event
from locum.projections.runner import Projector, rebuild
from locum.projections.tables import ViewTables

from .ledger import Ledger, Stored
from .own_tasks import KeptTask, OwnTasks
from .sqlite import Datastore, Location, Synchronous, store_errors
from .unsent import Unsent

__all__ = ["Store"]


class Store:
    """The store at a URL, once `open` has returned. `busy_timeout` is in seconds: how long a write
    waits for another process's.
    """

    ledger: Ledger
    tables: ViewTables
    projector: Projector
    unsent: Unsent
    own_tasks: OwnTasks

    def __init__(self, url: str, *, busy_timeout: float) -> None:
        self._location = Location.of(url)
        self._busy_timeout = busy_timeout
        self._datastores: list[Datastore] = []

    def open(self, *, create: bool, project: bool = True) -> None:
        """Open the store and bring its projections up to the end of its log.

        With `project` False they are left as they are, missing perhaps, and there is no projector.
        Raises StoreError (`store.no_folder`, `store.missing`, `store.foreign`, `store.failed`),
        HistoryError `history.newer` for a store of a later release (I5).
        """
        self._location.check(create=create)
        with store_errors(f"to open {self._location.path or 'in memory'}"):
            events = self._connect("FULL")
            # Projections can be made again, and NORMAL still keeps the file whole. In memory all
            # connections have to share one pool, which keeps readers and writers apart.
            views = events if self._location.path is None else self._connect("NORMAL")
            self.ledger = Ledger(events)
            self.ledger.prepare()
            self.tables = ViewTables(views)
            self.unsent = Unsent(events)
            self.own_tasks = OwnTasks(events)
            if not project:
                return
            self.tables.prepare()
            self.projector = Projector(self.tables, self.ledger.events_after)
            self.projector.catch_up()

    def _connect(self, synchronous: Synchronous) -> Datastore:
        made = Datastore(self._location, synchronous=synchronous, busy_timeout=self._busy_timeout)
        self._datastores.append(made)
        return made

    def close(self) -> None:
        """Close all connections."""
        for datastore in self._datastores:
            datastore.close()

    def stored(self, sub_task_id: str) -> tuple[bytes, ...]:
        """The stored bytes of a sub-task's events. Raises SubTaskNotFoundError, StoreError."""
        with store_errors("to read a sub-task"):
            found = self.ledger.history(sub_task_id)
        if not found:
            raise SubTaskNotFoundError(sub_task_id)
        return found

    def events(self, sub_task_id: str) -> tuple[Event, ...]:
        """A sub-task's events. Raises SubTaskNotFoundError, HistoryError, StoreError."""
        return tuple(map(decode, self.stored(sub_task_id)))

    def page(self, after: int, limit: int) -> Sequence[Stored]:
        """The next stored events of the whole log after a position."""
        with store_errors("to read its log"):
            return self.ledger.page(after, limit)

    def keep_unsent(self, messages: Mapping[str, str]) -> None:
        """Keep the ids of messages that have surely not left, by sub-task."""
        with store_errors("to keep what was not sent yet"):
            self.unsent.keep(messages)

    def take_unsent(self) -> dict[str, str]:
        """What was kept so, which is over with this."""
        with store_errors("to find out what was not sent yet"):
            return self.unsent.take()

    def keep_tasks(self, tasks: Sequence[tuple[str, str, bytes]], forgotten: Sequence[str]) -> None:
        """Keep tasks of `self`, and some of them no longer."""
        with store_errors("to keep tasks of self"):
            self.own_tasks.keep(tasks, forgotten)

    def kept_tasks(self, after: int, limit: int) -> Sequence[KeptTask]:
        """The next tasks that were kept so, after a place."""
        with store_errors("to read the tasks of self"):
            return self.own_tasks.page(after, limit)

    def rebuild(self) -> int:
        """Make the projections again from the log; returns the position they have reached."""
        with store_errors("to make its projections again"):
            rebuild(self.tables, self.ledger.events_after)
            return self.projector.catch_up()
