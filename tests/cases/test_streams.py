"""The cases of streams (docs/cases.md): what agents do on streams, and what becomes of the sub-task."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import COMMENT, EOF, ERR, EV, HOLD, RST, WAIT, A, M, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

BINDINGS = ["JSONRPC", "HTTP+JSON"]
LATER = "2099-01-01T00:00:00Z"
"""A status time that is newer than whatever is sent while a test runs."""
both = pytest.mark.parametrize("binding", BINDINGS)


@both
async def test_an_eof_is_no_end(binding: Any) -> None:
    """D8, case S1: a clean EOF while WORKING is no end; GetTask finds the result; one send."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", timeout=5)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=10)
            assert (row.state, row.text) == ("COMPLETED", "done")
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_an_eof_after_a_question_is_parked(binding: Any) -> None:
    """D8, case S1: an EOF after INPUT_REQUIRED is a parked task, not an end."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF])
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?")), EOF])
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert (row.state, row.text) == ("INPUT_REQUIRED", "which?")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            assert (await harness.sub_task(row.id)).version == row.version


@both
async def test_comments_are_no_events(binding: Any) -> None:
    """K1, case S2: comments before, between and after events are ignored, and are no sign of life."""
    pings = [COMMENT(" ping"), COMMENT(""), WAIT(0.05)]
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage", [*pings, EV(T("SUBMITTED")), *pings, EV(S("WORKING")), *pings]
        )
        agent.on("SubscribeToTask", [EV(T("WORKING")), *pings * 100, HOLD])
        async with locum({"a": agent.url}, standin={"quiet_check": "500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", timeout=4)
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
@pytest.mark.parametrize("odd", [b"id: 1\ndata:\n\n", b"data: \n\n", b"event: x\n\n", b"\n\n\n"])
async def test_empty_data_is_ignored(binding: Any, odd: bytes) -> None:
    """K1, case S3: an event with empty data is none."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [odd, EV(T("WORKING")), odd, EV(A("a", "done")), odd, EV(S("COMPLETED")), odd, EOF],
        )
        agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_every_line_end_is_read(binding: Any, newline: str) -> None:
    """K1, case S4: LF, CRLF and bare CR end lines, also one byte a packet."""

    async def drip(_: Seen, reply: Reply) -> None:
        await reply.sse()
        for frame in (T("WORKING"), S("INPUT_REQUIRED", "which\u2028one?")):
            await reply.event(frame, newline=newline)
        await reply.eof()

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING"), newline=newline), HOLD])
        agent.on("SubscribeToTask", drip)
        agent.task = T("INPUT_REQUIRED", "which\u2028one?")
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert row.text == "which\u2028one?"


@both
async def test_pretty_json_is_joined(binding: Any) -> None:
    """K1, case S6: JSON over many data lines is one event."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING"), pretty=True), EV(S("INPUT_REQUIRED", "which?"), pretty=True), EOF],
        )
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert row.text == "which?"


@both
@pytest.mark.parametrize("size", [200_000, 4_000_000])
async def test_large_events_are_read(binding: Any, size: int) -> None:
    """J3, case S7: events of 200 KB and of 4 MB are read whole."""
    text = "x" * size
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("COMPLETED", artifacts=[A("a", text)])), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=20)
            assert (row.state, row.text == text) == ("COMPLETED", True)


@both
async def test_a_giant_event_is_refused_and_not_asked_for_again(binding: Any) -> None:
    """J3, case S7: an event over the limit closes the stream; GetTask decides; the follow does not
    loop.
    """
    giant = b"data: " + b"x" * 3_000_000 + b"\n\n"
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), giant, HOLD])
        async with locum({"a": agent.url}, standin={"event_limit": "1MiB"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", count=3, timeout=10)
            assert len(agent.calls("SubscribeToTask")) == 1
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_a_busy_agent_is_waited_for(binding: Any) -> None:
    """C7, case S8: 429 with Retry-After is waited out, 503 with HTML is tried again; one message
    id.
    """
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            (429, {"Retry-After": "1"}, b"slow down"),
            (503, {"Content-Type": "text/html"}, b"<html>busy</html>"),
            [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF],
        )
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert row.text == "which?"
            first, second, third = agent.calls("SendStreamingMessage")
            ids = {seen.message["messageId"] for seen in (first, second, third)}
            assert len(ids) == 1
            # Not how fast it is: to have waited for what the agent asked for is the rule.
            assert second.at - first.at >= 1


@both
async def test_a_401_is_final_with_its_words(binding: Any) -> None:
    """C7, K4, case S8: 401 is refused at once, with what the agent said."""
    challenge = 'Bearer realm="hall", error_description="token expired"'
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", (401, {"WWW-Authenticate": challenge}, b"who are you?"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert row.state == "FAILED"
            assert "(HTTP 401)" in row.account
            assert row.said == f"who are you? ({challenge})"
            (event,) = [e for e in await harness.events(row.id) if e["type"] == "Resolved"]
            assert (event["delivery"], event["code"]) == ("refused", "remote.unauthorized")
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
@pytest.mark.parametrize("how", ["cancel", "timeout", "shutdown"])
async def test_the_agent_sees_the_stream_close(binding: Any, how: str) -> None:
    """D11, case S9: whatever ends the watch on our side, the agent sees the close within a second."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
        async with locum({"a": agent.url}, standin={"cancel_grace": "200ms"}) as harness:
            seconds = 0.7 if how == "timeout" else None
            row = await harness.spawn("p", agent="a", goal="count", timeout=seconds)
            await agent.seen("SubscribeToTask", timeout=5)
            if how == "cancel":
                await harness.cancel(row.id)
            elif how == "timeout":
                await until(harness, row.id, "FAILED")
        await agent.all_closed(timeout=1)


@both
async def test_a_subscription_to_a_finished_task(binding: Any) -> None:
    """D8, case S10: -32004 on SubscribeToTask leads to GetTask, once; no endless retry."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", ERR(-32004, "the task is over"))
        agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")
            assert len(agent.calls("SubscribeToTask")) == 1


@both
@pytest.mark.parametrize("error", [ERR(-32001, "unknown task"), RST, EOF, (500, {}, b"oops")])
async def test_a_stream_that_fails_is_judged_by_gettask(binding: Any, error: Any) -> None:
    """D8, case S10: a stream that errors, resets or says the task is unknown leads to GetTask."""
    steps = error if isinstance(error, tuple) else [error]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", steps)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", count=2, timeout=8)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=8)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_json_where_a_stream_was_wanted(binding: Any) -> None:
    """K1, case S11: a card that says streaming and an agent that answers plain JSON: linked,
    followed.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", T("WORKING"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.complete("done")
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_a_blocking_send_that_answers_early(binding: Any) -> None:
    """C6, case S12: a SendMessage that answers WORKING is linked and watched, not taken for the
    end.
    """
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", T("WORKING"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            (sent,) = await agent.seen("SendMessage", timeout=5)
            assert sent.params["configuration"]["returnImmediately"] is True
            await agent.seen("GetTask", timeout=5)
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text) == ("COMPLETED", "done")
            assert not agent.calls("SubscribeToTask")


@both
async def test_a_gateway_that_cuts_every_answer(binding: Any) -> None:
    """C7, case S13: every response is cut after a while; the result arrives all the same; one send."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("SUBMITTED")), WAIT(0.2), RST])
        agent.on("SubscribeToTask", [EV(T("WORKING")), WAIT(0.2), RST])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            agent.task = T("COMPLETED", artifacts=[A("a", "done")])
            row = await harness.settled(row.id, timeout=10)
            assert (row.state, row.text) == ("COMPLETED", "done")
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_a_subscription_that_ends_at_once_backs_off(binding: Any) -> None:
    """D6, case S14: a snapshot and EOF at every subscription: fewer and fewer calls, never an end."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=3, timeout=10)
            first, second, third = (seen.at for seen in agent.calls("SubscribeToTask")[:3])
            # Not how fast it is: that it waits, and longer the next time, is the rule. The pauses
            # are 1 s and 2 s, give or take a tenth.
            assert second - first >= 0.9
            assert third - second >= 1.8
            assert await kinds(harness, row.id) == ["Created", "Linked"]


async def test_a_message_ends_it_and_the_rest_is_ignored() -> None:
    """C5: a Message answers the brief; further messages on that stream are ignored."""
    async with RawAgent("JSONRPC") as agent:
        agent.on("SendStreamingMessage", [EV(M("hello")), EV(M("again")), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="greet")
            row = await harness.settled(row.id, timeout=5)
            assert (row.state, row.text, row.remote_task_id) == ("COMPLETED", "hello", "")
            assert [part.text for part in row.artifacts[0].parts] == ["hello"]
            await agent.all_closed(timeout=1)
            await asyncio.sleep(0)
            assert await kinds(harness, row.id) == ["Created", "Resolved"]
