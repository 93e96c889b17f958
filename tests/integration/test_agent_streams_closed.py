"""The streams of AgentClient: each is closed, and the agent sees it, on every exit."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from tests.agents.frames import ERR, EV, HOLD, S, T
from tests.agents.raw import RawAgent

from .clients import brief, client_of, only_closed_generators
from .streams import heard_on, opened


@pytest.fixture(autouse=True)
def _all_generators_closed() -> Iterator[None]:
    """D11: no generator is left to the garbage collector, whatever a test does."""
    with only_closed_generators():
        yield


@pytest.fixture(params=["SendStreamingMessage", "SubscribeToTask"])
def method(request: pytest.FixtureRequest) -> str:
    """Both methods that stream."""
    return str(request.param)


class OddError(Exception):
    """Something that went wrong in whoever reads."""


async def leave_by_return(stream: Any) -> None:
    """Take the first event and go."""
    async with aclosing(stream):
        async for _ in stream:
            return


async def leave_by_exception(stream: Any) -> None:
    """Fail at the first event."""
    try:
        async with aclosing(stream):
            await anext(stream)
            raise OddError  # noqa: TRY301 (leaving by an exception is what is tried)
    except OddError:
        return


async def leave_by_timeout(stream: Any) -> None:
    """Run out of time waiting for the second event."""
    try:
        async with aclosing(stream):
            await anext(stream)
            async with asyncio.timeout(0.01):
                await anext(stream)
    except TimeoutError:
        return


async def leave_by_aclose(stream: Any) -> None:
    """Close it by hand."""
    await anext(stream)
    await stream.aclose()


async def leave_by_cancel(stream: Any, *, busy: bool = False, twice: bool = False) -> None:
    """Be cancelled while waiting for the second event."""
    first = asyncio.Event()

    async def read() -> None:
        async with aclosing(stream):
            async for _ in stream:
                first.set()
                if busy:
                    await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def leave_by_cancel_while_busy(stream: Any) -> None:
    """Be cancelled while doing something with the first event."""
    await leave_by_cancel(stream, busy=True)


async def leave_by_cancelling_twice(stream: Any) -> None:
    """Be cancelled, and cancelled again while the stream is being closed."""
    await leave_by_cancel(stream, busy=True, twice=True)


LEAVE = [
    leave_by_return,
    leave_by_exception,
    leave_by_timeout,
    leave_by_cancel,
    leave_by_cancel_while_busy,
    leave_by_cancelling_twice,
    leave_by_aclose,
]


@pytest.mark.parametrize("leave", LEAVE)
@pytest.mark.parametrize("tenant", ["", "acme"])
async def test_the_agent_sees_the_close(
    agent: RawAgent, method: str, leave: Any, tenant: str
) -> None:
    """D11, case S9: however a stream is left, the agent sees the close within 1 s, and at once."""
    agent.on(method, [EV(T("WORKING")), HOLD])
    async with client_of(agent, tenant=tenant) as client:
        await leave(opened(client, method))
        await agent.all_closed(1)
        (seen,) = agent.calls(method)
        assert seen.hung_up.is_set()
        assert seen.tenant == tenant


@pytest.mark.parametrize("leave", [leave_by_return, leave_by_cancel_while_busy])
async def test_events_that_came_already_do_not_hold_it_open(
    agent: RawAgent, client: AgentClient, method: str, leave: Any
) -> None:
    """D11: a stream is closed also while events that nobody wants are waiting to be read."""
    agent.on(method, [*(EV(S("WORKING", f"chair {number}")) for number in range(200)), HOLD])
    await leave(opened(client, method))
    await agent.all_closed(1)


async def test_trouble_that_nobody_waits_for_is_not_heard(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: an error that came along with the last event that was wanted does not spoil the close."""

    async def all_at_once(seen: Any, reply: Any) -> None:
        events = (EV(T("WORKING")), EV(ERR(-32603, "the hall is on fire")))
        await reply.send(b"".join(reply.event_bytes(event) for event in events))
        await reply.hold()

    agent.on(method, all_at_once)
    await leave_by_return(opened(client, method))
    await agent.all_closed(1)


async def test_a_flood_does_not_hold_it_open(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: an agent that never stops talking sees the close like any other."""

    async def flood(seen: Any, reply: Any) -> None:
        while True:
            await reply.event(S("WORKING", "and another"))

    agent.on(method, flood)
    await leave_by_return(opened(client, method))
    await agent.all_closed(1)


async def test_a_stream_that_nobody_reads_is_never_opened(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """D11: closing what was not begun sends nothing."""
    await opened(client, method).aclose()
    assert agent.calls() == []


async def test_closing_the_client_closes_its_streams(agent: RawAgent, method: str) -> None:
    """D11: at shutdown the agent sees the close, and the reader is told."""
    agent.on(method, [EV(T("WORKING")), HOLD])
    async with client_of(agent) as client:
        stream = opened(client, method)
        await anext(stream)
    with pytest.raises(RemoteCallError):
        await anext(stream)
    await agent.all_closed(1)


async def test_no_first_event_in_time(agent: RawAgent, client: AgentClient, method: str) -> None:
    """C7: the time is for the first event only, and its passing is a typed error."""
    agent.on(method, [HOLD], [EV(T("WORKING")), HOLD])
    stream = (
        client.subscribe("t1", timeout=0.1)
        if method == "SubscribeToTask"
        else client.send(brief(), timeout=0.1)
    )
    with pytest.raises(RemoteCallError) as caught:
        await heard_on(stream)
    assert caught.value.code == "remote.timeout"
    assert caught.value.kind == ("transient" if method == "SubscribeToTask" else "in_doubt")
    await agent.all_closed(1)


async def test_many_streams_at_once(agent: RawAgent, client: AgentClient) -> None:
    """J4: streams do not wait for each other, and all of them close."""
    agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
    streams = [client.subscribe("t1") for _ in range(50)]
    await asyncio.gather(*(anext(stream) for stream in streams))
    assert agent.open_exchanges == 50
    assert (await client.get("t1")).report.state is A2AState.WORKING
    await asyncio.gather(*(stream.aclose() for stream in streams))
    await agent.all_closed(1)
