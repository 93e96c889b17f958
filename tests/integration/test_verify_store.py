"""Verifying a store: what was done to its file behind locum's back is found and named (H3)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from locum.adapters.store import Fault, Journal, verify
from locum.core.chain import encode, seal
from locum.core.errors import StoreError, SubTaskNotFoundError
from locum.core.events import Woken
from tests.lives import START
from tests.stores import asks, brief, completed, logged, reply, sqlite, working


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    """A store with three sub-tasks, whose events lie mixed in the log."""
    path = tmp_path / "locum.db"
    async with Journal.open(f"sqlite:///{path}") as journal:
        for step in (brief, working, asks, reply, completed):
            for key in ("s1", "s2", "s3"):
                if not (step is completed and key == "s3"):
                    await journal.handle(step(key))
        await journal.views.wait(journal.position)
    return path


def faults(path: Path, sub_task_id: str | None = None) -> list[Fault]:
    """The faults of a store, or of a sub-task in it."""
    return verify(f"sqlite:///{path}", sub_task_id).faults


def do(path: Path, statement: str, *values: object) -> None:
    """Do something to the file that locum would not."""
    with sqlite(path) as connection:
        assert connection.execute(statement, values).rowcount


def test_a_store_that_holds(path: Path) -> None:
    """H3: nothing is found where nothing was done, for all and for one."""
    assert verify(f"sqlite:///{path}") == (3, 14, [])
    assert verify(f"sqlite:///{path}", "s1") == (1, 5, [])


def test_an_altered_event(path: Path) -> None:
    """H3: one changed word is found, at its version."""
    do(
        path,
        "UPDATE stored_events SET state=CAST(replace(state, 'big', 'bad') AS BLOB)"
        " WHERE originator_id='s1' AND originator_version=4",
    )
    (fault,) = faults(path)
    assert fault == ("s1", 4, "altered: its hash does not match its content")
    assert faults(path, "s2") == []


def test_an_event_that_cannot_be_read(path: Path) -> None:
    """H3: bytes that are no event are found; the store opens for that all the same."""
    do(
        path,
        "UPDATE stored_events SET state=x'00' WHERE rowid=(SELECT MAX(rowid) FROM stored_events)",
    )
    (fault,) = faults(path)
    assert fault[:2] == ("s2", 5)
    assert fault.what.startswith("unreadable")


def test_a_removed_event(path: Path) -> None:
    """H3: the gap is found in the log, in the chain and in the machine."""
    do(path, "DELETE FROM stored_events WHERE originator_id='s2' AND originator_version=3")
    found = faults(path)
    assert found[0] == ("", 0, "removed: position 8 is missing from the log")
    assert ("s2", 3, "removed: version 3 is missing") in found
    assert {fault.sub_task_id for fault in found[1:]} == {"s2"}


def test_a_removed_end(path: Path) -> None:
    """H3: events removed from the end leave no gap; what the views know gives it away."""
    do(path, "DELETE FROM stored_events WHERE rowid>12")
    assert faults(path) == [
        ("s1", 5, "removed: version 5 is missing"),
        ("s2", 5, "removed: version 5 is missing"),
    ]


def test_a_removed_sub_task(path: Path) -> None:
    """H3: a sub-task of which nothing is left is missed."""
    do(path, "DELETE FROM stored_events WHERE originator_id='s1'")
    found = faults(path)
    assert ("", 0, "removed: position 1 is missing from the log") in found
    assert ("s1", 1, "removed: version 1 to 5 is missing") in found
    assert faults(path, "s1") == [("s1", 1, "removed: version 1 to 5 is missing")]


def test_many_removed_events(path: Path) -> None:
    """H3: a wide gap is named from end to end."""
    do(path, "DELETE FROM stored_events WHERE rowid BETWEEN 1 AND 12")
    assert faults(path)[0] == ("", 0, "removed: positions 1 to 12 are missing from the log")


def test_events_that_changed_places(path: Path) -> None:
    """H3: two versions swapped are found out of order."""
    for old, new in ((3, 30), (4, 3), (30, 4)):
        do(
            path,
            "UPDATE stored_events SET originator_version=? WHERE originator_id='s1'"
            " AND originator_version=?",
            new,
            old,
        )
    found = faults(path)
    assert ("s1", 3, "reordered: it stands after version 4") in found
    assert {fault.sub_task_id for fault in found} == {"s1"}
    assert any("it lies there as locum.sub_task.woken, version 3" in what for _, _, what in found)


def test_an_event_in_another_history(path: Path) -> None:
    """H3: an event that was moved to another sub-task does not belong there."""
    do(
        path,
        "UPDATE stored_events SET originator_id='s3' WHERE originator_id='s1'"
        " AND originator_version=5",
    )
    found = faults(path)
    assert ("s3", 5, "foreign: it belongs to sub-task s1") in found
    assert ("s1", 5, "removed: version 5 is missing") in found


def test_an_illegal_step_with_a_whole_chain(path: Path) -> None:
    """H2, H3: an event that links up but cannot happen is found by the machine."""
    *_, (_, _, _, _, last) = [row for row in logged(path) if row[1] == "s1"]
    previous = last.rpartition(b'"hash":"')[2][:64].decode()
    forged = seal(
        Woken(
            sub_task_id="s1",
            version=6,
            at=START,
            cause="follow",
            actor="nobody",
            correlation_id="",
            text="Not so.",
            previous_hash=previous,
        )
    )
    do(path, "INSERT INTO stored_events VALUES ('s1', 6, ?, ?)", forged.TOPIC, encode(forged))
    assert faults(path) == [("s1", 6, "illegal: Woken after Resolved")]


def test_a_store_without_views_is_verified_too(path: Path) -> None:
    """H3: the projections are not needed, and are not made."""
    do(path, "DELETE FROM stored_events WHERE rowid=14")
    with sqlite(path) as connection:
        connection.execute("DROP TABLE sub_task_rows")
    assert faults(path) == []
    with sqlite(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name='sub_task_rows'")
        assert tables.fetchall() == []


def test_a_store_with_views_of_another_layout(path: Path) -> None:
    """H3, I5: what another release has made of the views is not needed either."""
    with sqlite(path) as connection:
        connection.execute("DROP TABLE sub_task_rows")
        connection.execute("CREATE TABLE sub_task_rows (id TEXT, colour TEXT)")
    assert faults(path) == []


def test_views_that_cannot_be_read(path: Path) -> None:
    """H3: views that are there and fail are an error: without them a removed end goes unseen."""
    do(path, "DELETE FROM stored_events WHERE rowid=14")
    with sqlite(path) as connection:
        connection.execute("ALTER TABLE sub_task_rows RENAME TO away")
        connection.execute(
            "CREATE VIEW sub_task_rows AS SELECT sub_task_id, version FROM away, nowhere"
        )
    with pytest.raises(StoreError, match="failed to be verified: no such table"):
        verify(f"sqlite:///{path}")


def test_what_is_not_there(path: Path, tmp_path: Path) -> None:
    """H3: an unknown sub-task and a missing store are errors, not findings."""
    with pytest.raises(SubTaskNotFoundError):
        verify(f"sqlite:///{path}", "nobody")
    with pytest.raises(StoreError):
        verify(f"sqlite:///{tmp_path / 'other.db'}")
