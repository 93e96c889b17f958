"""The tasks of `self` in the store, beside all else that is in it: as bytes, by their ids (A9)."""

from pathlib import Path

from locum.adapters.store import Journal
from locum.adapters.store.exporting import export
from locum.adapters.store.verify import verify
from tests.stores import brief, contents, sqlite


async def test_what_was_kept_is_there(url: str) -> None:
    """I1: the latest bytes of each task, in the order in which they were kept, a page at a time."""
    async with Journal.open(url) as journal:
        await journal.keep_tasks([("t1", "", b"1"), ("t2", "ada", b"2"), ("t3", "", b"3")], [])
        await journal.keep_tasks([("t1", "", b"4\x00")], ["t3", "never"])
    async with Journal.open(url) as journal:
        first, *none = await journal.kept_tasks(0, 1)
        assert (first.task_id, first.owner, first.state, none) == ("t2", "ada", b"2", [])
        [last] = await journal.kept_tasks(first.place, 9)
        assert (last.task_id, last.owner, last.state) == ("t1", "", b"4\x00")


async def test_nobody_else_is_disturbed(url: str, path: Path) -> None:
    """H3, H5, I5: a store without the table opens; with it, all that reads it reads the same."""

    def read() -> tuple[object, ...]:
        lines: list[bytes] = []
        exported = export(url, lines.append)
        tables = contents(path)
        del tables["schema"]
        return exported, lines, verify(url), tables

    async with Journal.open(url) as journal:
        await journal.handle(brief("s1"))
        assert await journal.kept_tasks(0, 10) == []
    before = read()
    async with Journal.open(url) as journal:
        await journal.keep_tasks([("t1", "", b"1")], [])
    assert read() == before
    async with Journal.open(url) as journal:
        await journal.rebuild()
    assert read() == before
    with sqlite(path) as connection:
        assert connection.execute("SELECT task_id FROM own_tasks").fetchall() == [("t1",)]
