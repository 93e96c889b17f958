"""An AgentClient for a test peer, over the real wire and real sockets. No fixtures, no mocks."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import AgentCard, Message
from google.protobuf.json_format import ParseDict

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.envelope import brief_message
from locum.adapters.a2a.interface import Interface
from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.notes import WireLimits
from locum.adapters.a2a.wire.pool import open_pool
from locum.adapters.a2a.wire.transport import WireClient, WireTransport
from tests.agents.frames import Binding, Json
from tests.agents.raw import RawAgent

__all__ = ["brief", "client_for", "client_of", "only_closed_generators"]


def brief(message_id: str = "m-1", goal: str = "Count the red chairs", **more: Any) -> Message:
    """A brief to send."""
    return brief_message(message_id=message_id, goal=goal, participant_id="locum", **more)


@asynccontextmanager
async def client_for(
    card: Json, interface: Interface, **options: Any
) -> AsyncIterator[AgentClient]:
    """A client for the agent of `card`; `options` are AgentClient's, `budget` and `auth`."""
    limits = WireLimits()
    transport = WireTransport(open_pool(limits=limits), limits, options.pop("budget", Budget()))
    given: dict[str, Any] = {
        "agent_id": "peer",
        "participant_id": "locum",
        "on_anomaly": lambda agent_id, name: None,
    }
    async with WireClient(
        transport=transport,
        headers={"A2A-Version": "1.0"},
        timeout=httpx.Timeout(10, read=None),
        trust_env=False,
        auth=options.pop("auth", None),
    ) as http:
        yield AgentClient(
            card=ParseDict(card, AgentCard()), interface=interface, http=http, **given | options
        )


@asynccontextmanager
async def client_of(agent: RawAgent, **options: Any) -> AsyncIterator[AgentClient]:
    """A client for a raw agent, at its own interface."""
    binding: Binding = agent.binding
    tenant = options.pop("tenant", "")
    interface = Interface(url=agent.rpc_url, binding=binding, tenant=tenant)
    async with client_for(agent.card, interface, **options) as client:
        yield client


@contextmanager
def only_closed_generators() -> Iterator[None]:
    """Fails when an async generator is left to the garbage collector instead of being closed."""
    loops = asyncio.base_events.BaseEventLoop
    finalize = loops._asyncgen_finalizer_hook  # type: ignore[attr-defined]  # a private method
    left: list[str] = []

    def noted(loop: asyncio.AbstractEventLoop, generator: Any) -> None:
        left.append(generator.__qualname__)
        finalize(loop, generator)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "_asyncgen_finalizer_hook", noted)
        gc.freeze()  # so that only what comes now has to be looked through
        try:
            yield
            gc.collect()
        finally:
            gc.unfreeze()
    assert not left, f"left to the garbage collector: {left}"
