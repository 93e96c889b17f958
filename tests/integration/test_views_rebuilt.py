"""The views made again: at opening, by a rebuild beside a writer, from missing or older tables."""

import asyncio
from pathlib import Path

import pytest

from locum.adapters.store import Journal
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Writer
from locum.projections.runner import Projector, rebuild
from locum.projections.tables import LAYOUT, ViewTables
from tests.stores import asks, brief, cancel, contents, logged, sqlite, working

from .viewed import live, written


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
