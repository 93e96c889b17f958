"""The plain a2a-sdk client against a test peer, for the peers' own tests. Repairs nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a.client import Client, ClientConfig, create_client
from a2a.types.a2a_pb2 import (
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    TaskState,
)

from .frames import Binding
from .plain import plain_http

__all__ = ["plain_client", "send_request", "states"]


@asynccontextmanager
async def plain_client(
    url: str,
    binding: Binding,
    *,
    streaming: bool = True,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Client]:
    """A client of the agent at `url` in one binding; its connections are closed at the end."""
    sent = {"A2A-Version": "1.0"} | (headers or {})
    async with plain_http(headers=sent, timeout=30) as http:
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding]
        )
        yield await create_client(url, config)


def send_request(text: str, *, task: str = "", context: str = "") -> SendMessageRequest:
    """A SendMessage request with one text part."""
    message = Message(
        message_id=f"message-{abs(hash((text, task, context)))}",
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task,
        context_id=context,
    )
    return SendMessageRequest(message=message)


def states(heard: list[StreamResponse]) -> list[str]:
    """The short states of what was heard, in order; `artifact` and `message` for those."""
    named = []
    for one in heard:
        kind = one.WhichOneof("payload")
        if kind in ("task", "status_update"):
            status = one.task.status if kind == "task" else one.status_update.status
            named.append(TaskState.Name(status.state).removeprefix("TASK_STATE_"))
        else:
            named.append("artifact" if kind == "artifact_update" else "message")
    return named
