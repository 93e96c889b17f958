"""Rows and notifications as they are read: up to date, in order, and made again the same."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from locum.adapters.store import Journal, verify
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Recorded, Writer
from locum.core.errors import HistoryError, RequestError, StoreError, SubTaskNotFoundError
from locum.core.events import Event
from locum.core.lifecycle import A2AState
from locum.projections import Notification, row_of
from locum.projections.runner import Projector, rebuild
from locum.projections.tables import LAYOUT, ViewTables
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
    rewatch,
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


async def live(journal: Journal, count: int = 6) -> None:
    """Some sub-tasks of two parents, in several states, with all six events between them."""
    for number in range(count):
        key = f"s{number}"
        await journal.handle(brief(key, parent_id=f"p{number % 2}"))
        await journal.handle(working(key))
        await journal.handle(asks(key, watch=push(number)))
        if number % 3:
            await journal.handle(rewatch(key, push(number + 100)))
            await journal.handle(reply(key))
        if number % 3 == 2:
            await journal.handle(completed(key, "x" * 5000))
            await journal.handle(revoke(key, "locum-s1"))
    await journal.views.wait(journal.position)


def written(url: str, *commands: object) -> None:
    """Record commands as a process would that is killed before it projects."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    for outcome in Writer(store.ledger, batch=64).handle(list(commands)):  # type: ignore[arg-type]  # commands, all
        assert isinstance(outcome, Recorded)
    store.close()


async def test_rows_are_read_as_asked(url: str) -> None:
    """E1: a parent's rows in the order of creation, by state, by being unresolved, or all."""
    async with Journal.open(url) as journal:
        await live(journal)
        views = journal.views
        rows = await views.rows("p0")
        assert [row.id for row in rows] == ["s0", "s2", "s4"]
        for row in rows:
            assert row == row_of(await journal.load(row.id)) == await views.row(row.id)
        assert [row.id for row in await views.rows("p0", state=A2AState.COMPLETED)] == ["s2"]
        assert [row.id for row in await views.rows("p0", unresolved=True)] == ["s0", "s4"]
        assert [row.id for row in await views.rows("p1", unresolved=False)] == ["s5"]
        assert [row.id for row in await views.rows()] == [f"s{n}" for n in range(6)]
        assert await views.unresolved("p1") == ["s1", "s3"]
        assert await views.rows("nobody") == []
        assert await views.row("nobody") is None


async def test_the_feed_skips_nothing_and_repeats_nothing(url: str) -> None:
    """E3: a reader that keeps its cursor gets each note once, across restarts and page sizes."""
    async with Journal.open(url) as journal:
        await live(journal)
        whole, end = await journal.views.notes("p1")
        assert [note.cursor for note in whole] == sorted({note.cursor for note in whole})
        assert {note.parent_id for note in whole} == {"p1"}
    read: list[Notification] = []
    cursor = 0
    while True:
        async with Journal.open(url) as journal:
            notes, cursor = await journal.views.notes("p1", cursor, 1)
        if not notes:
            break
        read += notes
    assert read == whole
    assert cursor == end == whole[-1].cursor
    async with Journal.open(url) as journal:
        recorded = await journal.handle(cancel("s1"))
        await journal.views.wait(recorded.position)
        notes, cursor = await journal.views.notes("p1", cursor)
        assert [note.cursor for note in notes] == [recorded.position] == [cursor]


async def test_a_note_stands_where_its_event_does(url: str, path: Path) -> None:
    """E3: the cursor is the position of the event in the log."""
    async with Journal.open(url) as journal:
        await live(journal)
        notes, _ = await journal.views.notes("p0")
    places = {position: (key, version) for position, key, version, *_ in logged(path)}
    assert [places[note.cursor] for note in notes] == [
        (note.sub_task_id, note.version) for note in notes
    ]


async def test_what_was_told_of_one_sub_task(url: str) -> None:
    """H4: the notes of a sub-task, up to a version of it."""
    async with Journal.open(url) as journal:
        await live(journal)
        row = await journal.views.row("s2")
        assert row is not None
        kinds = [note.kind for note in await journal.views.notes_of(row)]
        assert kinds == ["question", "ended"]
        early = await journal.views.notes_of(row, version=5)
        assert [note.version for note in early] == [3]


async def test_your_own_writes_can_be_read(url: str) -> None:
    """E1: after waiting for a position, the views show what was recorded up to it."""
    async with Journal.open(url) as journal:

        async def one(number: int) -> None:
            recorded = await journal.handle(brief(f"s{number}"))
            await journal.views.wait(recorded.position)
            assert journal.views.position >= recorded.position
            assert await journal.views.row(f"s{number}") == row_of(recorded.sub_task)

        await asyncio.gather(*(one(number) for number in range(100)))


async def test_whoever_gave_up_waiting_is_passed_over(url: str) -> None:
    """E1: a cancelled wait disturbs nobody else's."""
    async with Journal.open(url) as journal:
        waits = [asyncio.create_task(journal.views.wait(1)) for _ in range(3)]
        await asyncio.sleep(0)
        waits[1].cancel()
        await journal.handle(brief("s1"))
        await asyncio.gather(waits[0], waits[2])
        assert waits[1].cancelled()


async def test_the_writes_of_others_can_be_waited_for(url: str) -> None:
    """E5, case D5: what another process recorded, and did not live to project, is projected here."""
    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
        written(url, working("s1"), brief("s2"), asks("s2"))
        await journal.views.wait(5)
        row = await journal.views.row("s2")
        assert row is not None
        assert row.text == "Which hall?"
        recorded = await journal.handle(reply("s2"))
        await journal.views.wait(recorded.position)
        row = await journal.views.row("s2")
        assert row is not None
        assert row.state is A2AState.WORKING


async def test_two_processes_project_each_event_once(url: str, path: Path) -> None:
    """E5, case D5: whoever comes first writes the rows; the other finds them written."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        for number in range(10):
            first, second = (one, other) if number % 2 else (other, one)
            await first.handle(brief(f"s{number}"))
            await second.handle(working(f"s{number}"))
            await first.handle(asks(f"s{number}"))
            await second.handle(reply(f"s{number}"))
        await one.views.wait(one.position)
        await other.views.wait(other.position)
        before = contents(path)
        await one.rebuild()
        assert contents(path) == before
    assert len(before["sub_task_rows"]) == len(before["notifications"]) == 10


async def test_opening_catches_up(url: str, path: Path) -> None:
    """I1, E5: events that were recorded and not projected are projected at the next start."""
    written(url, *(brief(f"s{number}") for number in range(20)))
    written(url, *(asks(f"s{number}") for number in range(20)))
    async with Journal.open(url) as journal:
        assert journal.views.position == journal.position == len(logged(path))
        assert len(await journal.views.rows("p1", state="INPUT_REQUIRED")) == 20


async def test_rebuilt_views_are_the_same_byte_for_byte(url: str, path: Path) -> None:
    """E5: dropped and made again, rows, notes, position and indices are what they were."""
    async with Journal.open(url) as journal:
        await live(journal, 30)
        before = contents(path)
        assert await journal.rebuild() == journal.position
        assert contents(path) == before
        recorded = await journal.handle(cancel("s0"))
        await journal.views.wait(recorded.position)
    after = contents(path)
    assert after != before
    async with Journal.open(url) as journal:
        await journal.rebuild()
    assert contents(path) == after


async def test_views_in_memory_are_rebuilt_too() -> None:
    """E5: in memory as on a file."""
    async with Journal.open("sqlite:///:memory:") as journal:
        await live(journal)
        rows, feed = await journal.views.rows(), await journal.views.notes("p0")
        await journal.rebuild()
        assert await journal.views.rows() == rows
        assert await journal.views.notes("p0") == feed


async def test_a_rebuild_beside_a_writer(url: str, path: Path) -> None:
    """E5, I4: while one process rebuilds, another records; readers always see whole views."""
    async with Journal.open(url) as server, Journal.open(url) as tool:
        await live(server)
        stop = asyncio.Event()
        fewest = 6

        async def record() -> None:
            number = 100
            while not stop.is_set():
                recorded = await server.handle(brief(f"s{number}", parent_id="p9"))
                await server.views.wait(recorded.position)
                assert await server.views.row(f"s{number}") is not None
                number += 1

        async def read() -> None:
            nonlocal fewest
            while not stop.is_set():
                fewest = min(fewest, len(await server.views.rows("p0")))

        async with asyncio.TaskGroup() as group:
            group.create_task(record())
            group.create_task(read())
            for _ in range(5):
                await tool.rebuild()
            stop.set()
        assert fewest == 3
        await server.views.wait(server.position)
        before = contents(path)
        await tool.rebuild()
        assert contents(path) == before
    assert len(before["sub_task_rows"]) == len({key for _, key, *_ in logged(path)})


def test_a_rebuild_takes_the_rest_in_at_the_end(url: str, path: Path) -> None:
    """E5: events projected while the new tables were made are in them when they are put in place."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    writer = Writer(store.ledger, batch=8)
    writer.handle([brief("s1"), working("s1")])
    store.projector.catch_up()
    pages: list[int] = []

    def log(after: int, limit: int) -> object:
        page = store.ledger.events_after(after, limit)
        pages.append(len(page))
        if not page:
            # Another process records and projects just when the new tables are made.
            writer.handle([asks("s1"), brief("s2")])
            store.projector.catch_up()
        return page

    assert rebuild(store.tables, log, page=1) == 4  # type: ignore[arg-type]  # a log, if wordy
    assert pages == [1, 1, 0, 1, 1, 0]
    before = contents(path)
    assert rebuild(store.tables, store.ledger.events_after) == 4
    store.close()
    assert contents(path) == before


@pytest.mark.parametrize("count", [0, 1, 2])
def test_another_process_may_be_faster(url: str, path: Path, count: int) -> None:
    """E5, case D5: a page that somebody else has projected in the meantime is not projected twice."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    writer = Writer(store.ledger, batch=8)
    commands = [brief("s1"), working("s1"), brief("s2"), asks("s2")]
    writer.handle(commands[:count])
    faster = Projector(store.tables, store.ledger.events_after)
    faster.catch_up()

    def log(after: int, limit: int) -> object:
        found = store.ledger.events_after(after, limit)
        faster.catch_up()
        return found

    slower = Projector(store.tables, log, page=1)  # type: ignore[arg-type]  # a log, if slow
    writer.handle(commands[count:])
    assert slower.catch_up() == faster.position == 5
    before = contents(path)
    rebuild(store.tables, store.ledger.events_after)
    store.close()
    assert contents(path) == before


async def test_missing_tables_are_made_again(url: str, path: Path) -> None:
    """E5: projections can be dropped; opening makes them again."""
    async with Journal.open(url) as journal:
        await live(journal)
    before = contents(path)
    with sqlite(path) as connection:
        connection.execute("DROP TABLE notifications")
    async with Journal.open(url):
        pass
    assert contents(path) == before
    with sqlite(path) as connection:
        connection.execute("DROP TABLE tracking")
    async with Journal.open(url):
        pass
    assert contents(path) == before


async def test_tables_of_another_layout_are_made_again(url: str, path: Path) -> None:
    """E5, I5: after a change of their layout the tables are remade from the log at opening."""
    async with Journal.open(url) as journal:
        await live(journal)
    before = contents(path)
    with sqlite(path) as connection:
        connection.execute("DROP TABLE sub_task_rows")
        connection.execute("CREATE TABLE sub_task_rows (id TEXT, colour TEXT)")
        connection.execute("UPDATE tracking SET application_name='views.0' WHERE notification_id>1")
    async with Journal.open(url):
        pass
    after = contents(path)
    assert [row for row in after["tracking"] if row[0] == f"views.{LAYOUT}"] == before["tracking"]
    assert {name: after[name] for name in after if name != "tracking"} == {
        name: before[name] for name in before if name != "tracking"
    }


async def test_two_that_make_the_tables_at_once(url: str, path: Path) -> None:
    """I4: who comes second finds the tables made and what is in them kept."""
    async with Journal.open(url) as journal:
        await live(journal)
        before = contents(path)
        late = ViewTables(journal._store.tables.datastore)
        late.clear(keep=True)
        late.prepare()
        assert contents(path) == before


async def test_views_that_fail_are_behind_and_no_more(
    url: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """I4: events go on being recorded; who waits for the views is told; a rebuild mends them."""
    told: list[int] = []
    async with Journal.open(
        url, on_events=lambda events: told.extend(at for at, _ in events)
    ) as journal:
        await live(journal)
        with sqlite(path) as connection:
            connection.execute("ALTER TABLE sub_task_rows RENAME TO broken")
        with caplog.at_level(logging.ERROR):
            recorded = await journal.handle(brief("s9"))
            with pytest.raises(StoreError, match="views are behind the log") as failed:
                await journal.views.wait(recorded.position)
        assert failed.value.code == "store.failed"
        assert "could not be brought up to date" in caplog.text
        assert told[-1] < recorded.position
        assert (await journal.load("s9")).version == 1
        await journal.rebuild()
        recorded = await journal.handle(working("s9"))
        await journal.views.wait(recorded.position)
        assert told == list(range(1, recorded.position + 1))
        row = await journal.views.row("s9")
        assert row == row_of(recorded.sub_task)


@contextmanager
def broken(path: Path) -> Iterator[None]:
    """The table of the rows is away for as long as the context lasts."""
    with sqlite(path) as connection:
        connection.execute("ALTER TABLE sub_task_rows RENAME TO broken")
    yield
    with sqlite(path) as connection:
        connection.execute("ALTER TABLE broken RENAME TO sub_task_rows")


async def test_views_that_fell_behind_come_up_by_themselves(
    url: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """E3, J3: what could not be projected is tried again and then told, whether or not anything
    else is recorded; it is not held in memory meanwhile, and said once.
    """
    told: list[int] = []
    all_told = asyncio.Event()

    def noted(events: Sequence[tuple[int, Event]]) -> None:
        told.extend(at for at, _ in events)
        if told[-1] == 4:
            all_told.set()

    async with Journal.open(url, on_events=noted) as journal:
        await journal.handle(brief("s1"))
        await journal.views.wait(1)
        with broken(path), caplog.at_level(logging.INFO):
            for command in (working("s1"), asks("s1"), brief("s2")):
                recorded = await journal.handle(command)
                with pytest.raises(StoreError, match="views are behind the log"):
                    await journal.views.wait(recorded.position)
                assert journal._writer.recorded == []
            assert told == [1]
        async with asyncio.timeout(20):
            await all_told.wait()
        await journal.views.wait(4)
        assert told == [1, 2, 3, 4]
        row = await journal.views.row("s1")
        assert row is not None
        assert row.version == 3
    assert caplog.text.count("could not be brought up to date") == 1


async def test_views_that_are_behind_hinder_nothing(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3, I4: who waits for the views does not wait for the next try, nor does closing."""
    monkeypatch.setattr("locum.adapters.store.journal.RETRY_FIRST", 3600.0)
    told: list[int] = []

    def noted(events: Sequence[tuple[int, Event]]) -> None:
        told.extend(at for at, _ in events)

    async def fall_behind(key: str) -> None:
        with broken(path):
            recorded = await journal.handle(brief(key))
            with pytest.raises(StoreError):
                await journal.views.wait(recorded.position)
            # The second is answered when what came before the first has been tried, and failed.
            await journal.handle(working(key))
            await journal.handle(asks(key))

    async with Journal.open(url, on_events=noted) as journal:
        await fall_behind("s1")
        recorded = await journal.handle(brief("s2"))
        assert await journal.views.row("s1") is None
        await journal.views.wait(recorded.position)
        assert told == [1, 2, 3, 4]
        await fall_behind("s3")
    async with Journal.open(url) as journal:
        assert await journal.views.row("s3") is not None


@pytest.mark.parametrize(
    "after,limit",
    [(2**63, 1), (-1, 1), ("1", 1), (True, 1), (10**5000, 1), (0, -1), (0, 0), (0, 2**63)],
    ids=["beyond", "negative", "text", "truth", "huge", "all", "none", "limit beyond"],
)
async def test_what_is_no_cursor(url: str, after: int, limit: int) -> None:
    """E3: what is no cursor, and no limit, is refused as the caller's mistake."""
    async with Journal.open(url) as journal:
        with pytest.raises(RequestError, match="give a whole number"):
            await journal.views.notes("p1", after, limit)
        assert await journal.views.notes("p1", 2**63 - 1, 2**63 - 1) == ([], 2**63 - 1)


@pytest.mark.parametrize("word", ["\ud800", 2**63, b"s0"], ids=["surrogate", "number", "bytes"])
async def test_ids_that_no_text_can_be(url: str, word: str) -> None:
    """I4: nothing is there of what cannot be an id, as of any other that was never recorded."""
    async with Journal.open(url) as journal:
        await live(journal, 1)
        assert await journal.views.row(word) is None
        assert await journal.views.rows(word) == []
        assert await journal.views.rows(state=word) == []
        assert await journal.views.unresolved(word) == []
        assert await journal.views.notes(word, 3) == ([], 3)
        for asked in (
            journal.load(word),
            journal.events(word),
            journal.stored(word),
            journal.handle(working(word)),
        ):
            with pytest.raises(SubTaskNotFoundError):
                await asked
        with pytest.raises(SubTaskNotFoundError):
            verify(url, word)


async def test_a_log_that_makes_no_sense_is_not_projected(url: str, path: Path) -> None:
    """H3, E5: events that cannot follow each other are named, and the old views stay."""
    async with Journal.open(url) as journal:
        await live(journal)
        before = contents(path)
        with sqlite(path) as connection:
            connection.execute(
                "DELETE FROM stored_events WHERE originator_id='s3' AND originator_version=2"
            )
        with pytest.raises(HistoryError, match="Version 3 of sub-task s3"):
            await journal.rebuild()
        after = contents(path)
        for name in ("sub_task_rows", "notifications"):
            assert after[name] == before[name]
