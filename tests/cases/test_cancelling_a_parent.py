"""Cancelling a parent's work: who wanted it and why is in each sub-task's record (F5)."""

from typing import Any

import pytest

from tests.agents.raw import RawAgent
from tests.integration.support import locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
async def test_each_end_says_who_and_why(binding: Any) -> None:
    """F5: each of the sub-tasks ends with the reason, the actor and the correlation id of the one
    cancel; one CancelTask goes out for each.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        rows = [await harness.spawn("p", agent="a", goal=f"count {i}") for i in range(3)]
        linked = [await harness.linked(row.id, timeout=5) for row in rows]
        await harness.cancel_parent("p", "not needed", actor="planner", correlation_id="k1")
        for row in rows:
            end = next(e for e in await harness.events(row.id) if e["type"] == "Resolved")
            assert (end["state"], end["reason"], end["actor"]) == (
                "CANCELED",
                "not needed",
                "planner",
            )
            assert end["correlation_id"] == "k1"
        cancelled = [seen.task_id for seen in agent.calls("CancelTask")]
        assert sorted(cancelled) == sorted(row.remote_task_id for row in linked)
