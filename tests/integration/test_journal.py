"""The journal on real SQLite files: what is recorded, by whom, and what callers are told."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from locum.adapters.store import Journal, Recorded
from locum.adapters.store.journal import _Asked
from locum.adapters.store.ledger import Ledger
from locum.adapters.store.sqlite import Datastore, Location
from locum.adapters.store.store import Store
from locum.adapters.store.threads import Readers
from locum.adapters.store.writer import Writer
from locum.core.chain import UPCASTS, encode, verify_links
from locum.core.commands import HearLimits
from locum.core.errors import (
    ConfigError,
    HistoryError,
    NotParkedError,
    StoreError,
    SubTaskNotFoundError,
    SubTaskResolvedError,
)
from locum.core.events import Created, Event, Linked, Resolved
from locum.core.subtask import replay
from locum.projections import row_of
from tests.lives import push
from tests.stores import (
    asks,
    brief,
    cancel,
    completed,
    contents,
    logged,
    reply,
    revoke,
    sqlite,
    working,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "locum.db"


@pytest.fixture
def url(path: Path) -> str:
    """The store's URL."""
    return f"sqlite:///{path}"


@pytest.fixture(params=["file", "memory"])
async def journal(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Journal]:
    """A journal, on a file and in memory."""
    async with Journal.open(url if request.param == "file" else "sqlite:///:memory:") as opened:
        yield opened


# --- what is recorded


async def test_what_is_recorded_is_the_events_own_bytes(url: str, path: Path) -> None:
    """H1, H3: the log holds each event's bytes and its topic; the chain over them holds."""
    async with Journal.open(url) as journal:
        created = await journal.handle(brief("s1"))
        linked = await journal.handle(working("s1"))
        ended = await journal.handle(completed("s1"))
        stored = await journal.stored("s1")
    events = (*created.events, *linked.events, *ended.events)
    assert [type(event) for event in events] == [Created, Linked, Resolved]
    assert logged(path) == [
        (position, "s1", position, event.TOPIC, encode(event))
        for position, event in enumerate(events, 1)
    ]
    assert stored == tuple(encode(event) for event in events)
    assert verify_links(stored) == []
    assert (created.position, linked.position, ended.position) == (1, 2, 3)


async def test_what_a_caller_gets(journal: Journal) -> None:
    """C2: the sub-task after the command, its events and where the last of them is."""
    await journal.handle(brief("s0"))
    recorded = await journal.handle(brief("s1"))
    assert recorded == Recorded(recorded.sub_task, recorded.events, 2)
    assert replay(recorded.events) == recorded.sub_task
    assert journal.position == 2
    assert await journal.load("s1") == recorded.sub_task
    assert await journal.events("s1") == recorded.events


async def test_a_command_that_decides_nothing_records_nothing(journal: Journal) -> None:
    """D14: what is known already is answered with the sub-task as it is."""
    await journal.handle(brief("s1"))
    known = await journal.handle(working("s1"))
    again = await journal.handle(working("s1"))
    assert again == Recorded(known.sub_task, (), 2)
    assert len(await journal.events("s1")) == 2


async def test_the_same_idempotency_key_gives_the_first(journal: Journal) -> None:
    """C10: an id that is there already is answered, not recorded again; a fresh one is made."""
    first = await journal.handle(brief("s1", idempotency_key="k"))
    again = await journal.handle(brief("s1", idempotency_key="k", goal="another"))
    assert again == Recorded(first.sub_task, (), 1)


async def test_a_refused_command_is_its_callers_alone(journal: Journal) -> None:
    """C12, I4: the error goes to who asked; nothing is recorded; the others are not touched."""
    await journal.handle(brief("s1"))
    outcomes = await asyncio.gather(
        journal.handle(brief("s2")),
        journal.handle(reply("s1")),
        journal.handle(working("nobody")),
        journal.handle(working("s1")),
        journal.handle(cancel("s2")),
        journal.handle(reply("s2")),
        return_exceptions=True,
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [
        Recorded,
        NotParkedError,
        SubTaskNotFoundError,
        Recorded,
        Recorded,
        SubTaskResolvedError,
    ]
    assert [event.version for event in await journal.events("s2")] == [1, 2]
    with pytest.raises(SubTaskNotFoundError):
        await journal.load("nobody")


async def test_commands_for_one_sub_task_are_decided_in_order(url: str, path: Path) -> None:
    """H1: many at once, each on top of the one before; versions without a gap, one chain."""
    restless = HearLimits(flips=1000)
    async with Journal.open(url, batch=7) as journal:
        await journal.handle(brief("s1"))
        outcomes = await asyncio.gather(
            *(
                journal.handle(asks("s1", f"Question {number}?", limits=restless))
                for number in range(40)
            )
        )
        told = [event.text for event in (await journal.events("s1"))[2:]]
    assert told == [f"Question {number}?" for number in range(40)]
    assert [outcome.sub_task.version for outcome in outcomes] == list(range(3, 43))
    assert [position for position, *_ in logged(path)] == list(range(1, 43))
    assert verify_links(state for *_, state in logged(path)) == []


async def test_events_are_told_once_the_views_show_them(url: str, path: Path) -> None:
    """E1: whoever is woken by events finds the rows that they lead to."""
    told: list[tuple[int, Event]] = []
    shown: list[bool] = []

    def on_events(events: Sequence[tuple[int, Event]]) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.extend(events)
        rows = {row[1]: row for row in contents(path)["sub_task_rows"]}
        shown.extend(event.sub_task_id in rows for _, event in events)

    async with Journal.open(url, on_events=on_events) as journal:
        await asyncio.gather(*(journal.handle(brief(f"s{number}")) for number in range(30)))
    assert [position for position, _ in told] == list(range(1, 31))
    assert all(shown)


@pytest.mark.parametrize("batch", [8, 256])
async def test_the_views_of_busy_callers(url: str, path: Path, batch: int) -> None:
    """E1: the views may be a moment behind busy callers, and get there without being asked."""
    seen = asyncio.Event()

    def on_events(events: Sequence[tuple[int, Event]]) -> None:
        if events[-1][0] == 40 * 3:
            seen.set()

    async def live(number: int) -> None:
        await journal.handle(brief(f"s{number}"))
        await journal.handle(working(f"s{number}"))
        await journal.handle(completed(f"s{number}"))

    async with Journal.open(url, on_events=on_events, batch=batch) as journal:
        await asyncio.gather(*(live(number) for number in range(40)))
        await seen.wait()
        assert {row.state for row in await journal.views.rows("p1")} == {"COMPLETED"}
    assert len(logged(path)) == 120


async def test_groups_are_committed_together(url: str) -> None:
    """I4: all that wait go into one transaction, up to the limit, each with the write lock."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    statements: list[str] = []
    with store.ledger.recorder.datastore.get_connection(commit=True) as connection:
        connection._sqlite_conn.set_trace_callback(statements.append)
    Writer(store.ledger, batch=64).handle([brief(f"s{number}") for number in range(150)])
    store.close()
    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 3


async def test_big_events_are_not_gathered_up(url: str, path: Path) -> None:
    """J3: a batch is bounded in bytes too."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    writer = Writer(store.ledger, batch=64, batch_bytes=1000)
    statements: list[str] = []
    with store.ledger.recorder.datastore.get_connection(commit=True) as connection:
        connection._sqlite_conn.set_trace_callback(statements.append)
    writer.handle([brief(f"s{number}", goal="x" * 1000) for number in range(5)])
    store.close()
    assert statements.count("COMMIT") == len(logged(path)) == 5


async def test_events_are_on_disk_before_the_caller_hears(url: str, path: Path) -> None:
    """I4: the connection that writes events is synchronous=FULL, in WAL mode."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    assert store.ledger._datastore.pragma("synchronous") == 2  # FULL
    assert store.tables.datastore.pragma("synchronous") == 1  # NORMAL
    with store.tables.datastore.transaction(commit=False) as c:
        c.execute("PRAGMA journal_mode")
        assert c.fetchone()[0] == "wal"
    store.close()


# --- two writers on one store


async def test_two_processes_hear_the_same_change(url: str, path: Path) -> None:
    """I4, case D5: both decide it, one records it; the other is told what is there."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        await one.handle(brief("s1"))
        await one.handle(working("s1"))
        assert (await other.handle(working("s1"))).events == ()
        first = await one.handle(completed("s1"))
        second = await other.handle(completed("s1"))
        assert (len(first.events), second.events) == (1, ())
        assert second.sub_task == first.sub_task
        await other.views.wait(second.position)
        assert await other.views.row("s1") == row_of(first.sub_task)
    assert len(logged(path)) == 3


async def test_a_conflict_is_decided_again(url: str, path: Path) -> None:
    """I4, case D5: a command that met another process's write is decided on top of it."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        await one.handle(brief("s1"))
        await other.handle(working("s1"))
        outcomes = await asyncio.gather(
            one.handle(asks("s1")),
            one.handle(reply("s1")),
            one.handle(brief("s2")),
            one.handle(working("s2")),
            one.handle(reply("s2")),
            return_exceptions=True,
        )
        assert isinstance(outcomes[4], NotParkedError)
        assert [event.version for event in await one.events("s1")] == [1, 2, 3, 4]
        assert verify_links(await one.stored("s1")) == []
        assert (await one.load("s1")).reply is not None
        with pytest.raises(NotParkedError):
            await other.handle(reply("s1"))
        await other.handle(cancel("s1"))
        with pytest.raises(SubTaskResolvedError):
            await one.handle(reply("s1"))


async def test_an_id_that_is_taken_is_found_out(url: str) -> None:
    """C10: a brief under an id that another process has recorded is not recorded again."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        first = await one.handle(brief("s1"))
        assert await other.handle(brief("s1")) == Recorded(first.sub_task, (), 1)


class _Raced(Ledger):
    """A log to which another process writes just before each of our own commits."""

    rival: Writer
    races = 2

    def append(self, events: Sequence[StoredEvent]) -> Sequence[int]:
        if self.races:
            self.races -= 1
            self.rival.handle([asks("s1", f"Question {self.races}?")])
        return super().append(events)


async def test_a_first_conflict_is_not_noticed(url: str, path: Path) -> None:
    """I4, case D5: decided again on the other's event, recorded after it."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.races = 1
    raced.rival = Writer(theirs.ledger, batch=64)
    raced.rival.handle([brief("s1"), working("s1")])
    outcomes = Writer(raced, batch=64).handle([asks("s1", "Mine?"), brief("s2")])
    positions = [outcome.position for outcome in outcomes if isinstance(outcome, Recorded)]
    assert positions == [4, 5]
    mine.close()
    theirs.close()
    assert [(key, version) for _, key, version, _, _ in logged(path)] == [
        ("s1", 1),
        ("s1", 2),
        ("s1", 3),
        ("s1", 4),
        ("s2", 1),
    ]
    assert verify_links(state for _, key, _, _, state in logged(path) if key == "s1") == []


async def test_what_others_write_in_between_is_noticed(url: str, path: Path) -> None:
    """I4, case D5: another process's write beside a commit of ours is seen by the next command."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.races = 0
    raced.rival = Writer(theirs.ledger, batch=64)
    writer = Writer(raced, batch=64)
    (_, _, answered) = writer.handle([brief("s1"), working("s1"), reply("s1")])
    assert isinstance(answered, NotParkedError)
    raced.races = 1
    writer.handle([brief("s3")])
    (answered,) = writer.handle([reply("s1")])
    assert isinstance(answered, Recorded)
    mine.close()
    theirs.close()


async def test_a_second_conflict_is_reported(url: str, path: Path) -> None:
    """I4, case D5: decided twice, in conflict twice: the caller is told and nothing is recorded."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.rival = Writer(theirs.ledger, batch=64)
    raced.rival.handle([brief("s1"), working("s1")])
    writer = Writer(raced, batch=64)
    outcomes = writer.handle([asks("s1", "Mine?"), brief("s2"), reply("s1")])
    assert isinstance(outcomes[0], StoreError)
    assert isinstance(outcomes[2], StoreError)
    assert outcomes[0].code == outcomes[2].code == "store.conflict"
    assert isinstance(outcomes[1], Recorded)
    mine.close()
    theirs.close()
    assert b"Mine?" not in b"".join(state for *_, state in logged(path))


# --- when the store fails


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


# --- callers that go, and the end


async def test_a_cancelled_caller_loses_nothing(url: str, path: Path) -> None:
    """I4: what was handed in is recorded once, whoever still waits for it."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
        impatient = asyncio.create_task(journal.handle(working("s1")))
        patient = asyncio.create_task(journal.handle(completed("s1")))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        assert (await patient).sub_task.version == 3
    assert [version for _, _, version, _, _ in logged(path)] == [1, 2, 3]


async def test_closing_writes_what_waits(url: str, path: Path) -> None:
    """F4: leaving the journal flushes the queue; everybody gets an answer."""
    async with Journal.open(url) as journal:
        waiting = [asyncio.create_task(journal.handle(brief(f"s{n}"))) for n in range(300)]
        await asyncio.sleep(0)
    assert {(await task).sub_task.version for task in waiting} == {1}
    assert len(logged(path)) == 300
    assert len(contents(path)["sub_task_rows"]) == 300
    assert not [t for t in threading.enumerate() if t.name.startswith("locum-")]


async def test_nothing_is_taken_after_closing(url: str) -> None:
    """F4: a closed journal says so, to writers and to readers."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
    for late in (
        journal.handle(brief("s2")),
        journal.rebuild(),
        journal.events("s1"),
        journal.views.row("s1"),
        journal.views.wait(99),
    ):
        with pytest.raises(StoreError) as closed:
            await late
        assert closed.value.code == "store.closed"


async def test_whoever_waits_at_the_end_is_told(url: str) -> None:
    """F4: waiting for what never comes ends when the journal does."""
    async with Journal.open(url) as journal:
        waiting = asyncio.create_task(journal.views.wait(99))
        given_up = asyncio.create_task(journal.views.wait(99))
        await journal.handle(brief("s1"))
        given_up.cancel()
    with pytest.raises(StoreError, match="closed"):
        await waiting


async def test_reads_under_way_are_finished(url: str) -> None:
    """D11: closing waits for what reads, so that no connection is closed under it."""
    gate = threading.Event()
    async with Journal.open(url, readers=2) as journal:
        reading = asyncio.create_task(journal._readers.run(gate.wait))
        asyncio.get_running_loop().call_later(0.1, gate.set)
    assert await reading is True


async def test_a_cancelled_opening_leaves_nothing_open(url: str, path: Path) -> None:
    """D11: cancelled while it waits for the file, the store is closed once its thread is done."""

    async def run() -> None:
        async with Journal.open(url):
            pass

    with sqlite(path) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(run())
        async with asyncio.timeout(5):
            while not any(t.name.startswith("locum-reader") for t in threading.enumerate()):
                await asyncio.sleep(0)
        opening.cancel()
        await asyncio.sleep(0)
        other.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await opening
    async with Journal.open(url) as journal:
        assert journal.position == 0


async def test_a_reader_that_gave_up_is_not_missed(url: str) -> None:
    """D11: a cancelled read is read to its end, and its error is nobody's."""
    async with Journal.open(url) as journal:
        reading = asyncio.create_task(journal.load("nobody"))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_a_cancelled_end_is_an_end_all_the_same(url: str, path: Path) -> None:
    """F4, D11: cancelled while closing, the journal is closed all the same, then cancelled."""

    async def run() -> None:
        async with Journal.open(url) as journal:
            for number in range(50):
                journal._queue.put(_Asked(brief(f"s{number}"), journal._loop.create_future()))
            asyncio.get_running_loop().call_soon(running.cancel)

    running = asyncio.create_task(run())
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(logged(path)) == 50


def test_a_loop_that_ends_first(url: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """I4: with nobody left to tell, what was handed in is recorded all the same."""
    loop = asyncio.new_event_loop()
    store = Store(url, busy_timeout=5)
    store.open(create=True)

    async def start() -> Journal:
        return Journal(store, Readers(1), on_events=None, batch=8)

    journal = loop.run_until_complete(start())
    journal._queue.put(_Asked(brief("s1"), loop.create_future()))
    journal._queue.put(None)
    loop.close()
    with caplog.at_level(logging.WARNING):
        journal._thread.start()
        journal._thread.join()
    store.close()
    assert "event loop ended" in caplog.text
    assert len(logged(path)) == 1


# --- opening


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """I4: no folder is made; the error names it."""
    with pytest.raises(StoreError, match=r"there is no folder .*missing") as refused:
        async with Journal.open(f"sqlite:///{tmp_path / 'missing' / 'locum.db'}"):
            pass
    assert refused.value.code == "store.no_folder"


async def test_a_store_that_has_to_be_there(url: str, path: Path) -> None:
    """I4: a reader makes no store."""
    with pytest.raises(StoreError) as refused:
        async with Journal.open(url, create=False):
            pass
    assert refused.value.code == "store.missing"
    assert not path.exists()
    async with Journal.open(url):
        pass
    async with Journal.open(url, create=False) as journal:
        assert journal.position == 0


@pytest.mark.parametrize("url", ["postgres://x", "sqlite:///", "locum.db"])
async def test_another_kind_of_url(url: str) -> None:
    """A wrong store.url is a wrong setting."""
    with pytest.raises(ConfigError, match=r"store\.url"):
        async with Journal.open(url):
            pass


async def test_a_file_that_is_no_store(url: str, path: Path) -> None:
    """I4: a file of another kind is left alone, and named."""
    path.write_bytes(b"Dear diary, " * 100)
    with pytest.raises(StoreError, match="not a database"):
        async with Journal.open(url):
            pass
    assert path.read_bytes() == b"Dear diary, " * 100


async def test_a_database_of_another_program(url: str, path: Path) -> None:
    """I4: a database that is not ours is refused, and nothing is made in it."""
    with sqlite(path) as connection:
        connection.execute("CREATE TABLE diary (day TEXT)")
    with pytest.raises(StoreError) as refused:
        async with Journal.open(url):
            pass
    assert refused.value.code == "store.foreign"
    with sqlite(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("diary",)]


async def test_a_newer_store_is_refused(url: str, path: Path) -> None:
    """I5: a store that is marked with a later schema does not open, and says why."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
    with sqlite(path) as connection:
        connection.execute("PRAGMA user_version=99")
    before = contents(path)
    with pytest.raises(HistoryError, match="newer release of locum") as refused:
        async with Journal.open(url):
            pass
    assert refused.value.code == "history.newer"
    assert refused.value.detail["schema"] == 99
    assert contents(path) == before


async def test_a_newer_event_is_refused(url: str, path: Path) -> None:
    """I5: a store whose latest event has a later schema does not open, whatever its mark says."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
    with sqlite(path) as connection:
        connection.execute(
            "UPDATE stored_events SET state=replace(state, '\"schema\":1', '\"schema\":99')"
        )
    with pytest.raises(HistoryError) as refused:
        async with Journal.open(url):
            pass
    assert refused.value.code == "history.newer"


async def test_an_older_store_is_upcast(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I5: an older mark and older events open; the mark is raised, since newer events follow."""
    monkeypatch.setitem(UPCASTS, 0, lambda fields: fields | {"name": fields["name"].upper()})
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
    with sqlite(path) as connection:
        connection.execute(
            "UPDATE stored_events SET state=replace(state, '\"schema\":1', '\"schema\":0')"
        )
        connection.execute("PRAGMA user_version=0")
    async with Journal.open(url) as journal:
        (event,) = await journal.events("s1")
        assert (event.schema, event.name) == (1, "CHAIRS")
        assert (await journal.handle(working("s1"))).sub_task.version == 2
    with sqlite(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


async def test_many_open_a_new_store_at_once(url: str, path: Path) -> None:
    """I4: who comes first makes the store, the others find it."""
    stores = [Store(url, busy_timeout=10) for _ in range(6)]
    await asyncio.gather(*(asyncio.to_thread(store.open, create=True) for store in stores))
    for number, store in enumerate(stores):
        (outcome,) = Writer(store.ledger, batch=8).handle([brief(f"s{number}")])
        assert isinstance(outcome, Recorded)
        store.close()
    assert len(logged(path)) == len(stores)


async def test_what_is_done_with_a_record(url: str) -> None:
    """I4: `then` is called before the caller goes on, and one that fails costs the others nothing."""
    done: list[str] = []

    def fails(recorded: Recorded) -> None:
        done.append(f"{recorded.sub_task.id} fails")
        raise ValueError("it has to")

    async def keep(journal: Journal, key: str) -> None:
        then = fails if key == "s1" else lambda recorded: done.append(recorded.sub_task.id)
        await journal.handle(brief(key), then=then)
        done.append(f"{key} goes on")

    async with Journal.open(url) as journal:
        await asyncio.gather(*(keep(journal, f"s{number}") for number in (1, 2)))
    assert done.index("s1 fails") < done.index("s1 goes on")
    assert done.index("s2") < done.index("s2 goes on")


def test_a_new_store_is_opened_when_the_other_has_made_it(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I4: whoever finds a new file locked by another that is making it waits for its turn."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other.execute("COMMIT"))
        store = Store(url, busy_timeout=10)
        store.open(create=True)
        store.close()


async def test_a_store_as_it_should_be_is_opened_without_a_write(url: str, path: Path) -> None:
    """I4: a reader opens beside a writer that holds the lock."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
        await journal.views.wait(journal.position)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with Journal.open(url, create=False, busy_timeout=0.05) as reader:
                assert (await reader.load("s1")).version == 1
                assert await reader.views.row("s1") is not None
            other.execute("ROLLBACK")


async def test_each_store_in_memory_is_its_own() -> None:
    """A8: two harnesses in one process do not meet in memory."""
    async with (
        Journal.open("sqlite:///:memory:") as one,
        Journal.open("sqlite:///:memory:") as other,
    ):
        await one.handle(brief("s1"))
        with pytest.raises(SubTaskNotFoundError):
            await other.load("s1")


async def test_readers_and_the_writer_do_not_meet_in_memory() -> None:
    """I4: reads beside writes in memory are all answered."""
    async with Journal.open("sqlite:///:memory:") as journal:

        async def live(number: int) -> None:
            sub_task_id = f"s{number}"
            await journal.handle(brief(sub_task_id))
            await journal.events(sub_task_id)
            recorded = await journal.handle(completed(sub_task_id))
            await journal.views.wait(recorded.position)
            row = await journal.views.row(sub_task_id)
            assert row == row_of(recorded.sub_task)

        await asyncio.gather(*(live(number) for number in range(60)))
        assert len(await journal.views.rows("p1")) == 60


async def test_the_log_can_be_paged(journal: Journal) -> None:
    """H1: all stored events in the order they were recorded, with what lies beside them."""
    for number in range(5):
        await journal.handle(brief(f"s{number}"))
    first = await journal.page(0, 3)
    rest = await journal.page(first[-1].position, 3)
    assert [(one.position, one.sub_task_id, one.version, one.topic) for one in (*first, *rest)] == [
        (number + 1, f"s{number}", 1, Created.TOPIC) for number in range(5)
    ]
    assert (await journal.stored("s4")) == (rest[-1].state,)


async def test_a_push_config_is_remembered_past_the_end(journal: Journal) -> None:
    """F1, I1: an ended sub-task with a config to delete stays among what is left to do."""
    await journal.handle(brief("s1"))
    await journal.handle(brief("s2", deadline="2026-02-01T00:00:00.000000Z"))
    await journal.handle(asks("s1", watch=push(config_id="c1")))
    recorded = await journal.handle(completed("s1"))
    await journal.views.wait(recorded.position)
    slots = {slot.id: slot async for slot in journal.views.open_slots()}
    assert list(slots) == ["s1", "s2"]
    assert (slots["s1"].state, slots["s1"].push, slots["s1"].watch) == ("COMPLETED", True, None)
    assert slots["s2"].deadline == "2026-02-01T00:00:00.000000Z"
    assert not slots["s2"].push
    recorded = await journal.handle(revoke("s1", "c1"))
    await journal.views.wait(recorded.position)
    assert [slot.id async for slot in journal.views.open_slots()] == ["s2"]
