"""Agents that say nothing by themselves: a stream without events, and no stream at all (D8)."""

from typing import Any

import pytest

from tests.agents.frames import COMMENT, EOF, EV, HOLD, WAIT, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"


@both
@pytest.mark.parametrize("noise", [[], [WAIT(0.1), COMMENT(" ping")] * 100], ids=["none", "pings"])
async def test_a_stream_without_events_leads_to_gettask(binding: Any, noise: Any) -> None:
    """D8: after `quiet_check` without an event the task is fetched, again and again; keep-alives are
    no events, and the stream stays open.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), *noise, HOLD])
        async with locum({"a": agent.url}, standin={"quiet_check": "300ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", count=2, timeout=5)
            (held,) = agent.calls("SubscribeToTask")
            assert not held.hung_up.is_set()
            agent.put(T("COMPLETED", artifacts=[A("a", "done")], ts=LATER))
            assert (await until(harness, row.id, "COMPLETED")).text == "done"
            assert len(agent.calls("SubscribeToTask")) == 1


@both
async def test_without_streams_it_is_asked_steadily(binding: Any) -> None:
    """D8: an agent without streaming is asked with GetTask at `follow_interval`, which does not grow
    while nothing changes, and not in between.
    """
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", T("WORKING"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            # At 0, 1, 2 and 3 s; growing, it would be at 0, 1, 3 and 7 s.
            looks = await agent.seen("GetTask", count=4, timeout=5.5)
            # Not how fast it is: that the agent is left alone in between is the rule.
            assert looks[3].at - looks[0].at >= 3 * 0.9
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=LATER)
            assert (await until(harness, row.id, "COMPLETED")).text == "done"
            assert not agent.calls("SubscribeToTask")
