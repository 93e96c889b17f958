"""Answers that are only in the task's history, over real sockets."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, M, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

LATER = "2099-01-01T00:00:00Z"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
async def test_an_answer_that_is_only_in_the_history(binding: Any, state: Any) -> None:
    """E7, D12: an agent that files its last message in the history alone has answered in it."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [HOLD])
        agent.put(T(state, history=[M("out of paint", task="t1")], ts=LATER))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            assert (await until(harness, row.id, state)).text == "out of paint"
