"""The agent `self` over real HTTP, asked by a2a-sdk's own client in both bindings (A9)."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator

import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.tasks import InMemoryPushNotificationConfigStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError

from locum.adapters.a2a.own.recent_tasks import RecentTasks
from locum.adapters.a2a.own.server import SelfAgent
from locum.adapters.settings import Settings
from tests.agents.plain import plain_http

from .front import front, raw_answer, served

BINDINGS = ["JSONRPC", "HTTP+JSON"]
CARD = {"name": "Foreman", "description": "Hands work out"}


class Foreman(AgentExecutor):
    """Answers at once, asks, or works until it is told to go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.at_work = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        await update.start_work()
        self.at_work.set()
        said = get_message_text(context.message)
        if said == "ask":
            await update.requires_input(update.new_agent_message([Part(text="Which?")]))
            return
        if said == "slow":
            await self.go_on.wait()
        await update.add_artifact([Part(text=f"did {said}")], artifact_id="a")
        await update.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Served:
    """`self`, served, and an SDK client for it."""

    def __init__(self, url: str, executor: Foreman, client: Client) -> None:
        self.url = url
        self.executor = executor
        self.client = client

    async def send(self, text: str, task: Task | None = None) -> list[StreamResponse]:
        return [one async for one in self.client.send_message(request(text, task))]


def request(text: str, task: Task | None = None, *, at_once: bool = False) -> SendMessageRequest:
    """SendMessage with one text part, about `task` when there is one."""
    message = Message(message_id=f"m-{text}", role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    asked = SendMessageRequest(message=message)
    asked.configuration.return_immediately = at_once
    return asked


@contextlib.asynccontextmanager
async def asked(
    url: str, executor: Foreman, binding: str, *, streaming: bool = True
) -> AsyncIterator[Served]:
    """The SDK's own client for one binding of the `self` that is served at `url`."""
    headers = {"A2A-Version": "1.0"}
    async with plain_http(headers=headers, timeout=20) as http:
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding]
        )
        yield Served(url, executor, await create_client(url, config))


@contextlib.asynccontextmanager
async def self_agent(binding: str, *, streaming: bool = True) -> AsyncIterator[Served]:
    """`self` without its harness, and the SDK's client for one binding of it."""
    settings = Settings.from_mapping({"card": CARD}).card
    assert settings is not None
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        executor = Foreman()
        async with (
            SelfAgent(settings, base_url=url, executor=executor) as agent,
            served(agent.app, listening),
            asked(url, executor, binding, streaming=streaming) as client,
        ):
            yield client


def state(response: StreamResponse) -> str:
    """The short name of the state that a task or a status update is in."""
    one = response.status_update if response.HasField("status_update") else response.task
    return TaskState.Name(one.status.state).removeprefix("TASK_STATE_")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_round_without_streaming(binding: str) -> None:
    """A9: send, get, list and cancel in both bindings, as the SDK's client speaks them."""
    async with self_agent(binding, streaming=False) as self_:
        [answer] = await self_.send("sums")
        assert state(answer) == "COMPLETED"
        got = await self_.client.get_task(GetTaskRequest(id=answer.task.id))
        assert got.artifacts[0].parts[0].text == "did sums"
        listed = await self_.client.list_tasks(ListTasksRequest(page_size=10))
        assert [task.id for task in listed.tasks] == [answer.task.id]
        [asked] = await self_.send("ask")
        assert state(asked) == "INPUT_REQUIRED"
        assert get_message_text(asked.task.status.message) == "Which?"
        canceled = await self_.client.cancel_task(CancelTaskRequest(id=asked.task.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_round_with_streaming(binding: str) -> None:
    """A9: a stream from the brief to the end, and a second listener that subscribes to it."""
    async with self_agent(binding) as self_:
        states: list[str] = []
        task = Task()

        async def listen() -> list[str]:
            heard = []
            async for one in self_.client.subscribe(SubscribeToTaskRequest(id=task.id)):
                heard.append(state(one) if not one.HasField("artifact_update") else "artifact")
                self_.executor.go_on.set()
            return heard

        async with asyncio.TaskGroup() as tasks:
            listening: asyncio.Task[list[str]] | None = None
            async for one in self_.client.send_message(request("slow")):
                states.append(state(one) if not one.HasField("artifact_update") else "artifact")
                if one.HasField("task"):
                    task.CopyFrom(one.task)
                if states[-1] == "WORKING":
                    listening = tasks.create_task(listen())
        assert states == ["SUBMITTED", "WORKING", "artifact", "COMPLETED"]
        assert listening is not None
        assert listening.result() == ["WORKING", "artifact", "COMPLETED"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_reply_goes_on_with_the_task(binding: str) -> None:
    """A9: a question is answered under the task's own id."""
    async with self_agent(binding) as self_:
        asked = (await self_.send("ask"))[0].task
        heard = await self_.send("the red ones", asked)
        assert state(heard[-1]) == "COMPLETED"
        got = await self_.client.get_task(GetTaskRequest(id=asked.id))
        assert got.artifacts[0].parts[0].text == "did the red ones"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_push_configs(binding: str) -> None:
    """A9: push configs are created, read, listed and deleted."""
    async with self_agent(binding) as self_:
        task = (await self_.send("ask"))[0].task
        client, url = self_.client, f"{self_.url}/a2a/push/s1"
        made = await client.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="c1", url=url, token="t")
        )
        assert (made.id, made.url) == ("c1", url)
        got = await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task.id, id="c1")
        )
        assert got.url == url
        ask = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        assert [c.id for c in (await client.list_task_push_notification_configs(ask)).configs] == [
            "c1"
        ]
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="c1")
        )
        assert not (await client.list_task_push_notification_configs(ask)).configs


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_push_token_is_in_no_log(binding: str, caplog: pytest.LogCaptureFixture) -> None:
    """D2, case P10: a token that is registered with `self` is not in its logs, at DEBUG neither."""
    caplog.set_level(logging.DEBUG)
    async with self_agent(binding) as self_:
        task = (await self_.send("ask"))[0].task
        config = TaskPushNotificationConfig(
            task_id=task.id, id="c1", url=f"{self_.url}/nobody", token="s3cret-token"
        )
        config.authentication.scheme = "Bearer"
        config.authentication.credentials = "s3cret-token"
        await self_.client.create_task_push_notification_config(config)
        await self_.send("go", task)
    assert len(caplog.records) > 10
    assert "s3cret-token" not in caplog.text


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_push_is_sent(binding: str) -> None:
    """A9: what was registered is rung at, with the token in its header."""
    heard: asyncio.Queue[tuple[dict[str, str], dict[str, object]]] = asyncio.Queue()

    async def bell(scope: object, receive: object, send: object) -> None:
        body = (await receive())["body"]  # type: ignore[operator]
        headers = {n.decode(): v.decode() for n, v in scope["headers"]}  # type: ignore[index]
        await heard.put((headers, json.loads(body)))
        await send({"type": "http.response.start", "status": 204, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/bell"
        async with served(bell, listening), self_agent(binding) as self_:
            task = (await self_.send("ask"))[0].task
            await self_.client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, id="c1", url=url, token="secret")
            )
            await self_.send("go", task)
            headers, body = await asyncio.wait_for(heard.get(), 10)
            assert headers["x-a2a-notification-token"] == "secret"
            assert next(iter(body)) in ("statusUpdate", "artifactUpdate", "task")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://10.0.0.1/x",
        "ftp://127.0.0.1/x",
        "/relative",
        "http://user:pw@127.0.0.1/x",
        "http://0.0.0.0/x",
    ],
)
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_push_url_into_the_network_is_refused(binding: str, url: str) -> None:
    """A4: whoever reaches `self` cannot have it post to addresses that are nearer than it is."""
    async with self_agent(binding) as self_:
        task = (await self_.send("ask"))[0].task
        with pytest.raises((A2AError, A2AClientError)):
            await self_.client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, id="c1", url=url)
            )


async def test_the_card_is_served_with_an_etag() -> None:
    """A9: the card is at its well-known path, for everybody, and can be validated by its ETag."""
    async with front({"card": CARD}, executor=Foreman(), token="s3cret") as face:
        del face.http.headers["Authorization"]
        first = await face.http.get("/.well-known/agent-card.json")
        assert first.status_code == 200
        assert first.json()["supportedInterfaces"][0]["url"] == f"{face.url}/a2a"
        known = {"If-None-Match": first.headers["etag"]}
        again = await face.http.get("/.well-known/agent-card.json", headers=known)
        assert again.status_code == 304


async def test_the_harness_hands_work_to_itself() -> None:
    """A9: `self` is an agent like any other, reached over HTTP, pushes included; no card fetched."""
    async with front({"card": CARD}, executor=Foreman(), token="s3cret") as face:
        [listed] = (await face.http.get("/v1/agents")).json()["agents"]
        assert (listed["id"], listed["state"], listed["name"]) == ("self", "accepted", "Foreman")
        path = "/v1/parents/p/sub-tasks?wait=settled"
        spawned = await face.http.post(path, json={"agent": "self", "goal": "do it"})
        assert spawned.json()["state"] == "COMPLETED"
        [done] = spawned.json()["artifacts"]
        assert done["parts"][0]["text"].startswith("did ")
        assert "do it" in done["parts"][0]["text"]


async def test_self_asks_and_is_answered() -> None:
    """A9: a question of `self` is watched by push through the harness's own push route."""

    class Asker(Foreman):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            assert context.message is not None
            context.message.parts[0].text = "ask" if context.current_task is None else "slow"
            await super().execute(context, event_queue)

    executor = Asker()
    async with front({"card": CARD}, executor=executor) as face:
        path = "/v1/parents/p/sub-tasks?wait=settled"
        row = (await face.http.post(path, json={"agent": "self", "goal": "g"})).json()
        assert (row["state"], row["text"]) == ("INPUT_REQUIRED", "Which?")
        one = f"/v1/sub-tasks/{row['id']}"
        executor.at_work.clear()
        replied = await face.http.post(f"{one}/reply", json={"text": "the red ones"})
        assert replied.status_code == 202
        await asyncio.wait_for(executor.at_work.wait(), 10)
        executor.go_on.set()
        done = await face.harness.settled(row["id"], timeout=20)
        assert done.state == "COMPLETED"
        events = (await face.http.get(f"{one}/events")).json()["events"]
        [parked] = [event for event in events if event["type"] == "Parked"]
        assert parked["watch"]["mode"] == "push"


async def test_without_a_card_there_is_no_self() -> None:
    """A9: without `[card]` the A2A routes are not there, and say so as every path does."""
    async with front() as face:
        for path in ("/.well-known/agent-card.json", "/a2a", "/a2a/rest/tasks"):
            answer = await face.http.get(path)
            assert (answer.status_code, answer.json()["code"]) == (404, "request.not_found")


async def test_a_large_request_is_refused() -> None:
    """J3: the A2A routes take no body past `limits.body_limit`."""
    tables = {"card": CARD, "limits": {"body_limit": "10KiB"}}
    async with front(tables, executor=Foreman()) as face:
        answer = await face.http.post("/a2a", content=b"x" * 20_000)
        assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")


async def test_a_page_elsewhere_does_not_drive_self() -> None:
    """J1: a browser page on another origin cannot drive `self` either."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await face.http.post("/a2a", json={}, headers={"Origin": "http://evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.foreign_origin")
        answer = await face.http.post("/a2a", json={}, headers={"Host": "evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.foreign_host")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stream_ends_when_the_server_does(binding: str) -> None:
    """F4: a stream of `self` ends in good order, at once, when the server stops."""
    executor = Foreman()
    async with (
        front({"card": CARD}, executor=executor) as face,
        asked(face.url, executor, binding) as self_,
    ):
        heard: list[str] = []
        async with asyncio.timeout(5):
            async for one in self_.client.send_message(request("slow")):
                heard.append(state(one))
                if heard[-1] == "WORKING":
                    face.app.stop()
        assert heard == ["SUBMITTED", "WORKING"]
        refused = await face.http.get("/.well-known/agent-card.json")
        assert (refused.status_code, refused.json()["code"]) == (503, "server.stopping")


async def test_the_stalest_task_is_forgotten() -> None:
    """J3: `self` keeps no more tasks than its limit, nor the push configs of those it forgot."""
    configs = InMemoryPushNotificationConfigStore()
    store, context = RecentTasks(2, configs), ServerCallContext()
    for number in range(4):
        task_id = f"t{number}"
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
        await configs.set_info(task_id, TaskPushNotificationConfig(url="https://x"), context)
        await store.save(Task(id=task_id, context_id="c", status=status), context)
        if number == 2:
            await store.save(Task(id="t1", context_id="c", status=status), context)
    kept = [number for number in range(4) if await store.get(f"t{number}", context)]
    assert kept == [1, 3]
    assert [bool(await configs.get_info(f"t{n}", context)) for n in range(4)] == [
        False,
        True,
        False,
        True,
    ]


async def test_a_head_of_any_kind_comes_to_the_sdk() -> None:
    """A9: what is no A2A request is answered by the SDK, in the words of its binding."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await raw_answer(
            face.url,
            b"POST /a2a HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
            b"content-length: 1\r\n\r\n{",
        )
        assert b'"code":-32700' in answer


async def test_an_agent_that_is_no_longer_open_has_no_client_left() -> None:
    """D11: closing `self` closes its connections and the tasks that its server had begun."""
    settings = Settings.from_mapping({"card": CARD}).card
    assert settings is not None
    before = asyncio.all_tasks()
    async with SelfAgent(settings, base_url="http://127.0.0.1:9", executor=Foreman()) as agent:
        assert agent.app.routes
    assert asyncio.all_tasks() == before
