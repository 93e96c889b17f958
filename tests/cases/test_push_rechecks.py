"""How often the task is fetched after a push: until GetTask shows what was pushed, and no more (D4)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
LOOKED = ["Created", "Linked", "Parked"]


async def _parked(harness: Any, agent: RawAgent) -> str:
    row = await harness.spawn("p", agent="a", goal="count")
    await harness.settled(row.id, timeout=10)
    await agent.seen("GetTask", timeout=5)
    return str(row.id)


async def _a_while(harness: Any, agent: RawAgent) -> None:
    """Come back when there was time for more looks than there may be: a deadline has passed."""
    agent.on("SendStreamingMessage", [EV(T("WORKING", id="t2")), EOF])
    row = await harness.spawn("p", agent="a", goal="something else", timeout=1)
    await until(harness, row.id, "FAILED")


def _looks(agent: RawAgent) -> int:
    return len([seen for seen in agent.calls("GetTask") if seen.task_id == "t1"])


@both
async def test_gettask_that_never_shows_it(binding: Any) -> None:
    """D4: after the look that the push led to and three more, whatever was pushed is left at that."""
    async with RawAgent(binding, push=True) as agent:
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(agent.task), EOF])
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _parked(harness, agent)
            before = _looks(agent)
            token = agent.push_configs[-1]["token"]
            await agent.push(S("COMPLETED", ts=LATEST), token=token)
            await agent.seen("GetTask", count=before + 4, timeout=5)
            await _a_while(harness, agent)
            assert _looks(agent) == before + 4
            assert await kinds(harness, sub_task_id) == LOOKED
            # It is still watched: another push rings like the first.
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)
            await agent.push(S("COMPLETED", ts=LATEST), token=token)
            assert (await until(harness, sub_task_id, "COMPLETED")).text == "done"


@both
@pytest.mark.parametrize("claim", [S("INPUT_REQUIRED", "which?", ts=LATER), A("a", "a beginning")])
async def test_gettask_that_shows_it_at_once(binding: Any, claim: Any) -> None:
    """D4: GetTask shows the state that was pushed, or none was: one look."""
    async with RawAgent(binding, push=True) as agent:
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(agent.task), EOF])
        async with locum({"a": agent.url}, push=True) as harness:
            await _parked(harness, agent)
            before = _looks(agent)
            await agent.push(claim, token=agent.push_configs[-1]["token"])
            await agent.seen("GetTask", count=before + 1, timeout=5)
            await _a_while(harness, agent)
            assert _looks(agent) == before + 1
