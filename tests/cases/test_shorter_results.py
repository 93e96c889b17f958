"""A result that is shorter at the end than it was, over real sockets."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

LATER = "2099-01-01T00:00:00Z"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("shown, result", [("42 (draft)", "42"), ("42", "42 (draft)")])
async def test_a_result_that_became_shorter(binding: Any, shown: str, result: str) -> None:
    """D12: cut while no stream was open, it is short; of an agent whose GetTask has had less than
    the stream all along, nothing is lost.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(A("a", "42 (draft)")), EOF])
        agent.put(T("WORKING", artifacts=[A("a", shown)]))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", 2, timeout=10)
            agent.put(T("COMPLETED", artifacts=[A("a", "42")], ts=LATER))
            assert (await until(harness, row.id, "COMPLETED")).text == result
