"""Who works a store: one harness at a time, or a send under way in one is a doubt in another (I2).

The lock is a transaction held open on a small SQLite file of its own beside the store, so that it is
gone with the process, however that ends. Readers need none. It knows nothing of what is in a store.
"""

import asyncio
import logging
import os
import platform
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from locum.core.errors import StoreError

from .sqlite import Location, store_errors
from .threads import Readers

__all__ = ["owned"]

logger = logging.getLogger("locum.store")

SUFFIX = "-owner"
_TURN = 0.1
"""Seconds that SQLite waits for others in one try, and between two tries."""


@asynccontextmanager
async def owned(url: str, *, wait: float) -> AsyncIterator[None]:
    """Own the store at `url` while the context lasts; one in memory is nobody else's anyway.

    Waits up to `wait` seconds for the owner before to stop. Raises StoreError `store.in_use` when
    it does not, `store.no_folder` or `store.failed` when there can be no lock, ConfigError for a
    bad URL.
    """
    location = Location.of(url)
    if location.path is None:
        yield
        return
    location.check(create=True)
    lock = _Lock(location.path)
    thread = Readers(1)
    try:
        await _take(lock, thread, wait)
        yield
    finally:
        await thread.close(lock.close)


async def _take(lock: "_Lock", thread: Readers, wait: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + wait
    is_told = False
    while not await thread.run(lock.take):
        who = await thread.run(lock.owner)
        named = "another harness" if who is None else f"process {who.pid} on {who.host}"
        if loop.time() >= until:
            raise StoreError(
                f"The store {lock.store} is in use by {named}, which did not stop within {wait:g} s."
                " One harness works a store at a time: stop that one, or change store.url.",
                code="store.in_use",
                detail={} if who is None else who._asdict(),
            )
        if not is_told:
            is_told = True
            told = "the store %s is in use by %s; waiting up to %g s for it to stop"
            logger.info(told, lock.store, named, wait)
        await asyncio.sleep(min(_TURN, max(until - loop.time(), 0.0)))


class _Who(NamedTuple):
    pid: int
    host: str


class _Lock:
    """The lock on one store. Blocking; used in one thread at a time."""

    def __init__(self, store: Path) -> None:
        self.store = store
        # A store that is reached through a link has one lock all the same.
        self._path = f"{store.resolve()}{SUFFIX}"
        self._token = secrets.token_hex(8)
        self._connection: sqlite3.Connection | None = None

    def take(self) -> bool:
        """True when it is held from now on, False when somebody else holds it.

        Others can only read what was committed: who the owner is goes into a transaction before the
        one that is held. Should another come in between, its name is there, and this is done again.
        """
        with store_errors(f"to be locked by {self._path}"):
            connection = self._connect()
            while _began(connection):
                row = connection.execute("SELECT token FROM owner").fetchone()
                if row == (self._token,):
                    return True
                connection.execute("DELETE FROM owner")
                named = (self._token, os.getpid(), platform.node())
                connection.execute("INSERT INTO owner VALUES (?, ?, ?)", named)
                connection.execute("COMMIT")
            return False

    def owner(self) -> _Who | None:
        """Who holds it, as far as that can be read just now."""
        try:
            row = self._connect().execute("SELECT pid, host FROM owner").fetchone()
        except sqlite3.OperationalError:
            return None  # whoever is about to hold it has not written it down yet
        return None if row is None else _Who(*row)

    def close(self) -> None:
        """Let go of it."""
        if self._connection is not None:
            self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self._path, timeout=_TURN, isolation_level=None, check_same_thread=False
            )
        return self._connection


def _began(connection: sqlite3.Connection) -> bool:
    """True when a transaction that keeps others from writing is open now."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE IF NOT EXISTS owner (token TEXT, pid INTEGER, host TEXT)")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
