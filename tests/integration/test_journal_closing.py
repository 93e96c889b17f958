"""Callers that leave the journal, and its end: what was handed in is recorded, all are told."""

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from locum.adapters.store import Journal
from locum.adapters.store.journal import _Asked
from locum.adapters.store.store import Store
from locum.adapters.store.threads import Readers
from locum.core.errors import StoreError
from tests.stores import brief, completed, contents, logged, sqlite, working


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
