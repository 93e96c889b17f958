"""Whom the calls about a remote task name: who delegated it, whatever is configured by now (C9)."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
ABOUT_A_TASK = {
    "SendStreamingMessage",
    "SubscribeToTask",
    "GetTask",
    "CancelTask",
    "CreateTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
}


@both
async def test_every_call_names_who_delegated(binding: Any, tmp_path: Path) -> None:
    """C9: from the brief to the deletion of the push config, each call bears the id that the task
    was delegated as, though locum was started again with another one.
    """
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    asks = T("INPUT_REQUIRED", "which?", ts=LATER)
    async with RawAgent(binding, push=True) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING")), EOF],
            [EV(S("WORKING", ts=LATEST)), EOF],
        )
        agent.on("SubscribeToTask", [EV(asks), EOF], [EV(T("WORKING", ts=LATEST)), HOLD])
        agent.task = asks
        first = {"standin": {"participant_id": "first"}}
        async with locum({"a": agent.url}, push=True, store=store, **first) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await agent.seen("CreateTaskPushNotificationConfig", timeout=5)
        second = {"standin": {"participant_id": "second"}}
        async with locum({"a": agent.url}, push=True, store=store, **second) as harness:
            # It comes back on another port, so that its push config is made again.
            await agent.seen("CreateTaskPushNotificationConfig", count=2, timeout=5)
            await agent.seen("GetTask", timeout=5)
            agent.task = T("WORKING", ts=LATEST)
            await harness.reply(row.id, "that one")
            await agent.seen("SubscribeToTask", count=2, timeout=5)
            await harness.cancel(row.id)
            await agent.seen("DeleteTaskPushNotificationConfig", timeout=5)
            await agent.until(lambda: not agent.push_configs)
        calls = [seen for seen in agent.calls() if seen.method in ABOUT_A_TASK]
        assert {seen.method for seen in calls} == ABOUT_A_TASK
        named = {(seen.method, seen.headers.get("x-participant-id")) for seen in calls}
        assert named == {(method, "first") for method in ABOUT_A_TASK}
        sent = [seen.message for seen in agent.calls("SendStreamingMessage")]
        assert [message["metadata"]["participant_id"] for message in sent] == ["first", "first"]


@both
async def test_a_brief_that_goes_out_later_names_who_delegated(
    binding: Any, tmp_path: Path
) -> None:
    """C9: so do the search for a brief in doubt, and the brief that goes out again."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding) as agent:
        table = {"a": {"url": agent.url, "resend": "same-id"}}
        agent.on("SendStreamingMessage", [HOLD])
        first = {"standin": {"participant_id": "first"}}
        async with locum(table, store=store, **first) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage", timeout=5)
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        second = {"standin": {"participant_id": "second"}}
        async with locum(table, store=store, **second) as harness:
            await harness.linked(row.id, timeout=10)
        calls = [*agent.calls("ListTasks"), *agent.calls("SendStreamingMessage")]
        assert len({seen.message["messageId"] for seen in calls if seen.message}) == 1
        named = [(seen.method, seen.headers.get("x-participant-id")) for seen in calls]
        assert set(named) == {("ListTasks", "first"), ("SendStreamingMessage", "first")}
        assert len(agent.calls("SendStreamingMessage")) == 2
