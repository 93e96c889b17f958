"""An answer to the brief that is too large to be read: what is said of it (J3, case S7)."""

from typing import Any

import pytest

from tests.agents.frames import ERR, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_the_limit_that_an_answer_is_over_is_named(binding: Any) -> None:
    """J3, C7, I2: it is in doubt what the brief has become, and the account says by which limit."""
    limits = {"event_limit": "64KiB"}
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", T("COMPLETED", artifacts=[A("a", "x" * 100_000)]))
        agent.on("ListTasks", ERR(-32601, "Method not found"))
        async with locum({"a": agent.url}, standin=limits) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert row.state == "FAILED"
            assert "is over the limit of 65536 bytes" in row.account
            (note,), _ = await harness.notes("p")
            assert "is over the limit of 65536 bytes" in note.as_text()
