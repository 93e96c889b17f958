"""Views that fail: they fall behind, say so, hinder no command, and come up by themselves."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from locum.adapters.store import Journal
from locum.core.errors import HistoryError, StoreError
from locum.core.events import Event
from locum.projections import row_of
from tests.stores import asks, brief, contents, sqlite, working

from .viewed import live


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
