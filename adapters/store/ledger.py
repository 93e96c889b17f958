"""The log of all events, on eventsourcing's application, recorder and mapper. Blocking; no threads.

What is stored of an event is exactly its own bytes (`core.chain.encode`), so that its hash can be
checked against them. Decides nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import InfrastructureFactory, Mapper, Notification, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor, SQLiteFactory
from eventsourcing.utils import Environment, EnvType

from locum.core.chain import decode, encode
from locum.core.errors import HistoryError, StoreError
from locum.core.events import SCHEMA, Event

from .sqlite import Datastore, is_text

__all__ = ["Ledger", "Stored"]

APPLICATION_ID = 0x6C6F636D
"""Marks an SQLite file as a store of locum: `locm` in ASCII (the pragma of that name)."""


READ_EVENTS = 500
READ_BYTES = 8 * 1024 * 1024
"""How much of the log is read in one go: so many events, and no more after so many bytes."""


class Stored(NamedTuple):
    """An event as it lies in the log: its position, the columns beside it, and its bytes."""

    position: int
    sub_task_id: str
    version: int
    topic: str
    state: bytes


class EventMapper(Mapper[str]):
    """Between our events and stored ones: the state is the event's own bytes, nothing around."""

    def to_stored_event(self, domain_event: DomainEventProtocol[str]) -> StoredEvent:
        """The event as it is stored."""
        event = cast("Event", domain_event)
        return StoredEvent(event.sub_task_id, event.version, event.TOPIC, encode(event))

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[str]:
        """The event that was stored. Raises HistoryError."""
        return cast("DomainEventProtocol[str]", decode(_bytes_of(stored_event.state)))


class EventRecorder(SQLiteApplicationRecorder):
    """eventsourcing's recorder, which marks a store that it makes as ours and inserts by the lot."""

    def _insert_events(
        self, c: SQLiteCursor, stored_events: Sequence[StoredEvent], **_: Any
    ) -> Sequence[int] | None:
        c.executemany(
            self.insert_events_statement,
            [(s.originator_id, s.originator_version, s.topic, s.state) for s in stored_events],
        )
        # The write lock is held since BEGIN, so that the row ids of one lot follow each other.
        last = self._max_notification_id(c)
        return range(last - len(stored_events) + 1, last + 1)

    def _create_table(self, c: SQLiteCursor) -> None:
        super()._create_table(c)
        c.execute(f"PRAGMA application_id={APPLICATION_ID}")
        c.execute(f"PRAGMA user_version={SCHEMA}")


class _Factory(SQLiteFactory):
    application_recorder_class = EventRecorder

    def __init__(self, env: Environment, datastore: Datastore) -> None:
        super().__init__(env)
        self.datastore.close()
        self.datastore = datastore


class Ledger(Application[str]):
    """The log of a store: events are appended, never changed."""

    name = "locum"

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore
        super().__init__()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Nothing from the process's environment: another setting there must not change a store."""
        return Environment(
            name, {"SQLITE_DBNAME": ":memory:", "ORIGINATOR_ID_TYPE": "text", "CREATE_TABLE": "no"}
        )

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """The factory over this store's connections."""
        return _Factory(env, self._datastore)

    def construct_mapper(self) -> Mapper[str]:
        """The mapper whose stored state is the event's own bytes."""
        return EventMapper(self.construct_transcoder())

    @property
    def _log(self) -> EventRecorder:
        return cast("EventRecorder", self.recorder)

    def prepare(self) -> None:
        """Make the table of a new store; refuse one that is not ours or too new (I5).

        Raises HistoryError `history.newer`, StoreError `store.foreign`. Writes nothing to a store
        that is as it should be.
        """
        store = self._datastore
        if store.pragma("schema_version") and store.pragma("application_id") != APPLICATION_ID:
            raise StoreError(
                "The file is an SQLite database, but not a store of locum; change store.url.",
                code="store.foreign",
            )
        schema = store.pragma("user_version")
        if schema > SCHEMA:
            raise HistoryError(
                f"This store was written by a newer release of locum (event schema {schema}, this"
                f" release reads up to {SCHEMA}). Open it with that release or a later one.",
                code="history.newer",
                detail={"schema": schema, "supported": SCHEMA},
            )
        if schema < SCHEMA:
            self._log.create_table()
        for latest in self.page(self.position - 1, 1):
            _refuse_newer(_bytes_of(latest.state))

    @property
    def position(self) -> int:
        """The position of the latest event; 0 when there is none."""
        return self._log.max_notification_id() or 0

    def to_stored(self, events: Iterable[Event]) -> list[StoredEvent]:
        """The events as they are stored."""
        return list(map(self.mapper.to_stored_event, cast("Iterable[Any]", events)))

    def append(self, events: Sequence[StoredEvent]) -> Sequence[int]:
        """Record events in one transaction, which is on disk on return; gives their positions.

        Raises eventsourcing's RecordConflictError, with nothing recorded, when a version is there
        already: somebody else has recorded it.
        """
        return self._log.insert_events(events) or ()

    def history(self, sub_task_id: str) -> tuple[bytes, ...]:
        """The stored bytes of a sub-task's events, in order; none when there are none."""
        if not is_text(sub_task_id):
            return ()
        return tuple(_bytes_of(stored.state) for stored in self._log.select_events(sub_task_id))

    def stored(self, sub_task_id: str) -> list[Stored]:
        """A sub-task's events as they lie there, in order; their positions are not known (0)."""
        if not is_text(sub_task_id):
            return []
        found = self._log.select_events(sub_task_id)
        return [
            Stored(0, sub_task_id, one.originator_version, one.topic, _bytes_of(one.state))
            for one in found
        ]

    def page(self, after: int, limit: int) -> list[Stored]:
        """The next events of the whole log after a position, at most `limit`."""
        found = self._log.select_notifications(after, limit, inclusive_of_start=False)
        return [
            Stored(n.id, str(n.originator_id), n.originator_version, n.topic, _bytes_of(n.state))
            for n in found
        ]

    def events_after(self, after: int, limit: int) -> list[tuple[int, Event]]:
        """The next events of the log, each with its position; none at its end.

        At most `limit`, fewer when they are large: so many bytes are not held at once (J3).
        """
        events: list[tuple[int, Event]] = []
        size = 0
        while len(events) < limit and size < READ_BYTES:
            wanted = min(READ_EVENTS, limit - len(events))
            found = self._log.select_notifications(after, wanted, inclusive_of_start=False)
            events += [(n.id, _event_of(n)) for n in found]
            if len(found) < wanted:
                break
            after = found[-1].id
            size += sum(len(n.state) for n in found)
        return events


def _event_of(found: Notification) -> Event:
    """The event in a place of the log. Raises HistoryError that names the place."""
    try:
        return decode(_bytes_of(found.state))
    except HistoryError as error:
        if error.code == "history.newer":
            raise
        raise HistoryError(
            f"Event {found.originator_version} of sub-task {found.originator_id!r}, at position"
            f" {found.id} of the log: {error.message} `locum verify` says what else is wrong.",
            code=error.code,
            detail={
                "sub_task_id": str(found.originator_id),
                "version": found.originator_version,
                "position": found.id,
            },
        ) from error


def _bytes_of(state: bytes | str) -> bytes:
    """The state as bytes: an SQL function that somebody edited it with has left it as a text."""
    return state.encode("utf-8", "surrogatepass") if isinstance(state, str) else state


def _refuse_newer(state: bytes) -> None:
    """Whatever the store's mark says: what a later release has written, it has written last."""
    try:
        decode(state)
    except HistoryError as error:
        if error.code == "history.newer":
            raise
