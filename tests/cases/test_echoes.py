"""A message of ours that the agent says back to us: it answers nothing (C5)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, Frame, M, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
bent = pytest.mark.parametrize("role", ["ROLE_USER", "user"])
SEND = "SendStreamingMessage"


def _echoing(role: str, *then: Any) -> Any:
    async def echo(seen: Seen, reply: Reply) -> None:
        back = Frame("message", {**seen.message, "role": role})
        await reply.play([EV(back), *then])

    return echo


@both
@bent
async def test_a_brief_that_comes_back_is_no_answer(binding: Any, role: str) -> None:
    """C5, K2: the brief comes first on the stream, then the task: that is linked, and what the task
    ends in is the result. The record names the echo.
    """
    async with RawAgent(binding) as agent:
        done = T("COMPLETED", artifacts=[A("a", "42 chairs")])
        agent.on(SEND, _echoing(role, EV(T("WORKING")), EV(done), EOF))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("42 chairs", "t1")
            assert "message.echo" in row.anomalies
            (agent_row,) = harness.agents()
            assert agent_row["anomalies"]["message.echo"] == 1


@both
async def test_an_answer_behind_the_echo_counts(binding: Any) -> None:
    """C5: the agent says the brief back, and then answers with a message of its own."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, _echoing("ROLE_USER", EV(M("42 chairs")), EOF))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "42 chairs"


@both
@bent
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "asking"])
async def test_an_answer_under_the_wrong_role_counts(
    binding: Any, role: str, streaming: bool
) -> None:
    """C5, K2: the agent answers with words and an id of its own, in a copy of what it was sent."""
    answer = Frame("message", {**M("42 chairs"), "role": role})
    async with RawAgent(binding, streaming=streaming) as agent:
        agent.on(SEND if streaming else "SendMessage", [EV(answer), EOF] if streaming else answer)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "42 chairs"
            assert "message.role" in row.anomalies


@both
async def test_our_words_under_another_id_are_no_answer(binding: Any) -> None:
    """C5: a copy of the brief with a new id is the brief all the same."""

    async def copy(seen: Seen, reply: Reply) -> None:
        back = Frame("message", {**seen.message, "messageId": "m-of-theirs"})
        await reply.play([EV(back), EV(T("COMPLETED", artifacts=[A("a", "42 chairs")])), EOF])

    async with RawAgent(binding) as agent:
        agent.on(SEND, copy)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("42 chairs", "t1")


@both
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "asking"])
async def test_an_echo_and_no_more_is_in_doubt(binding: Any, streaming: bool) -> None:
    """C5, C7: nothing but the very message comes back, under its id: no answer, so that the brief
    is looked for.
    """
    method = SEND if streaming else "SendMessage"

    async def echo(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        back = Frame("message", {**seen.message, "role": "ROLE_AGENT"})
        await reply.play([EV(back), EOF] if streaming else [back])

    async with RawAgent(binding, streaming=streaming) as agent:
        agent.on(method, echo)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "WORKING", "COMPLETED")
            assert (row.state, row.remote_task_id) == ("WORKING", "t1")
            assert agent.calls("ListTasks")
            assert "message.echo" in row.anomalies


@both
async def test_what_was_odd_about_no_answer_is_named(binding: Any) -> None:
    """K2, C7: nothing but an echo comes, and the agent has no task: the end names the oddity."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, _echoing("ROLE_USER", EOF))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert row.anomalies == ("message.echo",)
            (agent_row,) = harness.agents()
            assert agent_row["anomalies"] == {"message.echo": 1}


@both
async def test_a_reply_that_comes_back_is_no_answer(binding: Any) -> None:
    """C5, C12: a reply is said back before the task goes on with it."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        agent.tell(S("INPUT_REQUIRED", "which?"))
        await until(harness, row.id, "INPUT_REQUIRED")
        done = T("COMPLETED", artifacts=[A("a", "42 chairs")])
        agent.put(done)
        agent.on(SEND, _echoing("ROLE_USER", EV(done), HOLD))
        await harness.reply(row.id, "the red ones")
        row = await until(harness, row.id, "COMPLETED")
        assert row.text == "42 chairs"
