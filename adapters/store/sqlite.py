"""SQLite under the store: the URL, how connections are set up, and errors in our words.

Events go through connections that are `synchronous=FULL`: when a commit returns they are on disk.
It knows no event and no row.
"""

import itertools
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, TypeAlias

from eventsourcing.domain import EventSourcingError
from eventsourcing.sqlite import (
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteTransaction,
)

from locum.core.errors import ConfigError, StoreError

__all__ = [
    "INTEGER_LIMIT",
    "MEMORY",
    "Datastore",
    "Location",
    "Synchronous",
    "is_text",
    "store_errors",
]

MEMORY = "sqlite:///:memory:"
_SCHEME = "sqlite:///"
_memories = itertools.count(1)
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]
_CHECKPOINTS: dict[Synchronous, int] = {"FULL": 4000, "NORMAL": 1000}
"""Pages in the write-ahead log at which a commit moves them into the file. Those that write the
projections come first, so that nobody who waits for an event waits for that too.
"""

INTEGER_LIMIT = 2**63 - 1
"""The largest number that SQLite can be handed."""

_TURN = 0.01
"""Seconds between two tries to change the journal mode."""


class Location(NamedTuple):
    """Where a store is: `name` as SQLite opens it, and the file, None for one in memory."""

    name: str
    path: Path | None

    @classmethod
    def of(cls, url: str) -> "Location":
        """The place that a store URL names. Raises ConfigError for another kind of URL.

        Each call for `sqlite:///:memory:` gives another store, which lives in this process only.
        """
        if url == MEMORY:
            number = next(_memories)
            return cls(f"file:locum-{os.getpid()}-{number}?mode=memory&cache=shared", None)
        given = url.removeprefix(_SCHEME)
        if given == url or not given:
            raise ConfigError(
                "store.url", found=repr(url), accepted=f"{_SCHEME}<path of a file> or {MEMORY}"
            )
        path = Path(given).absolute()
        return cls(str(path), path)

    def check(self, *, create: bool) -> None:
        """Raise StoreError when there cannot be a store: no folder, or no file and none wanted."""
        if self.path is None:
            return
        if not self.path.parent.is_dir():
            raise StoreError(
                f"The store {self.path} cannot be opened: there is no folder {self.path.parent}."
                " Create it, or change store.url.",
                code="store.no_folder",
            )
        if not create and not self.path.exists():
            raise StoreError(
                f"There is no store at {self.path}. Start the server once, or change store.url.",
                code="store.missing",
            )


class _Transaction(SQLiteTransaction):
    """A transaction that takes the write lock when it begins, and leaves none open when it fails.

    With a plain BEGIN, one that reads first could not wait for another process's write.
    """

    connection: "_Connection"

    def __enter__(self) -> SQLiteCursor:
        cursor = self.connection.cursor()
        cursor.execute("BEGIN IMMEDIATE" if self.commit else "BEGIN")
        return cursor

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(exc_type, exc_val, exc_tb)
        finally:
            self.connection.settle()


class _Connection(SQLiteConnection):
    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        with _Transaction(self, commit=commit) as cursor, cursor:
            yield cursor

    def settle(self) -> None:
        """Roll back what a failed commit left open."""
        if self._sqlite_conn.in_transaction:
            self._sqlite_conn.rollback()


class _Pool(SQLiteConnectionPool):
    def __init__(self, name: str, *, synchronous: Synchronous, busy_timeout: float) -> None:
        super().__init__(db_name=name, pool_timeout=30.0)
        self._synchronous: Synchronous = synchronous
        self._busy_timeout = busy_timeout

    def _create_connection(self) -> _Connection:
        made = sqlite3.connect(
            self.db_name,
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            timeout=self._busy_timeout,
        )
        try:
            if not self.is_sqlite_memory_mode:
                _write_ahead(made, self._busy_timeout)
            made.execute(f"PRAGMA synchronous={self._synchronous}")
            made.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINTS[self._synchronous]}")
        except BaseException:
            made.close()
            raise
        made.row_factory = sqlite3.Row
        return _Connection(made, max_age=self.max_age)


def _write_ahead(made: sqlite3.Connection, busy_timeout: float) -> None:
    """Have the file write ahead, once for good.

    SQLite does not wait for its turn to change that, whatever its timeout is, and several processes
    may have found the same new file.
    """
    until = time.monotonic() + busy_timeout
    while True:
        try:
            (mode,) = made.execute("PRAGMA journal_mode").fetchone()
            if mode != "wal":
                made.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= until:
                raise
            time.sleep(_TURN)
        else:
            return


class Datastore(SQLiteDatastore):
    """The connections to one store, all set up alike. `busy_timeout` is in seconds."""

    def __init__(
        self, location: Location, *, synchronous: Synchronous, busy_timeout: float
    ) -> None:
        super().__init__(location.name, originator_id_type="text")
        self.pool.close()
        self.pool = _Pool(location.name, synchronous=synchronous, busy_timeout=busy_timeout)

    def pragma(self, name: str) -> int:
        """The number that a pragma has."""
        with self.transaction(commit=False) as c:
            c.execute(f"PRAGMA {name}")
            value: int = c.fetchone()[0]
            return value


def is_text(value: object) -> bool:
    """True for a text that SQLite can be handed: not for one with half of a surrogate pair."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def store_errors(doing: str) -> Iterator[None]:
    """Turn whatever SQLite and eventsourcing raise into a StoreError that says what was done."""
    try:
        yield
    except (sqlite3.Error, EventSourcingError, OSError) as error:
        hint = _HINT if _is_unwritable(error) else ""
        raise StoreError(
            f"The store failed {doing}: {error}.{hint}", code="store.failed"
        ) from error


_UNWRITABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_HINT = (
    " The file and its folder have to be writable, for SQLite writes beside a store even to read"
    " it; to look into one that is not, copy it."
)


def _is_unwritable(error: BaseException | None) -> bool:
    """True when SQLite could not write where it has to; eventsourcing wraps its errors."""
    while error is not None:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNWRITABLE:
            return True
        error = error.__cause__
    return False
