"""Ends that are heard live, and a GetTask that does not know of them (K5, D7)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
FIRST = "2099-01-01T00:00:01Z"
END = "2099-01-01T00:00:02Z"
LATER = "2099-01-01T00:00:03Z"


@both
async def test_gettask_that_stamps_the_present_and_lags(binding: Any) -> None:
    """K5, D12: an end that was heard live is one, though GetTask says WORKING with a newer time."""
    async with RawAgent(binding) as agent:

        async def look(seen: Seen, reply: Reply) -> None:
            await reply.json(T("WORKING"))

        agent.on("GetTask", look)
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        ends = [EV(A("a", "one")), EV(S("COMPLETED")), EOF]
        agent.on("SubscribeToTask", [EV(T("WORKING")), *ends], ERR(-32004, "it is over"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "one"
            assert len(agent.calls("SubscribeToTask")) == 1


@both
async def test_a_stream_that_goes_on_after_the_end(binding: Any) -> None:
    """K5: what an agent says after the end changes nothing, on the stream or to GetTask."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FIRST)), EOF])
        agent.put(T("WORKING", ts=LATER))
        after = [EV(S("WORKING", "again", LATER)), EV(A("b", "late")), HOLD]
        ends = [EV(A("a", "one")), EV(S("COMPLETED", None, END))]
        agent.on("SubscribeToTask", [EV(T("WORKING", ts=FIRST)), *ends, *after])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "one"
            await agent.all_closed()


@both
async def test_an_end_that_may_be_replayed(binding: Any) -> None:
    """D7, K5: before its snapshot a stream may replay anything: there a newer GetTask decides."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FIRST)), EOF])
        agent.put(T("WORKING", ts=LATER))
        agent.on("SubscribeToTask", [EV(S("FAILED", "an old try", END)), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            assert await kinds(harness, row.id) == ["Created", "Linked"]
            agent.put(T("COMPLETED", "done", ts=LATER))
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"


@both
async def test_an_end_of_another_task(binding: Any) -> None:
    """K3, K5: another task's end on the stream is not the end of this one."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FIRST)), EOF])
        agent.put(T("WORKING", ts=LATER))
        others = EV(S("COMPLETED", "another's", END, task="t2"))
        agent.on("SubscribeToTask", [EV(T("WORKING", ts=FIRST)), others, HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            assert await kinds(harness, row.id) == ["Created", "Linked"]
            agent.put(T("COMPLETED", "done", ts=LATER))
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
