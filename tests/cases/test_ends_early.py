"""Contexts and cancels at the edges: what the agent named late, never, or knows no more."""

import asyncio
from typing import Any

import pytest

from locum.core.errors import RequestError
from tests.agents.frames import EOF, ERR, EV, HOLD, M, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
async def test_a_context_that_was_no_news(binding: Any) -> None:
    """C12: a reply bears the context, also when only a snapshot that changed nothing named it."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage", [EV(S("WORKING", context="")), EOF], [EV(T("WORKING")), EOF]
        )
        asks = [EV(T("WORKING", context="c7")), EV(S("INPUT_REQUIRED", "which?", context="")), HOLD]
        agent.on("SubscribeToTask", asks)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await harness.reply(row.id, "red")
            _, sent = await agent.seen("SendStreamingMessage", count=2)
            assert sent.message.get("contextId") == "c7"


@both
@pytest.mark.parametrize("answer", [ERR(-32602, "no"), [EV(M("done")), EOF]], ids=["no", "message"])
async def test_nothing_to_go_on_from(binding: Any, answer: Any) -> None:
    """C14: without a context and a task a follow-up is refused; nothing is recorded or sent."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", answer)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "FAILED", "COMPLETED")
            with pytest.raises(RequestError, match="neither a context nor a task"):
                await harness.spawn("p", agent="a", goal="go on", follows=row.id)
            assert len(await harness.rows("p")) == len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_a_direct_answer_with_a_context(binding: Any) -> None:
    """C14, C5: a direct answer that names its context can be gone on from."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage", [EV(M("done", context="c7")), EOF], [EV(T("WORKING")), EOF]
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "COMPLETED")
            await harness.spawn("p", agent="a", goal="go on", follows=row.id)
            _, sent = await agent.seen("SendStreamingMessage", count=2)
            assert sent.message["contextId"] == "c7"
            assert not sent.message.get("referenceTaskIds")


@both
async def test_a_cancel_of_what_the_agent_knows_no_more(binding: Any) -> None:
    """F2: nothing is left that could confirm it: it ends, unconfirmed, long before the grace does."""
    patience = {"cancel_grace": "300s"}
    async with RawAgent(binding) as agent, locum({"a": agent.url}, standin=patience) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            agent.on(method, ERR(-32001, "Task not found"))
        async with asyncio.timeout(30):
            row = await harness.cancel(row.id, "not needed")
        assert (row.state, row.reason) == ("CANCELED", "not needed")
        assert "cancel.unconfirmed" in row.anomalies
        (note,), _ = await harness.notes("p")
        assert "never confirmed" in note.as_text()


async def test_who_completes_a_parent_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """C8: completing a parent records nothing; the log says who did it, and what it belongs to."""
    caplog.set_level("INFO", logger="locum.harness")
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        await harness.complete("p", actor="planner", correlation_id="k7")
    assert "parent 'p' is complete, says 'planner' ('k7')" in caplog.messages


@both
async def test_an_agent_that_only_denies_the_cancel(binding: Any) -> None:
    """F2: a task that GetTask still has is waited for, whatever CancelTask says of it."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        agent.on("CancelTask", ERR(-32001, "Task not found"))
        before = len(agent.calls("GetTask"))
        cancel = asyncio.create_task(harness.cancel(row.id))
        await agent.seen("GetTask", count=before + 3)
        agent.complete("12 chairs")
        row = await cancel
        assert (row.state, row.text) == ("COMPLETED", "12 chairs")
