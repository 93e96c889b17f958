"""AgentClient's calls that fail: each is one typed error, and leaves nothing open."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from tests.agents.frames import HOLD
from tests.agents.raw import RawAgent

from .clients import brief, client_of


async def test_no_answer_in_time(agent: RawAgent, client: AgentClient) -> None:
    """C7: a call has an end in time; a read may go out again, a cancel is in doubt."""
    agent.on("GetTask", HOLD)
    agent.on("CancelTask", HOLD)
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t1", timeout=0.1)
    assert (caught.value.code, caught.value.kind) == ("remote.timeout", "transient")
    with pytest.raises(RemoteCallError) as caught:
        await client.cancel("t1", timeout=0.1)
    assert (caught.value.code, caught.value.kind) == ("remote.timeout", "in_doubt")
    await agent.all_closed(1)


async def test_a_cancelled_call_hangs_up(agent: RawAgent, client: AgentClient) -> None:
    """D11: a call that nobody waits for any more is closed, and is no RemoteCallError."""
    agent.on("GetTask", HOLD)
    task = asyncio.create_task(client.get("t1"))
    await agent.seen("GetTask")
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await agent.all_closed(1)


async def test_an_agent_that_is_not_there(agent: RawAgent, client: AgentClient) -> None:
    """C7: a refused connection is transient: nothing was sent, by a call or a send."""
    await agent.stop_listening()
    for call in (client.get("t1"), client.cancel("t1"), anext(client.send(brief()))):
        with pytest.raises(RemoteCallError) as caught:
            await call
        assert (caught.value.code, caught.value.kind) == ("remote.unreachable", "transient")


class NoToken(httpx.Auth):
    """Credentials that cannot be had."""

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, Any]:
        yield await self.signed(request)

    async def signed(self, request: httpx.Request) -> httpx.Request:
        raise RemoteCallError("no token for you", code="remote.token_refused", kind="refused")


async def test_what_is_typed_already_stays_as_it_is(agent: RawAgent) -> None:
    """K4, G8: an error of the credentials' comes through as it is, by a call and by a stream."""
    async with client_of(agent, auth=NoToken()) as client:
        for call in (client.get("t1"), anext(client.send(brief()))):
            with pytest.raises(RemoteCallError, match="no token for you") as caught:
                await call
            assert caught.value.code == "remote.token_refused"
    assert agent.calls() == []
