"""A second locum on the same store waits for the first to stop, and else leaves it alone."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from locum.adapters.store import Journal
from locum.adapters.store.owner import owned
from locum.core.errors import StoreError
from tests.agents.frames import EV, HOLD, T
from tests.agents.raw import RawAgent
from tests.stores import logged

from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)
SEND = "SendStreamingMessage"


class Pair:
    """Two servers with one store and one agent."""

    def __init__(self, folder: Path, agent: RawAgent, wait: str) -> None:
        agents = {"a": {"url": agent.url}}
        self.agent = agent
        self.one = LocumProcess(_made(folder / "one"), agents)
        store = {"url": f"sqlite:///{self.one.store}", "owner_wait": wait}
        self.two = LocumProcess(_made(folder / "two"), agents, store=store)

    async def spawn(self) -> str:
        """Hand out work to the first one; its id."""
        async with httpx.AsyncClient(base_url=self.one.base_url, trust_env=False) as http:
            body = {"agent": "a", "goal": "count"}
            answer = await http.post("/v1/parents/p/sub-tasks", json=body)
            return str(answer.json()["id"])

    async def row(self, locum: LocumProcess, key: str, state: str) -> dict[str, Any]:
        """The row as one of them shows it, once it is in the state."""
        async with (
            asyncio.timeout(20),
            httpx.AsyncClient(base_url=locum.base_url, trust_env=False) as http,
        ):
            while True:
                row = dict((await http.get(f"/v1/sub-tasks/{key}")).json())
                if row["state"] == state:
                    return row
                await asyncio.sleep(0.05)

    async def second_waits(self) -> None:
        """Start the second one; return when it says that it waits."""
        await self.two.start(ready=False)
        async with asyncio.timeout(45):
            while "waiting up to" not in self.two.log.read_text():
                await asyncio.sleep(0.05)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def agent(request: pytest.FixtureRequest) -> AsyncIterator[RawAgent]:
    """An agent that has taken a brief and not said so yet, until `task` is set."""
    async with RawAgent(request.param) as agent:
        agent.on(SEND, [HOLD])
        yield agent


async def test_a_second_server_leaves_a_send_under_way_alone(
    tmp_path: Path, agent: RawAgent
) -> None:
    """I2, C7: what one process is sending is no doubt of another's: that one refuses to start."""
    answer = asyncio.Event()
    agent.on(SEND, [answer, EV(T("WORKING")), HOLD])
    pair = Pair(tmp_path, agent, "500ms")
    async with AsyncExitStack() as stack:
        for locum in (pair.one, pair.two):
            stack.push_async_callback(locum.close)
        await pair.one.start()
        key = await pair.spawn()
        await agent.seen(SEND)
        before = logged(pair.one.store)

        await pair.two.start(ready=False)
        assert await pair.two.ended(45) == 1
        said = pair.two.log.read_text()
        assert "store.in_use" in said
        assert f"in use by process {pair.one.pid} on " in said
        assert logged(pair.one.store) == before
        assert not agent.calls("ListTasks")

        answer.set()
        await pair.row(pair.one, key, "WORKING")
        assert len(agent.calls(SEND)) == 1


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL], ids=lambda sign: sign.name)
async def test_a_second_server_takes_over(
    tmp_path: Path, agent: RawAgent, sign: signal.Signals
) -> None:
    """I1, F4: it waits for the first one to stop or die, and takes up what that one has left."""
    agent.on(SEND)
    pair = Pair(tmp_path, agent, "60s")
    async with AsyncExitStack() as stack:
        for locum in (pair.one, pair.two):
            stack.push_async_callback(locum.close)
        await pair.one.start()
        key = await pair.spawn()
        await pair.row(pair.one, key, "WORKING")
        await pair.second_waits()
        pair.one.send(sign)
        await pair.two.until_ready()
        agent.complete("12")
        assert (await pair.row(pair.two, key, "COMPLETED"))["text"] == "12"
        assert len(agent.calls(SEND)) == 1


async def test_a_server_that_waits_can_be_stopped(tmp_path: Path, agent: RawAgent) -> None:
    """F4: told to stop while it waits for another, it does."""
    pair = Pair(tmp_path, agent, "60s")
    async with AsyncExitStack() as stack:
        for locum in (pair.one, pair.two):
            stack.push_async_callback(locum.close)
        await pair.one.start()
        await pair.second_waits()
        pair.two.send(signal.SIGTERM)
        assert await pair.two.ended() == 0


async def test_readers_need_no_lock(tmp_path: Path) -> None:
    """I2: who reads a store, or makes its projections again, does so while it is worked."""
    url = f"sqlite:///{tmp_path / 'locum.db'}"
    async with owned(url, wait=0), Journal.open(url) as journal:
        assert await journal.rebuild() == 0


async def test_a_store_has_one_lock_by_whatever_name(tmp_path: Path) -> None:
    """I2: a link to a store is that store; one in memory is nobody else's, and needs no lock."""
    (tmp_path / "link.db").symlink_to(tmp_path / "locum.db")
    async with owned(f"sqlite:///{tmp_path / 'locum.db'}", wait=0):
        with pytest.raises(StoreError) as caught:
            async with owned(f"sqlite:///{tmp_path / 'link.db'}", wait=0):
                pass
    assert caught.value.code == "store.in_use"
    async with owned(f"sqlite:///{tmp_path / 'link.db'}", wait=0):
        pass
    async with owned("sqlite:///:memory:", wait=0), owned("sqlite:///:memory:", wait=0):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"link.db", "locum.db-owner"}


async def test_many_that_want_a_store_have_it_one_after_the_other(tmp_path: Path) -> None:
    """I2: at no time do two have it."""
    url = f"sqlite:///{tmp_path / 'locum.db'}"
    holders = 0

    async def hold() -> None:
        nonlocal holders
        async with owned(url, wait=60):
            holders += 1
            assert holders == 1
            await asyncio.sleep(0)
            holders -= 1

    await asyncio.gather(*(hold() for _ in range(8)))
