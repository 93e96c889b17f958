"""The places that an agent has: a stream that comes to nothing gives its own back (J4)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, RST, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
@pytest.mark.parametrize(
    "trouble",
    [
        [RST],
        ERR(-32603, "no"),
        (503, {}, b"later"),
        [EV(T("WORKING")), RST],
        [EV(T("WORKING")), EOF],
    ],
    ids=["reset", "an error", "busy", "broken", "ended"],
)
async def test_a_stream_that_failed_leaves_its_place(binding: Any, trouble: Any) -> None:
    """J4: with one place for streams the next one is opened, whatever became of the last."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", trouble, trouble, [EV(T("WORKING")), HOLD])
        table = {"url": agent.url, "max_streams": 1}
        async with locum({"a": table}, limits={"queue_timeout": "60s"}) as harness:
            await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=3, timeout=10)
