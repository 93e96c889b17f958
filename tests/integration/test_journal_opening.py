"""Opening a store: a missing, a foreign, an older or a newer one, in memory, and many at once."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from locum.adapters.store import Journal, Recorded
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Writer
from locum.core.chain import UPCASTS
from locum.core.errors import ConfigError, HistoryError, StoreError, SubTaskNotFoundError
from locum.projections import row_of
from tests.stores import brief, completed, contents, logged, sqlite, working


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
