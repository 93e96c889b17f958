"""`updates` was changed while locum was down: a parked task is watched as it is wanted now."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from locum.adapters import Harness
from locum.adapters.demo.processes import free_port
from tests.agents.frames import ERR, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

from .audit import faults

pytestmark = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CREATE = "CreateTaskPushNotificationConfig"
DELETE = "DeleteTaskPushNotificationConfig"


class Life:
    """A locum that is stopped and started again on one file and one port."""

    def __init__(self, folder: Path, agent: RawAgent) -> None:
        self.store = folder / "locum.db"
        self.agent = agent
        self.port = free_port()
        self.id = ""

    @asynccontextmanager
    async def with_updates(self, updates: str) -> AsyncIterator[Harness]:
        """It runs, with this setting; the first time a task of it asks."""
        table = {"url": self.agent.url, "updates": updates}
        options: dict[str, Any] = {"store": f"sqlite:///{self.store}", "push": True}
        async with locum({"a": table}, port=self.port, **options) as harness:
            if not self.id:
                row = await harness.spawn("p", agent="a", goal="count")
                self.id = row.id
                await self.agent.seen("SubscribeToTask")
                self.agent.tell(S("AUTH_REQUIRED", "log in"))
                await until(harness, self.id, "AUTH_REQUIRED")
            yield harness

    async def watched(self, harness: Harness, how: str | None) -> None:
        """Return once it is watched so."""
        with harness.changes(self.id) as changed:
            async with asyncio.timeout(10):
                while (await harness.sub_task(self.id)).watch != how:
                    await changed.wait()
                    changed.clear()

    async def ends(self, harness: Harness) -> None:
        """It ends, and its parent was told of one question."""
        row = await until(harness, self.id, "COMPLETED")
        assert row.text == "12"
        notes, _ = await harness.notes("p")
        assert [note.kind for note in notes] == ["authorization", "ended"]


@pytest.fixture
async def life(tmp_path: Path, binding: Any) -> AsyncIterator[Life]:
    """An agent that pushes, and a locum."""
    async with RawAgent(binding, push=True) as agent:
        life = Life(tmp_path, agent)
        yield life
        assert faults(life.store) == {}


@pytest.mark.parametrize("then", ["auto", "follow", "push"])
async def test_off_and_then_watched(life: Life, then: str) -> None:
    """D1, I1: it was not watched and is now: its end is heard."""
    agent = life.agent
    async with life.with_updates("off") as harness:
        await life.watched(harness, "off")
    agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    async with life.with_updates(then) as harness:
        await life.ends(harness)
    assert bool(agent.calls(CREATE)) == (then != "follow")


async def test_off_and_then_watched_by_an_agent_that_was_away(life: Life) -> None:
    """D1, A2: away at the start, it is watched when it is back."""
    agent = life.agent
    async with life.with_updates("off") as harness:
        await life.watched(harness, "off")
    agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    agent.on("AgentCard", (503, {}, b"away"))
    async with life.with_updates("follow") as harness:
        await agent.seen("AgentCard", count=3)
        agent.on("AgentCard")
        await life.ends(harness)


@pytest.mark.parametrize("first", ["follow", "auto"])
async def test_watched_and_then_off(life: Life, first: str) -> None:
    """D1, D9: it was watched and is no longer: nothing is asked of the agent but to forget us."""
    agent = life.agent
    async with life.with_updates(first) as harness:
        await life.watched(harness, "push" if first == "auto" else "follow")
        if first == "auto":
            await agent.seen(CREATE)
            await agent.seen("GetTask")
    before = len(agent.calls())
    async with life.with_updates("off") as harness:
        await life.watched(harness, "off")
        if first == "auto":
            await agent.until(lambda: not agent.push_configs, 10, "the config deleted")
    asked = {seen.method for seen in agent.calls()[before:]}
    assert asked <= {DELETE, "ListTaskPushNotificationConfigs"}


async def test_push_and_then_followed(life: Life) -> None:
    """D1, F1: its config is deleted, its token refused from the first, and a stream held open."""
    agent = life.agent
    async with life.with_updates("push") as harness:
        await life.watched(harness, "push")
        await agent.seen("GetTask")
    config = dict(agent.push_configs[-1])
    streams = len(agent.calls("SubscribeToTask"))
    async with life.with_updates("follow") as harness:
        await life.watched(harness, "follow")
        assert (await agent.push(T("WORKING"), config=config)).status == 401
        await agent.seen("SubscribeToTask", count=streams + 1, timeout=10)
        assert not agent.push_configs
        assert await kinds(harness, life.id) == [
            *("Created", "Linked", "Parked", "Parked", "PushRevoked")
        ]
        agent.complete("12")
        await life.ends(harness)


async def test_followed_and_then_push(life: Life) -> None:
    """D1, D2: a config is registered, and a push with its token wakes it."""
    agent = life.agent
    async with life.with_updates("follow") as harness:
        await life.watched(harness, "follow")
    async with life.with_updates("auto") as harness:
        await life.watched(harness, "push")
        await agent.seen(CREATE)
        await agent.seen("GetTask")
        agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
        assert (await agent.push()).status == 204
        await life.ends(harness)


async def test_a_registration_that_was_refused(life: Life) -> None:
    """D2: refused under this question, it is tried again when it is wanted anew, not at each start."""
    agent = life.agent
    agent.on(CREATE, ERR(-32003, "no pushes today"))
    async with life.with_updates("auto") as harness:
        await life.watched(harness, "follow")
    agent.on(CREATE)
    for _ in range(2):
        streams = len(agent.calls("SubscribeToTask"))
        async with life.with_updates("auto") as harness:
            await agent.seen("SubscribeToTask", count=streams + 1, timeout=10)
    assert len(agent.calls(CREATE)) == 1
    streams = len(agent.calls("SubscribeToTask"))
    async with life.with_updates("follow") as harness:
        await agent.seen("SubscribeToTask", count=streams + 1, timeout=10)
    async with life.with_updates("auto") as harness:
        await agent.seen(CREATE, count=2)
        agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
        await life.ends(harness)
