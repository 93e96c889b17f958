"""What had surely not left when locum stopped in good order is sent after the restart, unlooked-for."""

import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from locum.adapters.store import Journal
from tests.agents.frames import HOLD, S
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until
from tests.loops import Timers

from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
BUSY = (503, {"Retry-After": "40"}, b"busy")
PATIENT = {"send_timeout": "60s"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The URL of a store in a file."""
    return f"sqlite:///{tmp_path / 'locum.db'}"


@pytest.fixture
async def retries(monkeypatch: pytest.MonkeyPatch) -> Timers:
    """The pauses that a busy agent asks for: it was heard that nothing was read."""
    return Timers(monkeypatch, 40)


@both
async def test_a_stop_while_the_agent_is_busy(binding: Any, store: str, retries: Timers) -> None:
    """F4, C7: the brief was refused with 503; after the restart it goes out, under the same id."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, BUSY)
        async with locum({"a": agent.url}, store=store, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await retries.one_more()
        agent.on(SEND)
        async with locum({"a": agent.url}, store=store) as harness:
            await until(harness, row.id, "WORKING")
        assert not agent.calls("ListTasks")
        assert len(agent.calls(SEND)) == 2
        assert len({seen.message["messageId"] for seen in agent.calls(SEND)}) == 1


@both
async def test_a_stop_while_nobody_is_there(binding: Any, store: str) -> None:
    """F4, C7: the connection was refused; after the restart the brief goes out."""
    async with RawAgent(binding) as agent:
        async with locum({"a": agent.url}, store=store) as harness:
            await agent.stop_listening()
            row = await harness.spawn("p", agent="a", goal="count")
        await agent.listen_again()
        async with locum({"a": agent.url}, store=store) as harness:
            await until(harness, row.id, "WORKING")
        assert not agent.calls("ListTasks")


@both
async def test_a_stop_while_it_waits_for_its_turn(binding: Any, store: str) -> None:
    """F4, J4: of two briefs one has left and one waits for a place: only the first is in doubt."""
    async with RawAgent(binding) as agent:
        table = {"url": agent.url, "max_calls": 1}
        agent.on(SEND, [HOLD])
        async with locum({"a": table}, store=store) as harness:
            first = await harness.spawn("p", agent="a", goal="count")
            await agent.seen(SEND)
            second = await harness.spawn("p", agent="a", goal="count again")
        agent.on(SEND)
        async with locum({"a": table}, store=store) as harness:
            await until(harness, second.id, "WORKING")
            row = await until(harness, first.id, "FAILED")
            assert "not known whether the brief arrived" in row.account


@both
async def test_a_stop_before_its_turn_has_come_again(
    binding: Any, store: str, retries: Timers
) -> None:
    """F4, I1: stopped again before all were taken up: none of them is forgotten."""
    async with RawAgent(binding) as agent:
        table = {"url": agent.url, "max_calls": 1}
        agent.on(SEND, BUSY)
        async with locum({"a": table}, store=store, standin=PATIENT) as harness:
            rows = [await harness.spawn("p", agent="a", goal=f"count {n}") for n in range(4)]
            for _ in rows:
                await retries.one_more()
        async with locum({"a": table}, store=store, standin=PATIENT):
            await retries.one_more()
        assert len(agent.calls(SEND)) < 2 * len(rows)
        agent.on(SEND)
        async with locum({"a": table}, store=store) as harness:
            for row in rows:
                await until(harness, row.id, "WORKING")
        assert not agent.calls("ListTasks")


@both
async def test_a_stop_while_a_reply_is_refused(binding: Any, store: str, retries: Timers) -> None:
    """F4, I3: a reply that was refused with 503 goes out after the restart, unlooked-for."""
    async with RawAgent(binding) as agent:
        async with locum({"a": agent.url}, store=store) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.tell(S("INPUT_REQUIRED", "which?"))
            await until(harness, row.id, "INPUT_REQUIRED")
            agent.on(SEND, BUSY)
            await harness.reply(row.id, "the red ones")
            await retries.one_more()
        agent.on(SEND)
        before = len(agent.calls())
        async with locum({"a": agent.url}, store=store) as harness:
            await agent.until(lambda: len(agent.calls()) > before, 5, "a call after the restart")
        assert agent.calls()[before].method == SEND


async def test_killed_after_it_was_taken_up(tmp_path: Path) -> None:
    """I2: taken up after an orderly stop and then killed, the brief is in doubt as any other."""
    async with RawAgent() as agent, AsyncExitStack() as stack:
        locum = LocumProcess(tmp_path, {"a": {"url": agent.url}})
        stack.push_async_callback(locum.close)
        await locum.start()
        await agent.stop_listening()
        async with httpx.AsyncClient(base_url=locum.base_url, trust_env=False) as http:
            body = {"agent": "a", "goal": "count"}
            answer = await http.post("/v1/parents/p/sub-tasks", json=body)
            assert answer.status_code == 201
        locum.send(signal.SIGTERM)
        assert await locum.ended() == 0

        await agent.listen_again()
        agent.on(SEND, BUSY)
        await locum.start()
        await agent.seen(SEND)
        assert not agent.calls("ListTasks")
        await locum.kill()

        await locum.start()
        await agent.seen("ListTasks", timeout=10)
        assert len(agent.calls(SEND)) == 1
        locum.send(signal.SIGTERM)
        assert await locum.ended() == 0
        async with Journal.open(f"sqlite:///{locum.store}") as journal:
            assert await journal.take_unsent() == {}
