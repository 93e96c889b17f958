"""The journal's one writer: in order, in groups, and on disk before a caller hears of it."""

import asyncio
from pathlib import Path

from locum.adapters.store import Journal
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Writer
from locum.core.chain import verify_links
from locum.core.commands import HearLimits
from tests.stores import asks, brief, logged


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
