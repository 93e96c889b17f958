"""AgentClient's calls: what goes out, what comes back, and that every failure is one typed error."""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from opentelemetry import trace

from locum.adapters.a2a.calls.remote_agent import AgentClient, PushConfig
from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.adapters.a2a.interface import Interface
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from tests.agents.card import card_for
from tests.agents.frames import EOF, ERR, EV, HOLD, A, Binding, Json, M, T, data_part
from tests.agents.process import LawfulAgent, lawful_agent
from tests.agents.raw import RawAgent

from .clients import brief, client_for, client_of

TOKEN = "tok-" + "x" * 40
PUSH: dict[str, Any] = {
    "config_id": "cfg-1",
    "url": "http://127.0.0.1:1/a2a/push/s1",
    "token": TOKEN,
}


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def agent(request: pytest.FixtureRequest) -> AsyncIterator[RawAgent]:
    """A raw agent, once for each binding."""
    binding: Binding = request.param
    async with RawAgent(binding, keep_alive=True) as raw:
        yield raw


@pytest.fixture
async def client(agent: RawAgent) -> AsyncIterator[AgentClient]:
    """A client of the agent."""
    async with client_of(agent) as made:
        yield made


async def call_all(client: AgentClient, **common: Any) -> None:
    """Every call about a task, each once, in a fixed order."""
    async with aclosing(client.send(brief(), **common)) as stream:
        await anext(stream)
    async with aclosing(client.subscribe("t1", **common)) as stream:
        await anext(stream)
    await client.get("t1", **common)
    await client.list_tasks(**common)
    await client.create_push("t1", **PUSH, **common)
    await client.list_push("t1", **common)
    await client.delete_push("t1", "cfg-1", **common)
    await client.cancel("t1", **common)


# Headers


async def test_every_call_carries_the_participant_and_the_version(
    agent: RawAgent, client: AgentClient
) -> None:
    """C9, A1: each call about a remote task says who delegated, and speaks A2A 1.0."""
    await call_all(client)
    assert len(agent.calls()) == 8
    assert {seen.headers.get("x-participant-id") for seen in agent.calls()} == {"locum"}
    assert {seen.headers.get("a2a-version") for seen in agent.calls()} == {"1.0"}


async def test_a_call_may_be_made_for_another_participant(
    agent: RawAgent, client: AgentClient
) -> None:
    """C9: the id that the sub-task was delegated as goes with its calls, whatever is set now."""
    await call_all(client, participant_id="someone")
    assert {seen.headers.get("x-participant-id") for seen in agent.calls()} == {"someone"}


@pytest.mark.parametrize(
    "name, sent",
    [
        ("anna b", "anna b"),
        ("50%", "50%"),
        ("Søren", "S%C3%B8ren"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
    ],
)
async def test_any_participant_fits_a_header(
    agent: RawAgent, client: AgentClient, name: str, sent: str
) -> None:
    """C9: what a header cannot hold is percent-encoded, and no header can be slipped in."""
    await client.get("t1", participant_id=name)
    (seen,) = agent.calls()
    assert seen.headers["x-participant-id"] == sent
    assert "x-evil" not in seen.headers


async def test_no_extensions_no_header(agent: RawAgent, client: AgentClient) -> None:
    """A7: with no extension in use there is no `A2A-Extensions` at all."""
    await call_all(client)
    assert not any("a2a-extensions" in seen.headers for seen in agent.calls())


async def test_extensions_in_use_are_named(agent: RawAgent) -> None:
    """A7: those in use are named on every call."""
    async with client_of(agent, extensions=(TASK_EXTENSION, STATUS_EXTENSION)) as client:
        await call_all(client)
    named = {seen.headers["a2a-extensions"] for seen in agent.calls()}
    assert named == {f"{TASK_EXTENSION},{STATUS_EXTENSION}"}


async def test_no_trace_unless_it_is_on(agent: RawAgent, client: AgentClient) -> None:
    """C9: without tracing no `traceparent` leaves."""
    await call_all(client)
    assert not any("traceparent" in seen.headers for seen in agent.calls())


async def test_every_call_is_traced(agent: RawAgent) -> None:
    """C9, case C11: with tracing on each call has a valid `traceparent`, made up where there is
    none.
    """
    async with client_of(agent, tracing=True) as client:
        await call_all(client)
    traces = [seen.headers["traceparent"] for seen in agent.calls()]
    assert len(set(traces)) == len(traces) == 8
    for header in traces:
        assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01", header)


async def test_a_call_joins_the_trace_around_it(agent: RawAgent) -> None:
    """C9: within a trace the agent is told of that one, and of no baggage."""
    around = trace.SpanContext(
        trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1)
    )
    async with client_of(agent, tracing=True) as client:
        with trace.use_span(trace.NonRecordingSpan(around)):
            await client.get("t1")
    (seen,) = agent.calls()
    assert seen.headers["traceparent"].startswith(f"00-{0xABC:032x}-")
    assert "baggage" not in seen.headers


class SpanOfTest(trace.NonRecordingSpan):
    """A span that tells what was put into it."""

    def __init__(self, name: str, attributes: Any) -> None:
        super().__init__(trace.SpanContext(1, 2, is_remote=False))
        self.said: list[Any] = [name, dict(attributes)]
        self.is_over = False

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.said.append((status.status_code.name, status.description, description))

    def record_exception(self, *args: Any, **more: Any) -> None:
        self.said.append((args, more))

    def end(self, end_time: int | None = None) -> None:
        self.is_over = True


class TracerOfTest(trace.NoOpTracer):
    """Keeps the spans that it starts."""

    def __init__(self) -> None:
        self.spans: list[SpanOfTest] = []

    def start_span(self, name: str, *args: Any, attributes: Any = None, **more: Any) -> trace.Span:
        self.spans.append(SpanOfTest(name, attributes))
        return self.spans[-1]


async def test_a_span_holds_no_words(agent: RawAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8, C9: each call has one span, ended with it, with ids and a code but nothing that was said."""
    tracer = TracerOfTest()
    monkeypatch.setattr("locum.adapters.a2a.calls.tracing._TRACER", tracer)
    agent.on("CreateTaskPushNotificationConfig", ERR(-32602, f"I do not like {TOKEN}"))
    async with client_of(agent, tracing=True) as client:
        async with aclosing(client.send(brief(goal="a secret plan"))) as stream:
            await anext(stream)
            assert not tracer.spans[0].is_over
        with pytest.raises(RemoteCallError):
            await client.create_push("t1", **PUSH)
    assert all(span.is_over for span in tracer.spans)
    assert [span.said for span in tracer.spans] == [
        [
            "a2a SendStreamingMessage",
            {"locum.agent": "peer", "locum.remote_task": "", "rpc.method": "SendStreamingMessage"},
        ],
        [
            "a2a CreateTaskPushNotificationConfig",
            {
                "locum.agent": "peer",
                "locum.remote_task": "t1",
                "rpc.method": "CreateTaskPushNotificationConfig",
            },
            ("ERROR", "remote.refused", None),
        ],
    ]


async def test_nobody_is_named_when_nobody_is_set(agent: RawAgent) -> None:
    """C9: without a participant there is no empty header."""
    async with client_of(agent, participant_id="") as client:
        await client.get("t1")
    assert "x-participant-id" not in agent.calls()[0].headers


# Where the calls go


async def test_the_chosen_interface_is_the_one_called() -> None:
    """A5: of a card's interfaces the chosen one is called, at its URL as written, never another."""
    async with RawAgent("JSONRPC") as agent, RawAgent("JSONRPC") as other:
        card = card_for(other.url, ["JSONRPC", "HTTP+JSON"])
        answer: Any = (200, {}, '{"jsonrpc": "2.0", "id": 1, "result": {"id": "t1"}}')
        for url in (agent.rpc_url, agent.rpc_url + "/", agent.rpc_url + "?v=1"):
            agent.on(url.removeprefix(agent.url).partition("?")[0], answer)
            interface = Interface(url=url, binding="JSONRPC", protocol_version="1.1")
            async with client_for(card, interface) as client:
                await client.get("t1")
        assert [seen.target for seen in agent.requests] == ["/rpc", "/rpc/", "/rpc?v=1"]
        assert other.requests == []


async def test_the_tenant_is_on_every_request(agent: RawAgent) -> None:
    """A5: the interface's tenant goes with each call."""
    async with client_of(agent, tenant="acme") as client:
        await call_all(client)
    assert {seen.tenant for seen in agent.calls()} == {"acme"}


@pytest.mark.parametrize("task_id", ["a/b", "../t1", "a b", "t?1", "t%2F1", "tä", "t#1", "."])
async def test_odd_task_ids_arrive(agent: RawAgent, client: AgentClient, task_id: str) -> None:
    """K3: task ids are percent-encoded into URLs and arrive as they are."""
    agent.put(T("WORKING", id=task_id))
    assert (await client.get(task_id)).report.remote_task_id == task_id
    async with aclosing(client.subscribe(task_id)) as stream:
        await anext(stream)
    config = await client.create_push(task_id, **{**PUSH, "config_id": "c/1 ?"})
    assert [one.id for one in await client.list_push(task_id)] == [config.id]
    await client.delete_push(task_id, config.id)
    await client.cancel(task_id)
    assert {seen.task_id for seen in agent.calls()} == {task_id}


# Whole answers


async def test_get_says_how_a_task_is(agent: RawAgent, client: AgentClient) -> None:
    """D12: GetTask gives the whole task, and as much history as was asked for."""
    agent.task = T("COMPLETED", artifacts=[A("a", "done")], history=[M("x", id="m-1")])
    heard = await client.get("t1", history=7)
    assert heard.report.state is A2AState.COMPLETED
    assert heard.report.artifacts[0].parts == (Part(text="done"),)
    assert heard.report.history_ids == ("m-1",)
    assert heard.payload.DESCRIPTOR.name == "Task"
    assert int(agent.calls()[0].params["historyLength"]) == 7
    await client.get("t1")
    assert "historyLength" not in agent.calls()[1].params


async def test_cancel_says_how_the_task_is_then(agent: RawAgent, client: AgentClient) -> None:
    """F2: the answer to CancelTask is the task as it is then."""
    agent.put(T("WORKING"))
    assert (await client.cancel("t1")).report.state is A2AState.CANCELED


async def test_what_is_over_cannot_be_cancelled(agent: RawAgent, client: AgentClient) -> None:
    """F2, K4: the agent's refusal to cancel has a code of its own."""
    agent.put(T("COMPLETED"))
    with pytest.raises(RemoteCallError) as caught:
        await client.cancel("t1")
    assert (caught.value.code, caught.value.kind) == ("remote.not_cancelable", "refused")


@pytest.mark.parametrize("method", ["GetTask", "CancelTask"])
async def test_an_answer_about_another_task_is_an_error(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """K3: it is no change of the task that was asked for."""
    agent.on(method, T("COMPLETED", id="t2"))
    with pytest.raises(RemoteCallError) as caught:
        await (client.get("t1") if method == "GetTask" else client.cancel("t1"))
    assert caught.value.code == "remote.wrong_task"
    assert caught.value.method == method


async def test_an_endless_id_is_not_quoted_whole(agent: RawAgent, client: AgentClient) -> None:
    """J3: what an agent says in the wrong place cannot make an error grow without bound."""
    long = "t\n" * 50_000
    agent.on("GetTask", T("COMPLETED", id=long))
    agent.on("CreateTaskPushNotificationConfig", {"id": "c", "taskId": long, "url": "http://u"})
    for call in (client.get("t1"), client.create_push("t1", **PUSH)):
        with pytest.raises(RemoteCallError) as caught:
            await call
        assert caught.value.code == "remote.wrong_task"
        assert len(caught.value.message) < 500


async def test_a_task_without_an_id_is_the_asked_one(agent: RawAgent, client: AgentClient) -> None:
    """K3, K2: a task that says its state is read as the one asked for; one that says nothing not."""
    agent.on("GetTask", T("WORKING", id=""), T("DREAMING", id=""), {"artifacts": []})
    heard = await client.get("t1")
    assert heard.report.remote_task_id == "t1"
    assert "task.id_missing" in heard.report.anomalies
    for _ in range(2):
        with pytest.raises(RemoteCallError) as caught:
            await client.get("t1")
        assert (caught.value.code, caught.value.kind) == ("remote.malformed", "in_doubt")


async def test_a_task_that_is_not_known(agent: RawAgent, client: AgentClient) -> None:
    """D10: only the agent's own word that it knows no such task is `remote.not_found`."""
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t9")
    assert (caught.value.code, caught.value.kind) == ("remote.not_found", "refused")
    agent.on("GetTask", (404, {"content-type": "text/html"}, "<h1>Not Found</h1>"))
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t9")
    assert (caught.value.code, caught.value.status) == ("remote.refused", 404)


async def test_a_send_without_streams_asks_for_an_answer_at_once(agent: RawAgent) -> None:
    """C6, case S12: a non-streaming send can return before the work is done; its task is watched."""
    agent.card["capabilities"]["streaming"] = False
    async with client_of(agent) as client:
        async with aclosing(client.send(brief(), return_immediately=True)) as stream:
            heard = [one async for one in stream]
        async with aclosing(client.send(brief("m-2"))) as stream:
            heard += [one async for one in stream]
    assert [one.report.state for one in heard] == [A2AState.WORKING] * 2
    first, second = agent.calls("SendMessage")
    assert first.params["configuration"]["returnImmediately"] is True
    assert not second.params.get("configuration", {}).get("returnImmediately")


async def test_a_streaming_agent_can_be_asked_without(agent: RawAgent, client: AgentClient) -> None:
    """G2: the explicit client's plain send is a SendMessage, also where the card streams."""
    async with aclosing(client.send(brief(), streaming=False)) as stream:
        (one,) = [one async for one in stream]
    assert one.report.kind == "task"
    assert [seen.method for seen in agent.calls()] == ["SendMessage"]


async def test_a_direct_message_without_streams(agent: RawAgent, client: AgentClient) -> None:
    """C5: a message answers a plain send too."""
    agent.on("SendMessage", M([data_part({"n": 12})]))
    async with aclosing(client.send(brief(), streaming=False)) as stream:
        (one,) = [one async for one in stream]
    assert (one.report.kind, one.report.parts) == ("message", (Part(data={"n": 12}),))
    assert one.payload.DESCRIPTOR.name == "Message"


async def test_the_same_brief_leaves_as_the_same_bytes(
    agent: RawAgent, client: AgentClient
) -> None:
    """C7, case D4, case R9: what is sent again is what was sent, and whole numbers leave whole."""
    message = brief(
        parts=(Part(data={"zeta": 1, "alpha": {"y": 2.5, "x": [3]}}),),
        envelope="brief",
        acceptance_criteria=("a number",),
    )
    agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
    for _ in range(2):
        async with aclosing(client.send(message)) as stream:
            await anext(stream)
    first, second = (seen.body for seen in agent.calls())
    at = first.index(b'"message":')
    assert first[at:] == second[second.index(b'"message":') :]
    assert b'{"data":{"alpha":{"x":[3],"y":2.5},"zeta":1}}' in first


async def test_sending_changes_nothing_in_the_message(agent: RawAgent, client: AgentClient) -> None:
    """C7, case D4: the SDK fills in what it is handed; it is handed a copy."""
    message = brief()
    before = message.SerializeToString(deterministic=True)
    async with aclosing(client.send(message)) as stream:
        await anext(stream)
    assert message.SerializeToString(deterministic=True) == before


async def test_no_answer_in_time(agent: RawAgent, client: AgentClient) -> None:
    """C7: a call has an end in time; a read may go out again, a cancel is in doubt."""
    agent.on("GetTask", HOLD)
    agent.on("CancelTask", HOLD)
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t1", timeout=0.1)
    assert (caught.value.code, caught.value.kind) == ("remote.timeout", "transient")
    with pytest.raises(RemoteCallError) as caught:
        await client.cancel("t1", timeout=0.1)
    assert (caught.value.code, caught.value.kind) == ("remote.timeout", "in_doubt")
    await agent.all_closed(1)


async def test_a_cancelled_call_hangs_up(agent: RawAgent, client: AgentClient) -> None:
    """D11: a call that nobody waits for any more is closed, and is no RemoteCallError."""
    agent.on("GetTask", HOLD)
    task = asyncio.create_task(client.get("t1"))
    await agent.seen("GetTask")
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await agent.all_closed(1)


async def test_an_agent_that_is_not_there(agent: RawAgent, client: AgentClient) -> None:
    """C7: a refused connection is transient: nothing was sent, by a call or a send."""
    await agent.stop_listening()
    for call in (client.get("t1"), client.cancel("t1"), anext(client.send(brief()))):
        with pytest.raises(RemoteCallError) as caught:
            await call
        assert (caught.value.code, caught.value.kind) == ("remote.unreachable", "transient")


class NoToken(httpx.Auth):
    """Credentials that cannot be had."""

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, Any]:
        yield await self.signed(request)

    async def signed(self, request: httpx.Request) -> httpx.Request:
        raise RemoteCallError("no token for you", code="remote.token_refused", kind="refused")


async def test_what_is_typed_already_stays_as_it_is(agent: RawAgent) -> None:
    """K4, G8: an error of the credentials' comes through as it is, by a call and by a stream."""
    async with client_of(agent, auth=NoToken()) as client:
        for call in (client.get("t1"), anext(client.send(brief()))):
            with pytest.raises(RemoteCallError, match="no token for you") as caught:
                await call
            assert caught.value.code == "remote.token_refused"
    assert agent.calls() == []


# Repairs


async def test_repairs_are_on_the_report_that_they_led_to(agent: RawAgent) -> None:
    """K2, H1: an oddity is named on the report of its own event, and counted once."""
    odd: list[tuple[str, str]] = []
    agent.on(
        "SendStreamingMessage",
        [EV(T("SUBMITTED")), EV(T("working")), EV(T("TASK_STATE_COMPLETED")), EOF],
    )
    async with client_of(agent, on_anomaly=lambda *what: odd.append(what)) as client:
        async with aclosing(client.send(brief())) as stream:
            reports = [one.report async for one in stream]
        agent.on("GetTask", T("cancelled"))
        got = (await client.get("t1")).report
    assert [report.anomalies for report in reports] == [(), ("json.state_alias",), ()]
    assert (got.state, got.anomalies) == (A2AState.CANCELED, ("json.state_alias",))
    assert odd == [("peer", "json.state_alias")] * 2


# Push configs


async def test_a_push_config_comes_and_goes(agent: RawAgent, client: AgentClient) -> None:
    """D2, F1: registered under our id with the token in both places, listed, deleted."""
    assert await client.create_push("t1", **PUSH) == PushConfig("cfg-1", PUSH["url"])
    (config,) = agent.push_configs
    assert (config["token"], config["url"], config["taskId"]) == (TOKEN, PUSH["url"], "t1")
    assert config["authentication"] == {"scheme": "Bearer", "credentials": TOKEN}
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    assert await client.list_push("t1") == (PushConfig("cfg-1", PUSH["url"], digest),)
    await client.delete_push("t1", "cfg-1")
    assert agent.push_configs == []


@pytest.mark.parametrize("answer", [(204, {}, ""), (200, {}, ""), (200, {}, "{}")])
async def test_a_delete_may_be_answered_with_nothing(
    agent: RawAgent, client: AgentClient, answer: Any
) -> None:
    """K2: 204, an empty body and an empty answer are all success."""
    agent.on("DeleteTaskPushNotificationConfig", answer)
    await client.delete_push("t1", "cfg-1")


async def test_a_push_config_that_is_gone(agent: RawAgent, client: AgentClient) -> None:
    """F1: that there is no such config can be told from a failure."""
    agent.on("DeleteTaskPushNotificationConfig", ERR(-32001, "No such config"), ERR(-32603, "Oh"))
    with pytest.raises(RemoteCallError) as caught:
        await client.delete_push("t1", "cfg-1")
    assert caught.value.code == "remote.not_found"
    with pytest.raises(RemoteCallError) as caught:
        await client.delete_push("t1", "cfg-1")
    assert caught.value.code != "remote.not_found"


async def test_an_agent_may_name_a_config_itself(agent: RawAgent, client: AgentClient) -> None:
    """D2: the id that the agent keeps the config under is the one that counts."""
    agent.on(
        "CreateTaskPushNotificationConfig", {"id": "theirs", "taskId": "t1", "url": "http://u"}
    )
    assert (await client.create_push("t1", **PUSH)).id == "theirs"
    agent.on(
        "CreateTaskPushNotificationConfig", {"id": "theirs", "taskId": "t2", "url": "http://u"}
    )
    with pytest.raises(RemoteCallError) as caught:
        await client.create_push("t1", **PUSH)
    assert caught.value.code == "remote.wrong_task"


async def test_an_agent_without_push(agent: RawAgent, client: AgentClient) -> None:
    """D2, case P9: the refusal of a registration is typed."""
    agent.on("CreateTaskPushNotificationConfig", ERR(-32003))
    with pytest.raises(RemoteCallError) as caught:
        await client.create_push("t1", **PUSH)
    assert (caught.value.code, caught.value.kind) == ("remote.push_unsupported", "refused")


async def test_configs_are_listed_page_by_page(agent: RawAgent, client: AgentClient) -> None:
    """I1, case P4: all pages are read, other tasks' configs passed over, and a page that repeats
    ends it.
    """
    one = {"id": "a", "taskId": "t1", "url": "http://u"}
    agent.on(
        "ListTaskPushNotificationConfigs",
        {"configs": [one, {**one, "taskId": "t2"}], "nextPageToken": "p2"},
        {"configs": [{**one, "id": "b", "taskId": ""}], "nextPageToken": "p2"},
    )
    assert [config.id for config in await client.list_push("t1")] == ["a", "b"]
    assert [seen.params.get("pageToken", "") for seen in agent.calls()] == ["", "p2"]


async def test_the_push_token_is_in_no_error_and_no_log(
    agent: RawAgent, client: AgentClient, caplog: pytest.LogCaptureFixture
) -> None:
    """D2, G8, case P10: an agent that quotes the token puts it into no error, cause or log line."""
    caplog.set_level(logging.DEBUG)
    quote = f"I will not take {TOKEN}"
    data = [{"@type": "x", "field": TOKEN, "more": {TOKEN: [TOKEN]}}]
    agent.on(
        "CreateTaskPushNotificationConfig",
        ERR(-32602, quote, data=data),
        ERR(-32602, quote, data=data, status=400),
        (500, {"content-type": "text/plain"}, quote),
        (200, {"content-type": "application/json"}, f'{{"oops {TOKEN}'),
    )
    for _ in range(4):
        with pytest.raises(RemoteCallError) as caught:
            await client.create_push("t1", **PUSH)
        error = caught.value
        assert TOKEN not in f"{error!r} {error} {error.detail}"
        assert error.__cause__ is None
        assert error.__suppress_context__
    assert TOKEN not in caplog.text


# Lists


async def test_a_page_of_tasks(agent: RawAgent, client: AgentClient) -> None:
    """G4: one bounded, filtered page."""
    agent.on(
        "ListTasks",
        {"tasks": [T("WORKING", id="t5").stamped()], "nextPageToken": "more", "totalSize": 9},
    )
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    page = await client.list_tasks(
        context_id="c1",
        state=A2AState.INPUT_REQUIRED,
        since=since,
        page_size=3,
        page_token="p",
        history=4,
    )
    assert [one.report.remote_task_id for one in page.tasks] == ["t5"]
    assert (page.next_page_token, page.total) == ("more", 9)
    (seen,) = agent.calls()
    asked: Json = {name: str(value) for name, value in seen.params.items() if name != "tenant"}
    assert asked == {
        "contextId": "c1",
        "status": "TASK_STATE_INPUT_REQUIRED",
        "statusTimestampAfter": "2026-01-02T03:04:05Z",
        "pageSize": "3",
        "pageToken": "p",
        "historyLength": "4",
    }


# A real agent


async def test_a_real_agent_from_end_to_end() -> None:
    """A1: a2a-sdk's server understands every call, in both bindings."""
    async with lawful_agent() as agent:
        await go_through_all(agent, "JSONRPC", agent.url + "/rpc")
        await go_through_all(agent, "HTTP+JSON", agent.url + "/rest")
        await agent.wait_streams(0)


async def go_through_all(agent: LawfulAgent, binding: Binding, url: str) -> None:
    """A task from its brief to its end, and every call on the way."""
    interface = Interface(url=url, binding=binding)
    card = card_for(agent.url, [binding])
    started = datetime.now(UTC)
    message_id = f"m-{binding}"
    script = (
        '[[ artifact a "Hello, "; append a "world" last; ask "Which hall?"; complete "{reply}" ]]'
    )
    async with client_for(card, interface) as client:
        async with aclosing(client.send(brief(message_id, script))) as stream:
            reports = [one.report async for one in stream]
        assert reports[-1].state is A2AState.INPUT_REQUIRED
        assert reports[-1].text == "Which hall?"
        task_id, context_id = reports[-1].remote_task_id, reports[-1].context_id

        found = await client.find(message_id, since=started)
        assert found is not None
        assert found.report.remote_task_id == task_id
        assert await client.find("m-none", since=started) is None
        assert await client.find("m-none", since=started, context_id=context_id) is None

        push = {**PUSH, "url": "https://locum.example/a2a/push/s1"}
        await client.create_push(task_id, **push)
        assert [config.id for config in await client.list_push(task_id)] == ["cfg-1"]
        await client.delete_push(task_id, "cfg-1")
        assert await client.list_push(task_id) == ()

        reply = brief(f"{message_id}-2", "the big one")
        reply.task_id, reply.context_id = task_id, context_id
        async with aclosing(client.send(reply)) as stream:
            reports = [one.report async for one in stream]
        assert reports[-1].state is A2AState.COMPLETED
        got = (await client.get(task_id)).report
        assert got.state is A2AState.COMPLETED
        assert "".join(str(part.text) for part in got.artifacts[0].parts) == "Hello, world"
        with pytest.raises(RemoteCallError) as caught:
            await client.cancel(task_id)
        assert caught.value.code == "remote.not_cancelable"
        with pytest.raises(RemoteCallError) as caught:
            await client.get("no-such-task")
        assert caught.value.code == "remote.not_found"
        page = await client.list_tasks(context_id=context_id, state=A2AState.COMPLETED)
        assert [one.report.remote_task_id for one in page.tasks] == [task_id]
