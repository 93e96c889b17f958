"""What a store that is damaged, or cannot be written, is said to be: where and why (I4, H3)."""

import sqlite3
from pathlib import Path

import pytest

from locum.adapters.store import Journal
from locum.adapters.store.sqlite import store_errors
from locum.core.errors import HistoryError, StoreError
from tests.stores import brief, sqlite, working


async def test_a_rebuild_names_the_event_that_it_stumbles_over(url: str, path: Path) -> None:
    """H3: an event that cannot be read is named by sub-task, version and position."""
    async with Journal.open(url) as journal:
        for key in ("s1", "s2"):
            await journal.handle(brief(key))
            recorded = await journal.handle(working(key))
        await journal.views.wait(recorded.position)
        with sqlite(path) as connection:
            connection.execute(
                "UPDATE stored_events SET state = 'garbled'"
                " WHERE originator_id = 's2' AND originator_version = 2"
            )
        with pytest.raises(HistoryError) as raised:
            await journal.rebuild()
    assert raised.value.code == "history.unreadable"
    assert raised.value.message.startswith("Event 2 of sub-task 's2', at position 4 of the log: ")
    assert "`locum verify`" in raised.value.message
    assert raised.value.detail == {"sub_task_id": "s2", "version": 2, "position": 4}


def test_a_place_that_cannot_be_written_is_called_that(tmp_path: Path) -> None:
    """I4: SQLite's bare words for a file that is read-only come with what to do."""
    path = tmp_path / "a.db"
    with sqlite(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    read_only = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        with (
            pytest.raises(StoreError, match="folder have to be writable"),
            store_errors("to write"),
        ):
            read_only.execute("INSERT INTO t VALUES (1)")
    finally:
        read_only.close()
    with pytest.raises(StoreError) as raised, store_errors("to read"):
        raise sqlite3.OperationalError("no such table")
    assert "writable" not in raised.value.message


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_reason_is_found_below_a_wrapper(tmp_path: Path, wrapped: bool) -> None:
    """I4: eventsourcing wraps what SQLite raised."""

    def fail() -> None:
        try:
            sqlite3.connect(tmp_path / "nowhere" / "a.db")
        except sqlite3.OperationalError as error:
            if wrapped:
                raise OSError("wrapped") from error
            raise

    with pytest.raises(StoreError, match="writable"), store_errors("to open"):
        fail()
