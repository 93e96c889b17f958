"""The agent `self` over real HTTP, asked by a2a-sdk's own client in both bindings (A9)."""

import asyncio
import json
import logging
import socket

import pytest
from a2a.client.errors import A2AClientError
from a2a.helpers import get_message_text
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.types.a2a_pb2 import (
    Artifact,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError

from locum.adapters.a2a.own.bounded import CONFIGS_KEPT, FewConfigs
from locum.adapters.a2a.own.recent_tasks import RecentTasks
from locum.adapters.a2a.own.server import SelfAgent
from locum.adapters.settings import LimitSettings, Settings

from .foreman import BINDINGS, CARD, Foreman, request, self_agent, state
from .front import served


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


async def test_the_stalest_tasks_make_room() -> None:
    """J3: all tasks of `self` together are bounded in bytes, too, whatever they change to."""
    store, context = RecentTasks(9, FewConfigs(), room=1000), ServerCallContext()

    async def save(task_id: str, size: int) -> None:
        artifact = Artifact(artifact_id="a", parts=[Part(text="x" * size)])
        await store.save(Task(id=task_id, context_id="c", artifacts=[artifact]), context)

    async def kept() -> list[int]:
        return [n for n in range(4) if await store.get(f"t{n}", context)]

    for number in range(3):
        await save(f"t{number}", 300)
    assert await kept() == [0, 1, 2]
    await save("t0", 900)
    await save("t3", 10)
    assert await kept() == [0, 3]
    await save("t0", 10)
    await save("t1", 300)
    assert await kept() == [0, 1, 3]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_task_that_is_gone_on_with_for_ever(binding: str, streaming: bool) -> None:
    """J3: past its limit a task takes no more messages; it stays as it is, and others are taken."""
    limits = LimitSettings(self_task_limit=20_000)
    async with self_agent(binding, streaming=streaming, limits=limits) as self_:
        await self_.send("ask")
        task = (await self_.client.list_tasks(ListTasksRequest())).tasks[0]

        async def go_on() -> None:
            for number in range(9):
                await self_.send(f"ask {number} " + "x" * 5_000, task)

        with pytest.raises((A2AError, A2AClientError), match="20000 bytes"):
            await go_on()
        kept = await self_.client.get_task(GetTaskRequest(id=task.id))
        assert 10_000 < kept.ByteSize() <= 20_000
        assert (await self_.send("sums"))[-1]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_task_has_few_push_configs(binding: str) -> None:
    """J3: one more is refused; one of them can be changed."""
    async with self_agent(binding, streaming=False) as self_:
        task = (await self_.send("ask"))[0].task

        async def register(number: int) -> None:
            await self_.client.create_task_push_notification_config(
                TaskPushNotificationConfig(
                    task_id=task.id, id=f"c{number}", url="https://agents.example/hook"
                )
            )

        for number in range(CONFIGS_KEPT):
            await register(number)
        await register(0)
        with pytest.raises((A2AError, A2AClientError), match="push configs"):
            await register(CONFIGS_KEPT)


async def test_an_agent_that_is_no_longer_open_has_no_client_left() -> None:
    """D11: closing `self` closes its connections and the tasks that its server had begun."""
    settings = Settings.from_mapping({"card": CARD}).card
    assert settings is not None
    before = asyncio.all_tasks()
    async with SelfAgent(settings, base_url="http://127.0.0.1:9", executor=Foreman()) as agent:
        assert agent.app.routes
    assert asyncio.all_tasks() == before
