"""A doorbell is answered although GetTask fails: the look is taken later (D2, D3, D8)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, M, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
ENDED = T("COMPLETED", "done", ts="2099-01-02T00:00:00Z")
BUSY = (503, {}, b"busy")


def agent_for(binding: Any) -> RawAgent:
    """An agent that parks at once and takes a push config."""
    agent = RawAgent(binding, push=True)
    asked = T("AUTH_REQUIRED", "Log in", ts="2099-01-01T00:00:00Z")
    agent.on("SendStreamingMessage", [EV(asked), EOF])
    agent.put(asked)
    return agent


async def parked(harness: Any, agent: RawAgent) -> str:
    """The id of a sub-task that waits for a push, once it was looked at."""
    row = await harness.spawn("p", agent="a", goal="count")
    await until(harness, row.id, "AUTH_REQUIRED")
    await agent.seen("GetTask", timeout=5)
    return str(row.id)


@both
@pytest.mark.parametrize("rung, failures", [(M("look", task="t1"), 2), (S("COMPLETED"), 5)])
async def test_a_doorbell_that_gettask_fails_to_answer(
    binding: Any, rung: Any, failures: int
) -> None:
    """D3: when GetTask fails, the look is taken again until it is answered, whatever was pushed."""
    async with agent_for(binding) as agent, locum({"a": agent.url}, push=True) as harness:
        sub_task_id = await parked(harness, agent)
        agent.on("GetTask", *[[BUSY]] * failures, [ENDED])
        await agent.push(rung, token=agent.push_configs[-1]["token"])
        row = await until(harness, sub_task_id, "COMPLETED", timeout=20)
        (last,) = (await harness.events(sub_task_id))[3:4]
        assert (row.text, last["type"], last["cause"]) == ("done", "Resolved", "push")


@both
async def test_the_look_after_registering_that_fails(binding: Any) -> None:
    """D2: the look that belongs to a registration is taken again, too."""
    async with agent_for(binding) as agent, locum({"a": agent.url}, push=True) as harness:
        agent.on("GetTask", [BUSY], [ENDED])
        row = await harness.spawn("p", agent="a", goal="count")
        row = await until(harness, row.id, "COMPLETED")
        assert len(agent.calls("GetTask")) == 2


async def test_retry_after_is_waited_for() -> None:
    """D3, D6: an agent that says when to come back is not asked before."""
    async with agent_for("JSONRPC") as agent, locum({"a": agent.url}, push=True) as harness:
        sub_task_id = await parked(harness, agent)
        agent.on("GetTask", [(429, {"retry-after": "2"}, b"slow")], [ENDED])
        before = len(agent.calls("GetTask"))
        await agent.push(S("COMPLETED", ts=None), token=agent.push_configs[-1]["token"])
        await until(harness, sub_task_id, "COMPLETED")
        first, second = agent.calls("GetTask")[before:]
        assert second.at - first.at >= 2


@both
async def test_a_reply_and_a_cancel_while_gettask_fails(binding: Any) -> None:
    """D3, C12, F2: neither waits for a look that is still to be taken."""
    async with agent_for(binding) as agent, locum({"a": agent.url}, push=True) as harness:
        sub_task_id = await parked(harness, agent)
        agent.on("GetTask", [(503, {"retry-after": "600"}, b"busy")])
        before = len(agent.calls("GetTask"))
        await agent.push(S("COMPLETED", ts=None), token=agent.push_configs[-1]["token"])
        await agent.seen("GetTask", count=before + 1)
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        await harness.reply(sub_task_id, "here")
        await agent.seen("SendStreamingMessage", count=2)
        await harness.cancel(sub_task_id)
        await until(harness, sub_task_id, "CANCELED")


async def test_an_agent_without_gettask_is_left_to_ring() -> None:
    """D3: one that refuses GetTask altogether is not asked over and over."""
    async with agent_for("JSONRPC") as agent, locum({"a": agent.url}, push=True) as harness:
        agent.on("GetTask", ERR(-32601, "no such method"))
        sub_task_id = await parked(harness, agent)
        agent.on("SendStreamingMessage", [EV(T("WORKING", id="t2")), EOF])
        other = await harness.spawn("p", agent="a", goal="something else", timeout=3)
        await until(harness, other.id, "FAILED")
        assert len([seen for seen in agent.calls("GetTask") if seen.task_id == "t1"]) == 1
        assert (await harness.sub_task(sub_task_id)).watch == "push"
