"""An agent that takes one call at a time (`max_calls`): what must not wait for what."""

from typing import Any

import pytest

from tests.agents.frames import HOLD, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum

pytestmark = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


async def test_a_cancel_that_hangs_holds_up_no_look(binding: Any) -> None:
    """F2, J4: CancelTask is not answered; the end is found by GetTask beside it all the same."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", [HOLD])
        async with locum({"a": {"url": agent.url, "max_calls": 1}}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "12")
            assert len(agent.calls("CancelTask")) == 1
