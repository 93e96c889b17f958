"""An agent whose GetTask hangs is heard on its stream all the same, over real sockets."""

from typing import Any

import pytest

from tests.agents.frames import EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
END = T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST)


@both
async def test_the_end_while_a_quiet_stream_is_checked(binding: Any) -> None:
    """D8, E1: GetTask hangs when the stream was quiet; the end that then comes on it is heard."""
    async with RawAgent(binding) as agent:
        agent.on("GetTask", [HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            (asked,) = await agent.seen("GetTask", timeout=5)
            agent.tell(END)
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
            # And the call that nobody waits for any more is hung up.
            await agent.until(asked.closed.is_set, timeout=5)


@both
@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
async def test_the_end_while_a_doubt_is_settled(binding: Any, method: str) -> None:
    """D8, D12: GetTask hangs over a change that it was to complete; the whole ended task comes
    after it on the same stream, with a chunk that it does not have.
    """
    async with RawAgent(binding) as agent:
        agent.on("GetTask", [HOLD])
        first = "SUBMITTED" if method == "SendStreamingMessage" else "WORKING"
        agent.on("SendStreamingMessage", [EV(T(first)), HOLD])
        agent.on(
            method,
            [
                EV(T(first)),
                EV(S("INPUT_REQUIRED", ts=LATER)),
                EV(A("a", "done, and more")),
                EV(END),
                HOLD,
            ],
        )
        async with locum({"a": agent.url}, standin={"quiet_check": "60s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done, and more"
