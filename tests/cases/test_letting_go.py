"""What is let go of when locum stops taking work, and what is left of a brief that never left."""

from typing import Any

import pytest

from tests.agents.frames import EV, HOLD, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
async def test_agents_are_let_go_of_at_once(binding: Any) -> None:
    """F4, D11: told to take no more work, locum hangs up on every agent within a second, before its
    end; the sub-task stays as it is.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            harness.stop_waiting()
            await agent.all_closed(timeout=1)
            assert await kinds(harness, row.id) == ["Created", "Linked"]


@both
async def test_a_cancel_of_a_brief_that_never_left(binding: Any) -> None:
    """F2, C7: a brief that the agent was too busy to read has surely not arrived: cancelled, it is
    looked for nowhere, and there is nothing left to confirm.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", (503, {"Retry-After": "2"}, b"later"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage", timeout=5)
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ())
            assert {seen.method for seen in agent.calls()} == {"SendStreamingMessage"}
