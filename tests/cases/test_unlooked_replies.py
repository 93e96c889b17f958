"""A reply in doubt, and an agent that refuses to be asked for it (I3)."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, RST, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
ASKS = T("INPUT_REQUIRED", "which?", ts=LATER)
WARMING = ERR(-32603, "warming up")
EXPIRED = (401, {}, b"expired")


async def _asking(agent: RawAgent, harness: Any) -> str:
    agent.put(ASKS)
    agent.on(SEND, [EV(ASKS), EOF], [RST], [EV(T("WORKING", ts=LATEST)), EOF])
    agent.on("SubscribeToTask", [EV(ASKS), HOLD])
    row = await harness.spawn("p", agent="a", goal="count")
    await until(harness, row.id, "INPUT_REQUIRED")
    await agent.seen("SubscribeToTask")
    return str(row.id)


@both
@pytest.mark.parametrize("refusal", [WARMING, EXPIRED], ids=["failing", "unauthorised"])
async def test_it_is_looked_for_until_gettask_answers(binding: Any, refusal: Any) -> None:
    """I3: GetTask is refused many times and then works: the reply is not there and still asked for,
    so that it goes out again under its id; its question is not asked of anybody again.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        sub_task_id = await _asking(agent, harness)
        agent.on("SubscribeToTask", refusal)
        agent.on("GetTask", *[refusal] * 6, ASKS)
        await harness.reply(sub_task_id, "the red ones")
        _, lost, again = await agent.seen(SEND, count=3, timeout=15)
        assert lost.message["messageId"] == again.message["messageId"]
        assert len(agent.calls("GetTask")) >= 7
        notes, _ = await harness.notes("p")
        assert [note.kind for note in notes] == ["question"]


@both
async def test_the_stream_tells_where_gettask_is_refused(binding: Any) -> None:
    """I3, D8: GetTask is refused for ever; what the stream begins with shows that the task still
    asks, without the reply: it goes out again under its id.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        sub_task_id = await _asking(agent, harness)
        agent.on("GetTask", ERR(-32601, "no such method"))
        agent.on("ListTasks", ERR(-32601, "no lists"))
        await harness.reply(sub_task_id, "the red ones")
        _, lost, again = await agent.seen(SEND, count=3, timeout=15)
        assert lost.message["messageId"] == again.message["messageId"]


@both
async def test_the_stream_tells_that_it_went_on(binding: Any) -> None:
    """I3: the stream shows another question: the reply has arrived, and is not sent again."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        sub_task_id = await _asking(agent, harness)
        agent.on("GetTask", ERR(-32601, "no such method"))
        other = T("INPUT_REQUIRED", "how many?", ts=LATEST)
        agent.on("SubscribeToTask", [EV(other), HOLD])
        await harness.reply(sub_task_id, "the red ones")
        row = await until(harness, sub_task_id, "INPUT_REQUIRED", timeout=15)
        assert row.text == "how many?"
        assert len(agent.calls(SEND)) == 2


@both
async def test_a_task_that_is_gone_takes_no_reply(binding: Any) -> None:
    """I3, D10: GetTask does not know the task, and goes on not knowing it: it is gone."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        sub_task_id = await _asking(agent, harness)
        agent.on("GetTask", ERR(-32001, "which task?"))
        agent.on("SubscribeToTask", ERR(-32001, "which task?"))
        await harness.reply(sub_task_id, "the red ones")
        await until(harness, sub_task_id, "FAILED", timeout=15)
        last = [e for e in await harness.events(sub_task_id) if e["type"] == "Resolved"]
        assert [event["code"] for event in last] == ["remote.gone"]


@both
async def test_an_agent_that_stays_closed(binding: Any) -> None:
    """I3, E7: unauthorised for as long as a stream may be quiet, and not a word on the stream."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        sub_task_id = await _asking(agent, harness)
        agent.on("GetTask", EXPIRED)
        agent.on("SubscribeToTask", EXPIRED)
        await harness.reply(sub_task_id, "the red ones")
        row = await until(harness, sub_task_id, "FAILED", timeout=15)
        assert row.account == "The agent refuses to be asked how the task stands."


async def test_a_restart_does_not_make_it_surer(tmp_path: Path) -> None:
    """I3, I1: the next process finds GetTask refused, and then the question open: the reply goes
    out under its id, and the task goes on.
    """
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent() as agent:
        async with locum({"a": agent.url}, store=store) as harness:
            sub_task_id = await _asking(agent, harness)
            agent.on(SEND, [HOLD])
            await harness.reply(sub_task_id, "the red ones")
            await agent.seen(SEND, count=2)
        agent.on("SubscribeToTask", WARMING)
        agent.on("GetTask", *[WARMING] * 5, ASKS)
        done = T("COMPLETED", artifacts=[A("a", "12")], ts=LATEST)
        agent.on(SEND, [EV(S("WORKING", ts=LATEST)), EV(done), EOF])
        async with locum({"a": agent.url}, store=store) as harness:
            row = await until(harness, sub_task_id, "COMPLETED", timeout=15)
            assert row.text == "12"
            sent = agent.calls(SEND)[1:]
            assert len({seen.message["messageId"] for seen in sent}) == 1
