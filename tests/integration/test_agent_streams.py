"""The streams of AgentClient: what is heard on them, and which task it is about."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, M, S, T
from tests.agents.raw import RawAgent

from .clients import brief, client_of, only_closed_generators
from .streams import heard_on, heard_until_error, opened


@pytest.fixture(autouse=True)
def _all_generators_closed() -> Iterator[None]:
    """D11: no generator is left to the garbage collector, whatever a test does."""
    with only_closed_generators():
        yield


@pytest.fixture(params=["SendStreamingMessage", "SubscribeToTask"])
def method(request: pytest.FixtureRequest) -> str:
    """Both methods that stream."""
    return str(request.param)


async def test_a_send_is_heard_event_by_event(agent: RawAgent, client: AgentClient) -> None:
    """C4: what the agent says comes as it says it, with the SDK's object beside each report."""
    agent.on(
        "SendStreamingMessage",
        [EV(T("SUBMITTED")), EV(S("WORKING", "on it")), EV(A("a", "done")), EV(S("COMPLETED"))],
    )
    all_heard = await heard_on(client.send(brief()))
    reports = [one.report for one in all_heard]
    assert [report.kind for report in reports] == ["task", "status", "artifact", "status"]
    assert [report.state for report in reports] == [
        A2AState.SUBMITTED,
        A2AState.WORKING,
        None,
        A2AState.COMPLETED,
    ]
    assert {report.remote_task_id for report in reports} == {"t1"}
    assert [type(one.payload).__name__ for one in all_heard] == [
        "Task",
        "TaskStatusUpdateEvent",
        "TaskArtifactUpdateEvent",
        "TaskStatusUpdateEvent",
    ]
    (seen,) = agent.calls()
    assert seen.method == "SendStreamingMessage"
    assert seen.message["messageId"] == "m-1"


async def test_a_terminal_event_ends_the_stream(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """K5: the end of the task is the end of the stream, whether or not the agent closes it."""
    agent.on(method, [EV(T("WORKING")), EV(S("FAILED", "no chairs")), HOLD])
    reports = [one.report for one in await heard_on(opened(client, method))]
    assert [report.state for report in reports] == [A2AState.WORKING, A2AState.FAILED]
    await agent.all_closed()


@pytest.mark.parametrize("trouble", [CUT, RST, EV(ERR(-32603)), EV("rubbish"), EV(S("WORKING"))])
async def test_what_follows_a_terminal_event_changes_nothing(
    agent: RawAgent, client: AgentClient, method: str, trouble: Any
) -> None:
    """K5: an error, rubbish or a reset after the end is not heard."""
    go_on = asyncio.Event()
    agent.on(method, [EV(T("COMPLETED")), go_on, trouble])
    async with aclosing(opened(client, method)) as stream:
        assert (await anext(stream)).report.state is A2AState.COMPLETED
        go_on.set()
        assert [one async for one in stream] == []


async def test_a_direct_message_answers_a_brief(agent: RawAgent, client: AgentClient) -> None:
    """C5: the message is the answer, and what comes after it on that stream is ignored."""
    agent.on("SendStreamingMessage", [EV(M("twelve")), EV(M("no, eleven")), HOLD])
    (one,) = await heard_on(client.send(brief()))
    assert (one.report.kind, one.report.text) == ("message", "twelve")
    await agent.all_closed()


async def test_a_message_beside_a_task_is_heard(agent: RawAgent, client: AgentClient) -> None:
    """C5: a message that comes after the task is heard as one, and ends the stream all the same."""
    agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(M("nearly")), HOLD])
    reports = [one.report for one in await heard_on(client.send(brief()))]
    assert [report.kind for report in reports] == ["task", "message"]
    await agent.all_closed()


async def test_a_stream_may_be_one_json_answer(agent: RawAgent, client: AgentClient) -> None:
    """K1, case S11: the card says streaming, the agent answers plain JSON: that is one event."""
    agent.on("SendStreamingMessage", [T("WORKING")])
    (one,) = await heard_on(client.send(brief()))
    assert one.report.state is A2AState.WORKING


async def test_an_end_is_not_made_up(agent: RawAgent, client: AgentClient, method: str) -> None:
    """D8, case S1: the stream's end says nothing about the task."""
    agent.on(method, [EV(T("WORKING")), EOF])
    (one,) = await heard_on(opened(client, method))
    assert one.report.state is A2AState.WORKING


async def test_an_unanswered_send_is_in_doubt(agent: RawAgent, client: AgentClient) -> None:
    """C7: a stream that ends without a word leaves open whether the work was taken."""
    agent.on("SendStreamingMessage", [b": hello\n\n", EOF])
    with pytest.raises(RemoteCallError) as caught:
        await heard_on(client.send(brief()))
    assert (caught.value.code, caught.value.kind) == ("remote.empty", "in_doubt")
    assert caught.value.method == "SendStreamingMessage"


async def test_an_empty_subscription_is_only_an_end(agent: RawAgent, client: AgentClient) -> None:
    """D8: a subscription that ends at once is no error; GetTask will tell."""
    agent.on("SubscribeToTask", [b": hello\n\n", EOF])
    assert await heard_on(client.subscribe("t1")) == []


async def test_an_error_on_the_stream_keeps_what_the_agent_said(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """K4: an error event is one typed error with the agent's words, after what came before it."""
    agent.on(method, [EV(T("WORKING")), EV(ERR(-32603, "the hall is on fire"))])
    (one,), error = await heard_until_error(opened(client, method))
    assert one.report.state is A2AState.WORKING
    assert (error.code, error.kind) == ("remote.refused", "refused")
    assert error.detail["agent_code"] in (-32603, "INTERNAL_ERROR")
    assert "the hall is on fire" in error.message


async def test_a_finished_task_cannot_be_subscribed_to(
    agent: RawAgent, client: AgentClient
) -> None:
    """K4, case S10: the agent's refusal is one typed error."""
    agent.task = T("COMPLETED")
    with pytest.raises(RemoteCallError) as caught:
        await heard_on(client.subscribe("t1"))
    assert (caught.value.code, caught.value.kind) == ("remote.unsupported", "refused")


async def test_an_agent_without_streams_is_not_asked_for_one() -> None:
    """D8: without streaming on the card no subscription goes out."""
    async with RawAgent("JSONRPC", streaming=False) as agent, client_of(agent) as client:
        with pytest.raises(RemoteCallError) as caught:
            await heard_on(client.subscribe("t1"))
        assert (caught.value.code, caught.value.kind) == ("remote.unsupported", "refused")
        assert agent.calls() == []


@pytest.mark.parametrize("frame", [T("WORKING", id="t2"), S("WORKING", task="t2")])
async def test_an_event_about_another_task_is_an_error(
    agent: RawAgent, client: AgentClient, frame: Any
) -> None:
    """K3: what another task does is no change of this one."""
    agent.on("SubscribeToTask", [EV(T("WORKING")), EV(frame), HOLD])
    (one,), error = await heard_until_error(client.subscribe("t1"))
    assert one.report.remote_task_id == "t1"
    assert (error.code, error.kind) == ("remote.wrong_task", "in_doubt")
    await agent.all_closed()


async def test_a_brief_is_answered_about_one_task(agent: RawAgent, client: AgentClient) -> None:
    """K3: the first id that the agent names is the task; a second one is an error."""
    agent.on("SendStreamingMessage", [EV(S("WORKING", task="t7")), EV(T("WORKING", id="t8"))])
    (one,), error = await heard_until_error(client.send(brief()))
    assert one.report.remote_task_id == "t7"
    assert error.code == "remote.wrong_task"


async def test_a_reply_may_move_to_another_task_once(agent: RawAgent, client: AgentClient) -> None:
    """C13: an answer to a reply under another task id is followed, but not from there to a third."""
    message = brief(goal="the hall")
    message.task_id = "t1"
    agent.on(
        "SendStreamingMessage",
        [EV(S("WORKING")), EV(T("WORKING", id="t2")), EV(S("WORKING", task="t2"))],
        [EV(T("WORKING", id="t2")), EV(S("WORKING"))],
    )
    reports = [one.report for one in await heard_on(client.send(message))]
    assert [report.remote_task_id for report in reports] == ["t1", "t2", "t2"]
    with pytest.raises(RemoteCallError) as caught:
        await heard_on(client.send(message))
    assert caught.value.code == "remote.wrong_task"


async def test_an_update_without_a_task_id_is_about_the_asked_one(agent: RawAgent) -> None:
    """K3: on a stream about a known task an empty id means that task, and is an anomaly."""
    odd: list[tuple[str, str]] = []
    update, chunk = S("WORKING", task=""), A("a", "x", task="")
    async with client_of(agent, on_anomaly=lambda *what: odd.append(what)) as client:
        agent.on("SubscribeToTask", [EV(update), EV(chunk), EOF])
        reports = [one.report for one in await heard_on(client.subscribe("t1"))]
        agent.on("SendStreamingMessage", [EV(update), EV(S("WORKING")), EV(chunk), EOF])
        sent = [one.report for one in await heard_on(client.send(brief()))]
    assert [report.remote_task_id for report in reports] == ["t1", "t1"]
    assert [report.anomalies for report in reports] == [("task.id_missing",)] * 2
    assert [report.remote_task_id for report in sent] == ["", "t1", "t1"]
    assert odd == [("peer", "task.id_missing")] * 3
