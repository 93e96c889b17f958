"""An agent that pushes all the time: however often it rings, there is one look and one after it."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

STORM = 60


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_many_pushes_lead_to_few_looks(binding: Any) -> None:
    """D3, J4: pushes that come while a look is under way lead to one more look, not to one each."""
    asking = T("INPUT_REQUIRED", "which?")
    may_answer = asyncio.Event()

    async with RawAgent(binding, push=True) as agent:
        agent.put(asking)
        agent.on("SendStreamingMessage", [EV(asking), EOF])
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await agent.seen("GetTask")
            await agent.all_closed()
            before = len(agent.calls("GetTask"))
            agent.on("GetTask", [may_answer, asking])
            assert (await agent.push(asking)).status == 204
            await agent.seen("GetTask", count=before + 1)
            answers = await asyncio.gather(*(agent.push(asking) for _ in range(STORM)))
            assert {answer.status for answer in answers} == {204}
            agent.on("GetTask")
            agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
            may_answer.set()
            await until(harness, row.id, "COMPLETED")
            assert len(agent.calls("GetTask")) == before + 2
