"""The lawful agent does what its scripts say: checked with the plain a2a-sdk client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from a2a.client import Client
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf import json_format

from .frames import Binding
from .process import LawfulAgent, lawful_agent
from .raw import RawAgent
from .sdk import plain_client, send_request, states

pytestmark = pytest.mark.asyncio(loop_scope="module")

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started() -> AsyncIterator[LawfulAgent]:
    """One lawful agent with both bindings for the whole module: a start takes seconds."""
    async with lawful_agent() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def agent(started: LawfulAgent) -> LawfulAgent:
    """The agent, as if it had just been started."""
    await started.forget()
    return started


@pytest_asyncio.fixture(loop_scope="module")
async def client(agent: LawfulAgent, binding: Binding) -> AsyncIterator[Client]:
    """A plain client of it."""
    async with plain_client(agent.url, binding) as made:
        yield made


async def _hear(
    client: Client, text: str, *, task: str = "", context: str = ""
) -> list[StreamResponse]:
    request = send_request(text, task=task, context=context)
    return [one async for one in client.send_message(request)]


async def test_an_unscripted_message_is_echoed(agent: LawfulAgent, client: Client) -> None:
    """Peers: the default is to work, echo and complete; the request is told at /control."""
    heard = await _hear(client, "Count the chairs")
    assert states(heard) == ["SUBMITTED", "WORKING", "artifact", "COMPLETED"]
    task = await client.get_task(GetTaskRequest(id=heard[0].task.id))
    assert task.artifacts[0].parts[0].text == "Count the chairs"

    (sent,) = await agent.requests("SendStreamingMessage")
    assert sent["headers"]["a2a-version"] == "1.0"
    assert sent["params"]["message"]["parts"][0]["text"] == "Count the chairs"
    assert sent["status"] == 200
    (got,) = await agent.requests("GetTask")
    assert got["task_id"] == task.id
    assert len(await agent.requests("AgentCard")) == 1


async def test_a_script_streams_chunks_asks_and_goes_on(client: Client) -> None:
    """Peers: chunks, parts, a question and its reply come as the script says."""
    heard = await _hear(
        client,
        'Find them [[ work "Looking"; artifact a "Hello, "; append a "big " ; append a "world" last\n'
        'artifact f raw "r.bin" application/x "base64:AAE=" url "https://x.example/y" y.csv text/csv'
        ' {"n": 1, "list": [1, 2]}; ask "Which hall?"; work; complete "{reply}, as {text}" ]] now',
    )
    assert states(heard) == [
        *("SUBMITTED", "WORKING", "artifact", "artifact", "artifact", "artifact"),
        "INPUT_REQUIRED",
    ]
    assert heard[1].status_update.status.message.parts[0].text == "Looking"
    assert [one.artifact_update.append for one in heard[2:5]] == [False, True, True]
    assert [one.artifact_update.last_chunk for one in heard[2:5]] == [False, False, True]
    raw, url, data = heard[5].artifact_update.artifact.parts
    assert (raw.raw, raw.filename, raw.media_type) == (b"\0\1", "r.bin", "application/x")
    assert (url.url, url.filename) == ("https://x.example/y", "y.csv")
    assert json_format.MessageToDict(data)["data"] == {"n": 1, "list": [1, 2]}
    assert heard[6].status_update.status.message.parts[0].text == "Which hall?"

    task = heard[0].task
    heard = await _hear(client, "the red one", task=task.id, context=task.context_id)
    assert states(heard)[-2:] == ["WORKING", "COMPLETED"]
    done = await client.get_task(GetTaskRequest(id=task.id))
    assert done.status.message.parts[0].text == "the red one, as Find them  now"
    assert [part.text for part in done.artifacts[0].parts] == ["Hello, ", "big ", "world"]


@pytest.mark.parametrize(
    "script, state, text",
    [
        ('fail "no chairs"', TaskState.TASK_STATE_FAILED, "no chairs"),
        ('reject "not mine"', TaskState.TASK_STATE_REJECTED, "not mine"),
        ('cancel "gone"', TaskState.TASK_STATE_CANCELED, "gone"),
        ("dance", TaskState.TASK_STATE_REJECTED, "bad script"),
        ('complete "unended', TaskState.TASK_STATE_REJECTED, "bad script"),
    ],
)
async def test_other_ends(client: Client, script: str, state: int, text: str) -> None:
    """Peers: fail, reject and cancel end the task with their text; so does a bad script."""
    status = (await _hear(client, f"[[ {script} ]]"))[-1].status_update.status
    assert status.state == state
    assert text in status.message.parts[0].text


async def test_a_direct_message(client: Client) -> None:
    """Peers: `message` answers without a task."""
    (answer,) = await _hear(client, '[[message "hello {text}"]] you')
    assert answer.message.parts[0].text == "hello you"


async def test_an_error_in_the_agent(client: Client) -> None:
    """Peers: `raise` is the SDK's own failure: the task is FAILED."""
    stream = client.send_message(send_request('[[ work; raise "oops" ]]'))
    first = await anext(stream)
    with pytest.raises(A2AError):
        [one async for one in stream]
    task = await client.get_task(GetTaskRequest(id=first.task.id))
    assert task.status.state == TaskState.TASK_STATE_FAILED


async def test_authorisation_clears_without_a_message(agent: LawfulAgent, client: Client) -> None:
    """Peers: `auth … until` waits for a release, `auth … for` for a time."""
    stream = client.send_message(
        send_request('[[ auth "Log in" until in; auth "Again" for 0.01; complete ]]')
    )
    heard = [await anext(stream), await anext(stream)]
    await agent.wait_gate("in")
    await agent.release("in")
    heard += [one async for one in stream]
    assert states(heard) == [
        *("SUBMITTED", "AUTH_REQUIRED", "WORKING"),
        *("AUTH_REQUIRED", "WORKING", "COMPLETED"),
    ]


async def test_authorisation_by_message(client: Client) -> None:
    """Peers: a bare `auth` waits for a message, as a question does."""
    heard = await _hear(client, '[[ auth {"url": "https://login.example"}; complete "{reply}" ]]')
    assert states(heard)[-1] == "AUTH_REQUIRED"
    task = heard[0].task
    heard = await _hear(client, "done so", task=task.id)
    assert heard[-1].status_update.status.message.parts[0].text == "done so"


async def test_a_status_carries_metadata(client: Client) -> None:
    """Peers: `meta` puts metadata on the next status or artifact."""
    heard = await _hear(client, '[[ meta {"sub": {"state": "x"}}; ask "?" ]]')
    assert json_format.MessageToDict(heard[-1].status_update.metadata) == {"sub": {"state": "x"}}


async def test_a_hanging_task_is_followed_listed_and_cancelled(
    agent: LawfulAgent, client: Client
) -> None:
    """Peers: subscribe, list and cancel work on a task that hangs, and its streams end."""
    stream = client.send_message(send_request("[[ work; hang ]]"))
    task = (await anext(stream)).task
    followed = client.subscribe(SubscribeToTaskRequest(id=task.id))
    assert (await anext(followed)).task.id == task.id
    await agent.wait_streams(2)
    page = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
    assert [one.id for one in page.tasks] == [task.id]
    canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert states([one async for one in followed])[-1] == "CANCELED"
    assert states([one async for one in stream])[-1] == "CANCELED"
    await agent.wait_streams(0)
    with pytest.raises(UnsupportedOperationError):
        [one async for one in client.subscribe(SubscribeToTaskRequest(id=task.id))]


async def test_cancel_can_be_refused_answered_otherwise_or_slow(
    agent: LawfulAgent, client: Client
) -> None:
    """Peers: `on-cancel` says what a CancelTask does."""
    first = await anext(client.send_message(send_request("[[ on-cancel refuse; hang ]]")))
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=first.task.id))
    task = await client.get_task(GetTaskRequest(id=first.task.id))
    assert task.status.state == TaskState.TASK_STATE_SUBMITTED

    other = await anext(
        client.send_message(send_request('[[ on-cancel complete "ready"; work; hang ]]'))
    )
    task = await client.cancel_task(CancelTaskRequest(id=other.task.id))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].text == "ready"

    slow = await anext(client.send_message(send_request("[[ on-cancel wait later; work; hang ]]")))
    cancelling = asyncio.create_task(client.cancel_task(CancelTaskRequest(id=slow.task.id)))
    await agent.wait_gate("later")
    await agent.release("later")
    assert (await cancelling).status.state == TaskState.TASK_STATE_CANCELED


async def test_push_configs_are_kept_and_pushed_to(agent: LawfulAgent, client: Client) -> None:
    """Peers: a registered config gets the SDK's own pushes, and can be deleted."""
    async with RawAgent() as receiver:
        receiver.on("/hook", (204, {}, b""))
        stream = client.send_message(send_request("[[ work; wait go; complete ]]"))
        task = (await anext(stream)).task
        for name in ("one", "two"):
            config = TaskPushNotificationConfig(
                task_id=task.id, id=name, url=f"{receiver.url}/hook", token="secret"
            )
            await client.create_task_push_notification_config(config)
        await agent.wait_push_config(task.id)
        listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(listing)
        assert {one.id for one in listed.configs} == {"one", "two"}
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="two")
        )
        assert [one["id"] for one in await agent.push_configs(task.id)] == ["one"]
        await agent.release("go")
        (push,) = await receiver.seen("/hook")
        assert push.headers["x-a2a-notification-token"] == "secret"
        [one async for one in stream]


@pytest.mark.timeout(180)  # two processes are started, one after the other
@pytest.mark.parametrize("binding, crash", [("JSONRPC", True), ("HTTP+JSON", False)])
async def test_a_lasting_store_outlives_the_process(
    tmp_path: Path, binding: Binding, crash: bool
) -> None:
    """Peers: a question asked before a restart is answered after it, on the same port."""
    async with AsyncExitStack() as stack:
        agent = await stack.enter_async_context(
            lawful_agent(store=f"sqlite:{tmp_path / 'agent.db'}")
        )
        async with plain_client(agent.url, binding) as client:
            heard = await _hear(client, '[[ work; ask "Which?"; complete "{reply}" ]]')
        task = heard[0].task
        url = agent.url
        if crash:
            await agent.kill()
        else:
            assert await agent.stop() == 0
        await agent.restart()
        assert agent.url == url
        async with plain_client(agent.url, binding) as client:
            # The SDK makes up another context for a reply that names only a task it has no longer
            # in memory, and then refuses it.
            heard = await _hear(client, "this", task=task.id, context=task.context_id)
            assert heard[-1].status_update.status.message.parts[0].text == "this"


async def test_an_agent_that_can_less() -> None:
    """Peers: without streaming and push the SDK refuses both, and a send answers at once."""
    async with lawful_agent(streaming=False, push=False, name="Less") as agent:
        for binding in BINDINGS:
            async with plain_client(agent.url, binding) as client:
                request = send_request("[[ work; hang ]]")
                request.configuration.return_immediately = True
                (answer,) = [one async for one in client.send_message(request)]
                assert answer.task.status.state == TaskState.TASK_STATE_SUBMITTED
                config = TaskPushNotificationConfig(task_id=answer.task.id, id="x", url="http://x")
                with pytest.raises(PushNotificationNotSupportedError):
                    await client.create_task_push_notification_config(config)
                with pytest.raises(TaskNotFoundError):
                    await client.get_task(GetTaskRequest(id="another"))
        assert await agent.stop() == 0


async def test_a_guarded_agent() -> None:
    """Peers: a bearer token is asked for, at the card too when told so."""
    async with lawful_agent(token="open sesame", guard_card=True, extensions=["urn:x"]) as agent:
        headers = {"Authorization": "Bearer open sesame"}
        async with httpx.AsyncClient(trust_env=False) as http:
            card = f"{agent.url}/.well-known/agent-card.json"
            refused = await http.get(card)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Bearer")
            told = (await http.get(card, headers=headers)).json()
            assert told["capabilities"]["extensions"] == [{"uri": "urn:x"}]
            assert told["securityRequirements"] == [{"schemes": {"bearer": {}}}]
        for binding in BINDINGS:
            async with plain_client(agent.url, binding, headers=headers) as client:
                assert states(await _hear(client, "hello"))[-1] == "COMPLETED"


async def test_a_wait_in_vain_says_what_was_seen(agent: LawfulAgent) -> None:
    """Peers: a control wait that is not reached is an AssertionError with the requests."""
    with pytest.raises(AssertionError, match="seen: nothing; open streams: 0"):
        await agent.wait_for("GetTask", timeout=0.01)
