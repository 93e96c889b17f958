"""The streams of AgentClient: what is heard on them, and that each is closed on every exit."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.reports import Heard
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, Binding, M, S, T
from tests.agents.raw import RawAgent

from .clients import brief, client_of, only_closed_generators


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def agent(request: pytest.FixtureRequest) -> AsyncIterator[RawAgent]:
    """A raw agent, once for each binding."""
    binding: Binding = request.param
    async with RawAgent(binding, keep_alive=True) as raw:
        yield raw


@pytest.fixture(autouse=True)
def _all_generators_closed() -> Iterator[None]:
    """D11: no generator is left to the garbage collector, whatever a test does."""
    with only_closed_generators():
        yield


@pytest.fixture
async def client(agent: RawAgent) -> AsyncIterator[AgentClient]:
    """A client of the agent."""
    async with client_of(agent) as made:
        yield made


async def heard_on(stream: Any) -> list[Heard]:
    """All that a stream has to say."""
    async with aclosing(stream):
        return [one async for one in stream]


async def heard_until_error(stream: Any) -> tuple[list[Heard], RemoteCallError]:
    """What a stream has to say before it fails, and how it does."""
    heard: list[Heard] = []
    async with aclosing(stream):
        try:
            while True:
                heard.append(await anext(stream))
        except RemoteCallError as error:
            return heard, error


def opened(client: AgentClient, method: str) -> Any:
    """A stream of either kind."""
    if method == "SubscribeToTask":
        return client.subscribe("t1")
    return client.send(brief())


@pytest.fixture(params=["SendStreamingMessage", "SubscribeToTask"])
def method(request: pytest.FixtureRequest) -> str:
    """Both methods that stream."""
    return str(request.param)


# What is heard


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


# Which task it is about


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


# How it ends


class OddError(Exception):
    """Something that went wrong in whoever reads."""


async def leave_by_return(stream: Any) -> None:
    """Take the first event and go."""
    async with aclosing(stream):
        async for _ in stream:
            return


async def leave_by_exception(stream: Any) -> None:
    """Fail at the first event."""
    try:
        async with aclosing(stream):
            await anext(stream)
            raise OddError  # noqa: TRY301 (leaving by an exception is what is tried)
    except OddError:
        return


async def leave_by_timeout(stream: Any) -> None:
    """Run out of time waiting for the second event."""
    try:
        async with aclosing(stream):
            await anext(stream)
            async with asyncio.timeout(0.01):
                await anext(stream)
    except TimeoutError:
        return


async def leave_by_aclose(stream: Any) -> None:
    """Close it by hand."""
    await anext(stream)
    await stream.aclose()


async def leave_by_cancel(stream: Any, *, busy: bool = False, twice: bool = False) -> None:
    """Be cancelled while waiting for the second event."""
    first = asyncio.Event()

    async def read() -> None:
        async with aclosing(stream):
            async for _ in stream:
                first.set()
                if busy:
                    await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def leave_by_cancel_while_busy(stream: Any) -> None:
    """Be cancelled while doing something with the first event."""
    await leave_by_cancel(stream, busy=True)


async def leave_by_cancelling_twice(stream: Any) -> None:
    """Be cancelled, and cancelled again while the stream is being closed."""
    await leave_by_cancel(stream, busy=True, twice=True)


LEAVE = [
    leave_by_return,
    leave_by_exception,
    leave_by_timeout,
    leave_by_cancel,
    leave_by_cancel_while_busy,
    leave_by_cancelling_twice,
    leave_by_aclose,
]


@pytest.mark.parametrize("leave", LEAVE)
@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_the_agent_sees_the_close(
    agent: RawAgent, method: str, leave: Any, tenant: str
) -> None:
    """D11, case S9: however a stream is left, the agent sees the close within 1 s, and at once."""
    agent.on(method, [EV(T("WORKING")), HOLD])
    async with client_of(agent, tenant=tenant) as client:
        await leave(opened(client, method))
        await agent.all_closed(1)
        (seen,) = agent.calls(method)
        assert seen.hung_up.is_set()
        assert seen.tenant == tenant


@pytest.mark.parametrize("leave", [leave_by_return, leave_by_cancel_while_busy])
async def test_events_that_came_already_do_not_hold_it_open(
    agent: RawAgent, client: AgentClient, method: str, leave: Any
) -> None:
    """D11: a stream is closed also while events that nobody wants are waiting to be read."""
    agent.on(method, [*(EV(S("WORKING", f"chair {number}")) for number in range(200)), HOLD])
    await leave(opened(client, method))
    await agent.all_closed(1)


async def test_trouble_that_nobody_waits_for_is_not_heard(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: an error that came along with the last event that was wanted does not spoil the close."""

    async def all_at_once(seen: Any, reply: Any) -> None:
        events = (EV(T("WORKING")), EV(ERR(-32603, "the hall is on fire")))
        await reply.send(b"".join(reply.event_bytes(event) for event in events))
        await reply.hold()

    agent.on(method, all_at_once)
    await leave_by_return(opened(client, method))
    await agent.all_closed(1)


async def test_a_flood_does_not_hold_it_open(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: an agent that never stops talking sees the close like any other."""

    async def flood(seen: Any, reply: Any) -> None:
        while True:
            await reply.event(S("WORKING", "and another"))

    agent.on(method, flood)
    await leave_by_return(opened(client, method))
    await agent.all_closed(1)


async def test_a_stream_that_nobody_reads_is_never_opened(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: closing what was not begun sends nothing."""
    await opened(client, method).aclose()
    assert agent.calls() == []


async def test_closing_the_client_closes_its_streams(agent: RawAgent, method: str) -> None:
    """D11: at shutdown the agent sees the close, and the reader is told."""
    agent.on(method, [EV(T("WORKING")), HOLD])
    async with client_of(agent) as client:
        stream = opened(client, method)
        await anext(stream)
    with pytest.raises(RemoteCallError):
        await anext(stream)
    await agent.all_closed(1)


async def test_no_first_event_in_time(agent: RawAgent, client: AgentClient, method: str) -> None:
    """C7: the time is for the first event only, and its passing is a typed error."""
    agent.on(method, [HOLD], [EV(T("WORKING")), HOLD])
    stream = (
        client.subscribe("t1", timeout=0.1)
        if method == "SubscribeToTask"
        else client.send(brief(), timeout=0.1)
    )
    with pytest.raises(RemoteCallError) as caught:
        await heard_on(stream)
    assert caught.value.code == "remote.timeout"
    assert caught.value.kind == ("transient" if method == "SubscribeToTask" else "in_doubt")
    await agent.all_closed(1)


async def test_many_streams_at_once(agent: RawAgent, client: AgentClient) -> None:
    """J4: streams do not wait for each other, and all of them close."""
    agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
    streams = [client.subscribe("t1") for _ in range(50)]
    await asyncio.gather(*(anext(stream) for stream in streams))
    assert agent.open_exchanges == 50
    assert (await client.get("t1")).report.state is A2AState.WORKING
    await asyncio.gather(*(stream.aclose() for stream in streams))
    await agent.all_closed(1)
