"""The agent `self` with a foreman at work, asked by a2a-sdk's own client in both bindings."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import (
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)

from locum.adapters.a2a.own.server import SelfAgent
from locum.adapters.settings import LimitSettings, Settings
from tests.agents.plain import plain_http

from .front import served

__all__ = ["BINDINGS", "CARD", "Foreman", "Served", "asked", "request", "self_agent", "state"]

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
        if said.startswith("ask"):
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
async def self_agent(
    binding: str, *, streaming: bool = True, limits: LimitSettings | None = None
) -> AsyncIterator[Served]:
    """`self` without its harness, and the SDK's client for one binding of it."""
    settings = Settings.from_mapping({"card": CARD}).card
    assert settings is not None
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        executor = Foreman()
        async with (
            SelfAgent(settings, base_url=url, executor=executor, limits=limits) as agent,
            served(agent.app, listening),
            asked(url, executor, binding, streaming=streaming) as client,
        ):
            yield client


def state(response: StreamResponse) -> str:
    """The short name of the state that a task or a status update is in."""
    one = response.status_update if response.HasField("status_update") else response.task
    return TaskState.Name(one.status.state).removeprefix("TASK_STATE_")
