"""The SDK's client over the wire against one peer: what the tests of the wire share."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.client.card_resolver import parse_agent_card
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)

from locum.adapters.a2a.wire.pool import open_pool
from locum.adapters.a2a.wire.transport import (
    CALL,
    CallNotes,
    WireClient,
    WireTransport,
    error_for,
)
from locum.core.errors import RemoteCallError

from ..agents.frames import Binding
from ..agents.raw import RawAgent
from ..agents.sdk import send_request

__all__ = ["Wired", "call", "http_over_wire", "wired"]

STREAMS = ("SendStreamingMessage", "SubscribeToTask")


@contextmanager
def call(method: str, **about: Any) -> Iterator[CallNotes]:
    """The notes of one call, in the context of which it is made; trouble becomes typed."""
    notes = CallNotes(method, agent_id="peer", streaming=method in STREAMS, **about)
    token = CALL.set(notes)
    try:
        yield notes
    except RemoteCallError:
        raise
    except Exception as fault:
        raise error_for(fault, notes) from fault
    finally:
        CALL.reset(token)


class Wired:
    """One agent as the SDK hears it over the wire, call by call."""

    def __init__(self, client: Client, http: httpx.AsyncClient) -> None:
        self.client = client
        self.http = http
        self.notes = CallNotes("")
        """Those of the last call."""

    async def stream(
        self, request: SendMessageRequest | SubscribeToTaskRequest
    ) -> list[StreamResponse]:
        """Everything that one stream brings; raises RemoteCallError."""
        return [one async for one in self.listen(request)]

    async def send(self, text: str = "go") -> list[StreamResponse]:
        """What a streaming send brings."""
        return await self.stream(send_request(text))

    async def subscribe(self, task_id: str = "t1") -> list[StreamResponse]:
        """What a subscription brings."""
        return await self.stream(SubscribeToTaskRequest(id=task_id))

    async def listen(
        self, request: SendMessageRequest | SubscribeToTaskRequest
    ) -> AsyncIterator[StreamResponse]:
        """The same, one by one."""
        subscribing = isinstance(request, SubscribeToTaskRequest)
        method = "SubscribeToTask" if subscribing else "SendStreamingMessage"
        task_id = request.id if subscribing else ""
        with call(method, task_id=task_id) as self.notes:
            heard = (
                self.client.subscribe(request)
                if isinstance(request, SubscribeToTaskRequest)
                else self.client.send_message(request)
            )
            async with aclosing(heard):
                async for one in heard:
                    yield one

    async def get(self, task_id: str = "t1") -> Task:
        """One GetTask."""
        with call("GetTask", task_id=task_id) as self.notes:
            return await self.client.get_task(GetTaskRequest(id=task_id))


@asynccontextmanager
async def http_over_wire(
    *,
    pool: httpx.AsyncBaseTransport | None = None,
    timeout: httpx.Timeout | None = None,
    **wire: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """An httpx client over the wire, as the adapters make one."""
    transport = WireTransport(pool or open_pool(limits=wire.get("limits")), **wire)
    async with WireClient(
        transport=transport,
        headers={"A2A-Version": "1.0"},
        timeout=timeout or httpx.Timeout(10, read=None),
        trust_env=False,
    ) as http:
        yield http


@asynccontextmanager
async def wired(
    agent: RawAgent, *, binding: Binding | None = None, streaming: bool = True, **wire: Any
) -> AsyncIterator[Wired]:
    """The peer, over the wire."""
    async with http_over_wire(**wire) as http:
        config = ClientConfig(
            httpx_client=http,
            streaming=streaming,
            supported_protocol_bindings=[binding or agent.binding],
        )
        yield Wired(await create_client(parse_agent_card(dict(agent.card)), config), http)
