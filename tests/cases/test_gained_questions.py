"""A question that is only in the artifacts, after a turn whose artifacts came late (D16)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_only_what_came_since_the_reply(binding: Any) -> None:
    """D16: what an artifact had by the reply is no part of the question that comes after it."""
    async with RawAgent(binding) as agent:

        async def answer(_: Seen, reply: Reply) -> None:
            asks = T("INPUT_REQUIRED", artifacts=[A("a", "Notes of turn 1. Which hall?")])
            agent.put(asks)
            await reply.play([EV(asks), EOF])

        agent.on("SendStreamingMessage", [EV(S("INPUT_REQUIRED", "which colour?")), EOF], answer)
        notes = [A("a", "Notes of turn 1. ")]
        agent.put(T("INPUT_REQUIRED", "which colour?", artifacts=notes))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            # The artifact comes after the question: with the looks at the quiet stream.
            await agent.seen("GetTask", 2, timeout=5)
            await harness.reply(row.id, "red")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.text == "Which hall?"
