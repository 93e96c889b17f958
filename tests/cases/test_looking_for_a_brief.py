"""What an agent is asked when a brief is looked for: since when, in which context, how much (I2)."""

from datetime import datetime
from typing import Any

import pytest

from tests.agents.frames import CUT, EOF, ERR, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"


@both
async def test_it_is_looked_for_since_it_was_recorded(binding: Any) -> None:
    """I2: the agent lists what has had news since the creation, give or take its clock, with the
    history; no context is named where the brief had none.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [CUT])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            (asked, *_) = await agent.seen("ListTasks", timeout=5)
            since = datetime.fromisoformat(asked.params["statusTimestampAfter"])
            created = datetime.fromisoformat(row.created_at)
            assert 0 < (created - since).total_seconds() <= 600
            assert int(asked.params["historyLength"]) > 0
            assert not asked.params.get("contextId")


@both
async def test_a_follow_up_is_looked_for_in_its_context(binding: Any) -> None:
    """I2, C14: a brief that carried a context is looked for in it."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("COMPLETED", artifacts=[A("a", "done")], ts=LATER)), EOF],
            [CUT],
        )
        async with locum({"a": agent.url}) as harness:
            first = await harness.spawn("p", agent="a", goal="count")
            first = await until(harness, first.id, "COMPLETED")
            await harness.spawn("p", agent="a", goal="once more", follows=first.id)
            (asked, *_) = await agent.seen("ListTasks", timeout=5)
            assert asked.params["contextId"] == first.context_id == "c1"


@both
@pytest.mark.parametrize("status", [500, 502])
async def test_what_the_agent_said_of_a_brief_in_doubt(binding: Any, status: int) -> None:
    """E7, C7: its words about the brief are the reason, and not those about being asked for it."""
    async with RawAgent(binding) as agent:
        broken = (status, {"content-type": "text/plain"}, b"Database down, disk full")
        agent.on("SendStreamingMessage", broken)
        agent.on("ListTasks", ERR(-32601, "no such method"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert row.text == "Database down, disk full"
            assert "could not be asked for it" in row.account
            (note,), _ = await harness.notes("p")
            assert "no such method" not in note.as_text()
