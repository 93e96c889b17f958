"""What an agent had brought when this side ended its work, and it said no more than that (E7)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum

ROWS = A("a", "rows 1-500 counted")


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("listed", [[ROWS], []], ids=["listed", "not listed"])
@pytest.mark.parametrize("timeout", [1.0, None], ids=["deadline", "cancel"])
async def test_what_was_brought_is_no_reason(
    binding: Any, listed: list[Any], timeout: float | None
) -> None:
    """E7, C11, F2: the agent confirms the stop without a word: the model is told that it gave no
    reason, and what it had brought by then.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("SUBMITTED")), EV(ROWS), EV(T("WORKING")), EOF])
        agent.put(T("WORKING", artifacts=listed))
        agent.on("CancelTask", T("CANCELED", artifacts=listed))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=timeout)
            row = await harness.linked(row.id, timeout=10)
            if timeout is None:
                await harness.cancel(row.id, "not needed")
            row = await harness.settled(row.id, timeout=10)
            assert (row.state, row.said) == ("FAILED" if timeout else "CANCELED", "")
            assert [part.text for one in row.artifacts for part in one.parts] == [
                "rows 1-500 counted"
            ]
            (note,), _ = await harness.notes("p")
            assert "The agent gave no reason." in note.as_text()
            assert "What it had brought by then" in note.as_text()
