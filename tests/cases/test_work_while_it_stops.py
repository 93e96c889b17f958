"""Work that is handed to a harness of one's own as it stops (F4)."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from locum.adapters import Harness
from locum.core.errors import ServerError
from tests.agents.frames import S
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, settings_for, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"


@both
async def test_what_is_asked_for_after_the_stop(binding: Any) -> None:
    """F4: from the stop on, spawn and reply are refused, and nothing of them is recorded."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        agent.tell(S("INPUT_REQUIRED", "which?"))
        await until(harness, row.id, "INPUT_REQUIRED")
        before = await kinds(harness, row.id)
        harness.stop_waiting()
        with pytest.raises(ServerError) as spawned:
            await harness.spawn("p", agent="a", goal="count", idempotency_key="k")
        with pytest.raises(ServerError) as replied:
            await harness.reply(row.id, "the red ones")
        assert spawned.value.code == replied.value.code == "server.stopping"
        assert [one.id for one in await harness.rows("p")] == [row.id]
        assert await kinds(harness, row.id) == before


async def test_what_waits_for_a_card_as_it_stops() -> None:
    """F4, A2: a spawn that was asked for before the stop, and would be recorded after it."""
    stopped = asyncio.Event()

    async def slowly(seen: Seen, reply: Reply) -> None:
        await reply.wait(stopped)
        await reply.respond(200, [("content-type", "application/json")], json.dumps(agent.card))

    async with RawAgent() as agent:
        agent.on("AgentCard", (503, {}, b"soon"), slowly)
        async with locum({"a": agent.url}) as harness:
            spawning = asyncio.create_task(harness.spawn("p", agent="a", goal="count"))
            await agent.seen("AgentCard", 2)
            harness.stop_waiting()
            stopped.set()
            with pytest.raises(ServerError) as refused:
                await spawning
            assert refused.value.code == "server.stopping"
            assert await harness.rows("p") == []


@asynccontextmanager
async def left_while_the_store_is_busy(store: Path, harness: Harness) -> AsyncIterator[None]:
    """What is asked for in the context is recorded only after all loops of the harness have ended."""
    (supervisor,) = (one for one in asyncio.all_tasks() if one.get_name() == "locum-supervisor")
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield
        leaving = asyncio.create_task(harness.__aexit__(None, None, None))
        await asyncio.wait({supervisor})
        assert not leaving.done()
        writer.execute("ROLLBACK")
    await leaving


@both
async def test_a_brief_of_the_last_moment(binding: Any, tmp_path: Path) -> None:
    """F4: asked for just before the stop and recorded after it, it has surely not left: after the
    restart it goes out, unlooked-for.
    """
    store = tmp_path / "locum.db"
    async with RawAgent(binding) as agent:
        harness = Harness(settings_for({"a": agent.url}, store=f"sqlite:///{store}"))
        await harness.__aenter__()
        async with left_while_the_store_is_busy(store, harness):
            spawning = [
                asyncio.create_task(harness.spawn("p", agent="a", goal=f"count {n}"))
                for n in range(3)
            ]
            await asyncio.sleep(0)  # each has asked
        rows = await asyncio.gather(*spawning)
        assert not agent.calls(SEND)
        async with locum({"a": agent.url}, store=f"sqlite:///{store}") as harness:
            for row in rows:
                await until(harness, row.id, "WORKING")
        assert not agent.calls("ListTasks")


@both
async def test_a_reply_of_the_last_moment(binding: Any, tmp_path: Path) -> None:
    """F4, I3: so does a reply."""
    store = tmp_path / "locum.db"
    async with RawAgent(binding) as agent:
        harness = Harness(settings_for({"a": agent.url}, store=f"sqlite:///{store}"))
        await harness.__aenter__()
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        agent.tell(S("INPUT_REQUIRED", "which?"))
        await until(harness, row.id, "INPUT_REQUIRED")
        async with left_while_the_store_is_busy(store, harness):
            replying = asyncio.create_task(harness.reply(row.id, "the red ones"))
            await asyncio.sleep(0)  # it has asked
        await replying
        before = len(agent.calls())
        async with locum({"a": agent.url}, store=f"sqlite:///{store}") as harness:
            await agent.until(lambda: len(agent.calls()) > before, 5, "a call after the restart")
        assert agent.calls()[before].method == SEND
