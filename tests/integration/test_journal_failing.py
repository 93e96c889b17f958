"""The journal when its store fails: locked, full, spoiled; callers are told, the others go on."""

import asyncio
from pathlib import Path

import pytest
from eventsourcing.persistence import IntegrityError

from locum.adapters.store import Journal, Recorded
from locum.adapters.store.sqlite import Datastore, Location
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Writer
from locum.core.chain import verify_links
from locum.core.errors import HistoryError, NotParkedError, StoreError
from tests.stores import brief, cancel, completed, logged, reply, sqlite, working


async def test_a_locked_store_is_told_to_every_caller(url: str, path: Path) -> None:
    """I4: nothing is recorded, nothing half-done is visible, and it works again afterwards."""
    async with Journal.open(url, busy_timeout=0.05) as journal:
        await journal.handle(brief("s1"))
        with sqlite(path) as other:
            other.execute("BEGIN IMMEDIATE")
            outcomes = await asyncio.gather(
                journal.handle(working("s1")),
                journal.handle(brief("s2")),
                return_exceptions=True,
            )
            other.execute("ROLLBACK")
        for outcome in outcomes:
            assert isinstance(outcome, StoreError)
            assert outcome.code == "store.failed"
            assert "nothing of this command was recorded" in outcome.message
            assert "locked" in outcome.message
        assert (await journal.load("s1")).version == 1
        assert (await journal.handle(working("s1"))).position == 2
    assert len(logged(path)) == 2


async def test_a_full_disk_is_told_and_got_over(url: str, path: Path) -> None:
    """I4: when there is no room, none of the batch is recorded; with room again, all goes on."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    writer = Writer(store.ledger, batch=64)
    writer.handle([brief("s1")])

    def limit(pages: int) -> None:
        with store.ledger.recorder.datastore.get_connection(commit=True) as connection:
            connection._sqlite_conn.execute(f"PRAGMA max_page_count={pages}")

    limit(1)  # SQLite makes it the size that the file has
    outcomes = writer.handle(
        [working("s1"), completed("s1", "x" * 50_000), cancel("s1"), working("s1")]
    )
    for outcome in outcomes:
        assert isinstance(outcome, StoreError)
        assert "full" in outcome.message
    assert len(logged(path)) == 1
    limit(1_000_000)
    (again,) = writer.handle([working("s1")])
    assert isinstance(again, Recorded)
    assert (again.sub_task.version, again.position) == (2, 2)
    store.close()
    assert verify_links(state for *_, state in logged(path)) == []


async def test_an_outcome_that_hangs_on_no_commit_stands(url: str, path: Path) -> None:
    """I4: a failed commit spoils what was decided on it, and nothing else."""
    store = Store(url, busy_timeout=0.05)
    store.open(create=True)
    writer = Writer(store.ledger, batch=64)
    writer.handle([brief("s1"), working("s1"), brief("s2")])
    with sqlite(path) as other:
        other.execute("BEGIN IMMEDIATE")
        known, refused, failed = writer.handle([working("s1"), reply("s1"), working("s2")])
        other.execute("ROLLBACK")
    store.close()
    assert isinstance(known, Recorded)
    assert isinstance(refused, NotParkedError)
    assert isinstance(failed, StoreError)


async def test_a_history_that_cannot_be_read_is_the_commands_alone(url: str, path: Path) -> None:
    """H3, I4: a sub-task whose bytes were spoiled raises; the others go on."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
        await journal.handle(brief("s2"))
    with sqlite(path) as connection:
        connection.execute("UPDATE stored_events SET state='rubbish' WHERE originator_id='s1'")
    async with Journal.open(url) as journal:
        spoiled, fine = await asyncio.gather(
            journal.handle(working("s1")), journal.handle(working("s2")), return_exceptions=True
        )
        assert isinstance(spoiled, HistoryError)
        assert isinstance(fine, Recorded)
        with pytest.raises(HistoryError):
            await journal.load("s1")


async def test_a_store_that_fails_to_read_says_so(url: str, path: Path) -> None:
    """I4: reading fails as a StoreError, for commands and for readers."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
    async with Journal.open(url) as journal:
        with sqlite(path) as connection:
            connection.execute("ALTER TABLE stored_events RENAME TO gone")
            connection.execute("ALTER TABLE sub_task_rows RENAME TO gone_rows")
        for reading in (
            journal.handle(working("s1")),
            journal.load("s1"),
            journal.page(),
            journal.views.row("s1"),
            journal.rebuild(),
        ):
            with pytest.raises(StoreError, match="no such table"):
                await reading


def test_a_failed_commit_leaves_no_transaction_open(path: Path) -> None:
    """I4: after a COMMIT that failed the connection is as good as new."""
    datastore = Datastore(Location(str(path), path), synchronous="FULL", busy_timeout=5)
    with datastore.transaction(commit=True) as c:
        c.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
        c.execute("CREATE TABLE b (id REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
    with datastore.get_connection(commit=True) as connection:
        connection._sqlite_conn.execute("PRAGMA foreign_keys=ON")
    with pytest.raises(IntegrityError), datastore.transaction(commit=True) as c:
        c.execute("INSERT INTO b VALUES (1)")  # which COMMIT finds out
    with datastore.transaction(commit=True) as c:
        c.execute("INSERT INTO a VALUES (2)")
    datastore.close()
    with sqlite(path) as connection:
        assert connection.execute("SELECT * FROM b").fetchall() == []
        assert connection.execute("SELECT * FROM a").fetchall() == [(2,)]
