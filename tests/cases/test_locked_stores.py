"""A store that cannot be written for a while, since another process has locked it: what an agent says
meanwhile is not lost (I4). The lock is held until locum has tried to write and could not.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.agents.frames import EOF, EV, A, Frame, M, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

LATER = "2099-01-01T00:00:00Z"


class Lock(logging.Handler):
    """A lock on a store, which can be released as soon as locum has met it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._db = sqlite3.connect(path, isolation_level=None)
        self._met = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """It has told that it could not write."""
        if "as soon as it can be" in record.getMessage():
            self._met.set()

    def take(self) -> None:
        """From now on nobody else writes."""
        self._db.execute("BEGIN IMMEDIATE")

    async def give_back_when_met(self) -> None:
        """Until locum has tried."""
        async with asyncio.timeout(30):
            await self._met.wait()
        self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()
        super().close()


@asynccontextmanager
async def lock_on(path: Path) -> AsyncIterator[Lock]:
    """A lock that hears what locum logs."""
    told = logging.getLogger("locum.standin")
    with closing(Lock(path)) as lock:
        told.addHandler(lock)
        try:
            yield lock
        finally:
            told.removeHandler(lock)


@pytest.mark.parametrize(
    "answer, text",
    [(M("12"), "12"), (T("COMPLETED", artifacts=[A("a", "12")]), "12")],
    ids=["a message", "a task"],
)
async def test_the_answer_to_a_brief(tmp_path: Path, answer: Frame, text: str) -> None:
    """I4, C4, C5, C7: it is recorded when that goes again; the brief was in no doubt."""
    path = tmp_path / "locum.db"
    async with RawAgent() as agent:
        locked = asyncio.Event()

        async def send(seen: Seen, reply: Reply) -> None:
            await locked.wait()
            await reply.play([EV(answer), EOF])

        agent.on("SendStreamingMessage", send)
        async with locum({"a": agent.url}, store=f"sqlite:///{path}") as harness:
            async with lock_on(path) as lock:
                row = await harness.spawn("p", agent="a", goal="count")
                await agent.seen("SendStreamingMessage")
                lock.take()
                locked.set()
                await lock.give_back_when_met()
                row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.account) == (text, "")
            assert (await kinds(harness, row.id))[-1] == "Resolved"
        assert len(agent.calls("SendStreamingMessage")) == 1
        assert not agent.calls("ListTasks")


async def test_what_a_push_has_rung_for(tmp_path: Path) -> None:
    """I4, D3: what GetTask said after a doorbell that was answered is applied, before any backstop."""
    path = tmp_path / "locum.db"
    async with RawAgent(push=True) as agent:
        asks = T("INPUT_REQUIRED", "which?")
        agent.on("SendStreamingMessage", [EV(asks), EOF])
        agent.task = asks
        options = {"store": f"sqlite:///{path}", "standin": {"push_backstop": "1h"}}
        async with locum({"a": agent.url}, push=True, **options) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask")
            await until(harness, row.id, "INPUT_REQUIRED")
            async with lock_on(path) as lock:
                lock.take()
                done = T("COMPLETED", artifacts=[A("a", "12")], ts=LATER)
                agent.task = done
                assert (await agent.push(done)).status == 204
                await lock.give_back_when_met()
                assert (await until(harness, row.id, "COMPLETED")).text == "12"


async def test_a_cancel_meanwhile(tmp_path: Path) -> None:
    """I4, F2: who cancels while something heard cannot be recorded gets the end all the same."""
    path = tmp_path / "locum.db"
    async with RawAgent() as agent:
        locked = asyncio.Event()

        async def send(seen: Seen, reply: Reply) -> None:
            agent.put(T("WORKING"))
            await locked.wait()
            await reply.play([EV(agent.task), EOF])

        agent.on("SendStreamingMessage", send)
        async with (
            locum({"a": agent.url}, store=f"sqlite:///{path}") as harness,
            lock_on(path) as lock,
        ):
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage")
            lock.take()
            locked.set()
            cancel = asyncio.create_task(harness.cancel(row.id))
            await lock.give_back_when_met()
            assert (await cancel).state == "CANCELED"
