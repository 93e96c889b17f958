"""When GetTask's "not found" means that the task is gone, and when it does not yet (D10)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
ASKS = T("INPUT_REQUIRED", "which?", ts=LATER)
NOT_FOUND = ERR(-32001, "no such task")
PARKED = ["Created", "Linked", "Parked"]


async def _parked(harness: Any, agent: RawAgent) -> str:
    row = await harness.spawn("p", agent="a", goal="count")
    await harness.settled(row.id, timeout=10)
    await agent.seen("GetTask", timeout=5)
    return str(row.id)


async def _ring(agent: RawAgent) -> None:
    """A push that claims no state: it leads to one look."""
    looks = len(agent.calls("GetTask"))
    answer = await agent.push(A("a", "a beginning"), token=agent.push_configs[0]["token"])
    assert answer.status == 204
    await agent.seen("GetTask", count=looks + 1, timeout=5)


async def _end(harness: Any, agent: RawAgent, sub_task_id: str) -> None:
    """It was never taken for gone: how it ends is heard."""
    assert await kinds(harness, sub_task_id) == PARKED
    agent.on("GetTask", T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST))
    await _ring(agent)
    assert (await until(harness, sub_task_id, "COMPLETED")).text == "done"


@both
async def test_twice_at_once_is_once(binding: Any) -> None:
    """D10: the second "not found" counts from `follow_interval` after the first on, however often it
    is said before.
    """
    async with RawAgent(binding, push=True) as agent:
        agent.task = ASKS
        agent.on("SendStreamingMessage", [EV(ASKS), EOF])
        table = {"url": agent.url, "follow_interval": "60s"}
        async with locum({"a": table}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            agent.on("GetTask", NOT_FOUND)
            for _ in range(3):
                await _ring(agent)
            await _end(harness, agent, sub_task_id)


@both
async def test_an_answer_in_between_begins_anew(binding: Any) -> None:
    """D10: a task that GetTask has shown since the first "not found" is not gone at the next one."""
    async with RawAgent(binding, push=True) as agent:
        agent.task = ASKS
        agent.on("SendStreamingMessage", [EV(ASKS), EOF], [EV(T("WORKING", id="t2")), EOF])
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            agent.on("GetTask", NOT_FOUND)
            await _ring(agent)
            agent.on("GetTask", ASKS)
            await _ring(agent)
            agent.on("GetTask")
            # A deadline of more than `follow_interval` passes meanwhile.
            other = await harness.spawn("p", agent="a", goal="something else", timeout=1.2)
            await until(harness, other.id, "FAILED")
            agent.on("GetTask", NOT_FOUND)
            await _ring(agent)
            await _end(harness, agent, sub_task_id)
