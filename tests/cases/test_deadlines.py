"""Deadlines of sub-tasks that nothing else wakes, and of work that was done in time (C11)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import EOF, EV, HOLD, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, settings_for, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


@both
@pytest.mark.parametrize("updates", ["off", "push"])
async def test_a_parked_sub_task_after_a_restart(
    binding: Any, updates: str, tmp_path: Path
) -> None:
    """C11: parked, with nothing but a push or a reply to wake it, and started again: its deadline is
    kept.
    """
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding, push=True) as agent:
        agent.task = asks = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(asks), EOF])
        table = {"a": {"url": agent.url, "updates": updates}}
        async with locum(table, push=True, store=store) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3)
            await harness.settled(row.id, timeout=10)
        async with locum(table, push=True, store=store) as harness:
            row = await until(harness, row.id, "FAILED")
            assert (await harness.sub_task(row.id)).account.startswith("The deadline ")
            assert len(agent.calls("CancelTask")) == 1


@both
async def test_what_was_done_in_time(binding: Any) -> None:
    """C11, F2: the agent says at the deadline that it had completed the task: that is the end of it."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
        agent.on("CancelTask", T("COMPLETED", artifacts=[A("a", "done")], ts=LATEST))
        async with locum({"a": agent.url}, standin={"quiet_check": "60s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=1)
            row = await until(harness, row.id, "COMPLETED", "FAILED")
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_a_clock_that_jumps_past_it(binding: Any) -> None:
    """C11: the computer slept, or its clock was set: a deadline that has passed is seen soon, though
    the event loop's own time knows nothing of it.
    """
    slept = timedelta(0)
    async with RawAgent(binding) as agent:
        agent.task = asks = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(asks), EOF])
        settings = settings_for({"a": {"url": agent.url, "updates": "off"}})
        async with Harness(settings, clock=lambda: datetime.now(UTC) + slept) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3600)
            await harness.settled(row.id, timeout=10)
            slept = timedelta(hours=8)
            row = await until(harness, row.id, "FAILED", timeout=20)
            assert row.account.startswith("The deadline ")
