"""The raw agent does what its scripts say, in both bindings, and leaves nothing behind."""

import asyncio
import json

import httpx
import pytest
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError

from .frames import COMMENT, CUT, EOF, ERR, EV, HOLD, RST, A, Binding, M, S, T
from .raw import RawAgent
from .reply import Reply
from .sdk import plain_client, send_request, states
from .seen import Seen

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


async def test_the_model_answers_a_whole_round(binding: Binding) -> None:
    """Peers: without a script every method is answered as a lawful agent would."""
    async with RawAgent(binding) as agent, plain_client(agent.url, binding) as client:
        stream = client.send_message(send_request("go"))
        heard = [await anext(stream)]
        agent.complete("the result")
        heard += [one async for one in stream]
        assert states(heard) == ["WORKING", "artifact", "COMPLETED"]

        task = await client.get_task(GetTaskRequest(id="t1"))
        assert task.artifacts[0].parts[0].text == "the result"
        assert task.history[0].parts[0].text == "go"
        with pytest.raises(UnsupportedOperationError):
            [one async for one in client.subscribe(SubscribeToTaskRequest(id="t1"))]
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="another"))

        second = client.send_message(send_request("again"))
        assert (await anext(second)).task.id == "t2"
        canceled = await client.cancel_task(CancelTaskRequest(id="t2"))
        assert canceled.id == "t2"
        assert states([one async for one in second]) == ["CANCELED"]
        page = await client.list_tasks(ListTasksRequest())
        assert [task.id for task in page.tasks] == ["t1", "t2"]


async def test_a_subscription_hears_what_is_told(binding: Binding) -> None:
    """Peers: a stream of the model goes on over a question, and ends with the task."""
    async with RawAgent(binding) as agent, plain_client(agent.url, binding) as client:
        stream = client.subscribe(SubscribeToTaskRequest(id="t1"))
        assert states([await anext(stream)]) == ["WORKING"]
        agent.tell(S("INPUT_REQUIRED", "Which hall?"))
        assert states([await anext(stream)]) == ["INPUT_REQUIRED"]
        agent.tell(S("COMPLETED"))
        assert states([one async for one in stream]) == ["COMPLETED"]


async def test_push_configs_are_kept_and_pushed_to(binding: Binding) -> None:
    """Peers: a config that was created is listed, pushed to, and deleted."""
    async with (
        RawAgent(binding) as agent,
        RawAgent() as receiver,
        plain_client(agent.url, binding) as client,
    ):
        receiver.on("/hook", (204, {}, b""))
        config = TaskPushNotificationConfig(
            task_id="t1", id="mine", url=f"{receiver.url}/hook", token="secret"
        )
        created = await client.create_task_push_notification_config(config)
        assert created.id == "mine"
        listed = await client.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id="t1")
        )
        assert [one.id for one in listed.configs] == ["mine"]

        answer = await agent.push(S("COMPLETED"))
        assert answer.status == 204
        (push,) = receiver.calls("/hook")
        assert push.headers["x-a2a-notification-token"] == "secret"
        assert push.headers["authorization"] == "Bearer secret"
        assert json.loads(push.body)["statusUpdate"]["taskId"] == "t1"

        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id="t1", id="mine")
        )
        assert agent.push_configs == []


async def test_handlers_take_turns_and_the_last_stays(binding: Binding) -> None:
    """Peers: several handlers answer one call each, the last one all that follow."""
    async with RawAgent(binding) as agent, plain_client(agent.url, binding) as client:
        agent.on("GetTask", ERR(-32001), T("COMPLETED", artifacts=[A("a", "done")]))
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="t1"))
        for _ in range(2):
            task = await client.get_task(GetTaskRequest(id="t1"))
            assert task.artifacts[0].parts[0].text == "done"
        assert [seen.task_id for seen in await agent.seen("GetTask", 3)] == ["t1"] * 3


async def test_frames_are_read_by_the_sdk(binding: Binding) -> None:
    """Peers: T, S, A and comments of a script arrive in order; so does a direct message."""
    script = [
        EV(T("SUBMITTED")),
        COMMENT(),
        EV(S("WORKING", "at it")),
        EV(A("a", "Hello, ", 0, 0)),
        EV(A("a", "world", 1, 1)),
        EV(S("COMPLETED"), pretty=True, id="7"),
        EOF,
    ]
    async with RawAgent(binding) as agent, plain_client(agent.url, binding) as client:
        agent.on("SendStreamingMessage", script, [EV(M("hi")), EOF])
        heard = [one async for one in client.send_message(send_request("go"))]
        assert states(heard) == ["SUBMITTED", "WORKING", "artifact", "artifact", "COMPLETED"]
        heard = [one async for one in client.send_message(send_request("hello"))]
        assert heard[0].message.parts[0].text == "hi"
        assert agent.calls("SendStreamingMessage")[1].text == "hello"


async def _read_stream(agent: RawAgent, heard: bytearray) -> None:
    path = "/rpc" if agent.binding == "JSONRPC" else "/rest/message:stream"
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {}}
    async with (
        httpx.AsyncClient(trust_env=False) as http,
        http.stream("POST", agent.url + path, json=call) as response,
    ):
        async for piece in response.aiter_bytes():
            heard += piece


@pytest.mark.parametrize("end", [CUT, RST])
async def test_a_stream_can_be_broken(binding: Binding, end: object) -> None:
    """Peers: CUT and RST are transport errors to the client, after what was said before."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), end])
        heard = bytearray()
        with pytest.raises(httpx.TransportError):
            await _read_stream(agent, heard)
        assert b"TASK_STATE_WORKING" in heard


async def test_a_hang_up_is_noticed(binding: Binding) -> None:
    """Peers: an agent that holds a stream sees the client leave."""
    async with RawAgent(binding) as agent, plain_client(agent.url, binding) as client:
        agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
        stream = client.subscribe(SubscribeToTaskRequest(id="t1"))
        async with asyncio.timeout(5):
            await anext(stream)
            assert agent.open_exchanges == 1
            with pytest.raises(AssertionError, match="under way: SubscribeToTask"):
                await agent.all_closed(timeout=0.05)
            await stream.aclose()  # type: ignore[attr-defined]  # the SDK types it as an iterator
    assert agent.open_connections == 0


async def test_a_handler_writes_what_it_likes(binding: Binding) -> None:
    """Peers: heads, bytes and pauses of a handler reach the client as they are."""

    async def handler(seen: Seen, reply: Reply) -> None:
        assert seen.task_id == "t 1/ü"
        await reply.sse(content_type="Text/Event-Stream; charset=UTF-8", chunked=False)
        await reply.comment(" hello")
        await reply.drip(reply.event_bytes(EV(T("WORKING"), newline="\r\n")), size=7)
        await reply.eof()

    async with RawAgent(binding) as agent, httpx.AsyncClient(trust_env=False) as http:
        agent.on("SubscribeToTask", handler)
        if binding == "JSONRPC":
            params = {"id": "t 1/ü"}
            call = {"jsonrpc": "2.0", "id": "x", "method": "SubscribeToTask", "params": params}
            response = await http.post(agent.rpc_url, json=call)
        else:
            response = await http.post(f"{agent.rpc_url}/tenant/tasks/t%201%2F%C3%BC:subscribe")
            assert agent.calls()[0].tenant == "tenant"
        assert response.headers["content-type"] == "Text/Event-Stream; charset=UTF-8"
        first, data = response.text.split("\n\n", 1)
        assert first == ": hello"
        said = json.loads(data.removeprefix("data: "))
        assert (said["result"] if binding == "JSONRPC" else said)["task"]["id"] == "t1"


async def test_an_error_keeps_its_status_and_headers(binding: Binding) -> None:
    """Peers: ERR and a whole HTTP answer say exactly what the script says."""
    async with RawAgent(binding) as agent, httpx.AsyncClient(trust_env=False) as http:
        agent.on("SendMessage", ERR(-32004), (429, {"retry-after": "1"}, b"slow down"))
        path = "/rpc" if binding == "JSONRPC" else "/rest/message:send"
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}
        error = await http.post(agent.url + path, json=call)
        said = error.json()["error"]
        if binding == "JSONRPC":
            assert (error.status_code, said["code"]) == (200, -32004)
        else:
            assert (error.status_code, said["details"][0]["reason"]) == (
                400,
                "UNSUPPORTED_OPERATION",
            )
        busy = await http.post(agent.url + path, json=call)
        assert (busy.status_code, busy.headers["retry-after"], busy.text) == (
            429,
            "1",
            "slow down",
        )


async def test_connections_can_be_kept(binding: Binding) -> None:
    """Peers: with keep_alive one connection carries several requests."""
    async with RawAgent(binding, keep_alive=True) as agent, httpx.AsyncClient() as http:
        for _ in range(3):
            card = await http.get(f"{agent.url}/.well-known/agent-card.json")
            assert card.json()["name"] == "Raw"
        assert agent.open_connections == 1
        assert agent.open_exchanges == 0
        assert len(agent.calls("AgentCard")) == 3
        assert agent.calls() == []


async def test_what_did_not_come_is_told() -> None:
    """Peers: a wait in vain says what was seen instead."""
    async with RawAgent() as agent, httpx.AsyncClient() as http:
        await http.get(f"{agent.url}/elsewhere")
        with pytest.raises(AssertionError, match=r"1 × GetTask; seen: /elsewhere"):
            await agent.seen("GetTask", timeout=0.01)


async def test_a_failing_handler_fails_the_test() -> None:
    """Peers: an error in a handler is not swallowed."""

    async def handler(seen: Seen, reply: Reply) -> None:
        raise ValueError("a slip in the test")

    async def ask() -> None:
        async with RawAgent() as agent, httpx.AsyncClient() as http:
            agent.on("AgentCard", handler)
            with pytest.raises(httpx.TransportError):
                await http.get(f"{agent.url}/.well-known/agent-card.json")

    with pytest.raises(ExceptionGroup) as caught:
        await ask()
    assert caught.group_contains(ValueError, match="a slip")


async def test_a_frame_keeps_its_first_stamp() -> None:
    """Peers: NOW is filled in once, and rises from frame to frame."""
    first, second = T("WORKING").stamped(), T("WORKING").stamped()
    stamp = first["status"]["timestamp"]
    assert first.stamped()["status"]["timestamp"] == stamp < second["status"]["timestamp"]
    assert "timestamp" not in T("WORKING", ts=None).stamped()["status"]
    assert S("cancelled")["status"]["state"] == "cancelled"
