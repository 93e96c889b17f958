"""Rows and notifications as they are read: up to date, in order, each once."""

import asyncio
from pathlib import Path

import pytest

from locum.adapters.store import Journal, verify
from locum.core.errors import RequestError, SubTaskNotFoundError
from locum.core.lifecycle import A2AState
from locum.projections import Notification, row_of
from tests.stores import asks, brief, cancel, contents, logged, reply, working

from .viewed import live, written


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
    """H4: the notes of one sub-task, and of no other, in order."""
    async with Journal.open(url) as journal:
        await live(journal)
        row = await journal.views.row("s2")
        assert row is not None
        notes = await journal.views.notes_of(row)
        assert [(note.sub_task_id, note.kind) for note in notes] == [
            ("s2", "question"),
            ("s2", "ended"),
        ]


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


@pytest.mark.parametrize(
    "after,limit",
    [(2**63, 1), (-1, 1), ("1", 1), (True, 1), (10**5000, 1), (0, -1), (0, 0), (0, 2**63)],
    ids=["beyond", "negative", "text", "truth", "huge", "all", "none", "limit beyond"],
)
async def test_what_is_no_cursor(url: str, after: int, limit: int) -> None:
    """E3: what is no cursor, and no limit, is refused as the caller's mistake."""
    async with Journal.open(url) as journal:
        with pytest.raises(RequestError, match="accepted: a whole number"):
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
