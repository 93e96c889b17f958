"""docs/upstream.md, the server's part: a2a-sdk's own server, asked by clients that do nothing odd.

Each docstring ends in the fault's name there. What locum does about it is shown beside it.
"""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from a2a.client import Client
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from locum.adapters.a2a.envelope import reply_message
from locum.adapters.a2a.interface import Interface

from ..agents.card import card_for
from ..agents.sdk import plain_client, send_request
from .clients import client_for
from .foreman import CARD, Foreman
from .front import front, served


class Asks(AgentExecutor):
    """Asks one question, completes with the answer, and refuses to be cancelled."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        if context.current_task is None:
            await update.requires_input(update.new_agent_message([Part(text="Which hall?")]))
        else:
            await update.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise TaskNotCancelableError


@contextlib.asynccontextmanager
async def server(store: TaskStore | None = None) -> AsyncIterator[str]:
    """The SDK's own server with that agent; its URL. With the same store it goes on where it was."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        card = ParseDict(card_for(url), AgentCard())
        handler = DefaultRequestHandlerV2(
            Asks(),
            store or InMemoryTaskStore(),
            card,
            push_config_store=InMemoryPushNotificationConfigStore(),
        )
        routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")]
        async with served(Starlette(routes=routes), listening):
            yield url
        await handler.aclose()


async def _send(client: Client, request: SendMessageRequest) -> Task:
    (answer,) = [one async for one in client.send_message(request)]
    return answer.task


async def test_a_reply_without_its_context() -> None:
    """C12: after a restart a reply that names only its task is refused, and the task is FAILED by it;
    A2A 3.4.3 has the context inferred. locum sends both (reply-context).
    """
    store = InMemoryTaskStore()
    async with server(store) as url, plain_client(url, "JSONRPC", streaming=False) as client:
        first, second = [await _send(client, send_request("go")) for _ in range(2)]
        assert first.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    async with server(store) as url, plain_client(url, "JSONRPC", streaming=False) as client:
        with pytest.raises(InvalidParamsError):
            await _send(client, send_request("the big one", task=first.id))
        said = await client.get_task(GetTaskRequest(id=first.id))
        assert said.status.state == TaskState.TASK_STATE_FAILED
        interface = Interface(url=f"{url}/rpc", binding="JSONRPC")
        reply = reply_message(
            message_id="r-1", text="the big one", task_id=second.id, context_id=second.context_id
        )
        async with (
            client_for(card_for(url, streaming=False), interface) as ours,
            aclosing(ours.send(reply)) as heard,
        ):
            assert (await anext(heard)).report.state == "COMPLETED"


async def test_a_cancel_that_the_executor_refuses() -> None:
    """F2: an executor that refuses a cancel has its task FAILED, though the client is told that it
    cannot be cancelled; locum believes GetTask (cancel-refused).
    """
    async with server() as url, plain_client(url, "JSONRPC", streaming=False) as client:
        task = await _send(client, send_request("go"))
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        said = await client.get_task(GetTaskRequest(id=task.id))
        assert said.status.state == TaskState.TASK_STATE_FAILED


def test_the_first_status_has_no_time() -> None:
    """D14: the SDK's helper makes a task whose status has no timestamp, so that nobody can tell
    whether an update is newer (first-status).
    """
    message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="go")])
    task = new_task_from_user_message(message)
    assert task.status.state == TaskState.TASK_STATE_SUBMITTED
    assert not task.status.HasField("timestamp")


async def test_push_tokens_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D2: the server logs every request whole at DEBUG, push tokens and all; of `self`'s requests
    none is logged (request-log).
    """
    caplog.set_level(logging.DEBUG)
    # What an earlier `self` in this process has put there stays for good.
    monkeypatch.setattr(logging.getLogger("a2a.server.routes.jsonrpc_dispatcher"), "filters", [])
    config = TaskPushNotificationConfig(url="http://127.0.0.1:9/", token="t0k3n-of-push")
    request = send_request("go")
    request.configuration.task_push_notification_config.CopyFrom(config)
    async with server() as url, plain_client(url, "JSONRPC", streaming=False) as client:
        await _send(client, request)
    assert "t0k3n-of-push" in caplog.text
    caplog.clear()
    async with (
        front({"card": CARD}, executor=Foreman()) as face,
        plain_client(face.url, "JSONRPC", streaming=False) as client,
    ):
        await _send(client, request)
    assert "t0k3n-of-push" not in caplog.text
