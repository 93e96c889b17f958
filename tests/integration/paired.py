"""a2a-sdk's plain client and ours for one agent, on the same bytes: for docs/upstream.md."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import GetTaskRequest, StreamResponse, Task

from locum.adapters.a2a.calls.remote_agent import AgentClient

from ..agents.raw import RawAgent
from ..agents.sdk import plain_client, send_request
from .clients import brief, client_of

__all__ = ["SEND", "STAMP", "Pair", "both", "pair"]

SEND = "SendStreamingMessage"
STAMP = "2026-01-02T03:04:05Z"
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


class Pair:
    """The plain client and ours, for one agent."""

    def __init__(self, agent: RawAgent, plain: Client, ours: AgentClient) -> None:
        self.agent = agent
        self.plain = plain
        self.ours = ours

    async def plain_send(self) -> list[StreamResponse]:
        """What the plain client hears."""
        return [one async for one in self.plain.send_message(send_request("go"))]

    async def our_send(self) -> list[Any]:
        """What ours hears, as reports."""
        async with aclosing(self.ours.send(brief())) as heard:
            return [one.report async for one in heard]

    async def plain_get(self, task_id: str = "t1") -> Task:
        """GetTask by the plain client."""
        return await self.plain.get_task(GetTaskRequest(id=task_id))


@contextlib.asynccontextmanager
async def pair(binding: Any, **card: Any) -> AsyncIterator[Pair]:
    """Both clients and a raw agent."""
    async with (
        RawAgent(binding, **card) as agent,
        plain_client(agent.url, binding) as plain,
        client_of(agent) as ours,
    ):
        yield Pair(agent, plain, ours)
