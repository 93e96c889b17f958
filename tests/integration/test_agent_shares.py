"""An agent whose answers cost the event loop much waits for its next turn; the others do not (J4)."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, suppress

import pytest
from a2a.client.interceptors import AfterArgs
from a2a.types.a2a_pb2 import SubscribeToTaskRequest

from locum.adapters.a2a.calls.sdk_stream import ReadToTheEnd
from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.loop_share import LoopShare
from tests.agents.frames import EV, HOLD, Binding, S, T, data_part
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .clients import client_of, only_closed_generators
from .front import front
from .support import QUICK
from .wired import call, wired

LARGE = "x" * 20_000
"""A text that makes an event that is handed on alone."""


@pytest.fixture(autouse=True)
def _all_generators_closed() -> Iterator[None]:
    """D11: no generator is left to the garbage collector, whatever a test does."""
    with only_closed_generators():
        yield


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def binding(request: pytest.FixtureRequest) -> Binding:
    """Both bindings."""
    made: Binding = request.param
    return made


async def _waits(share: LoopShare, count: int) -> None:
    async with asyncio.timeout(10):
        while share.waiting != count:
            await asyncio.sleep(0.005)


async def test_what_an_agent_has_cost_all_that_it_says_waits_for(binding: Binding) -> None:
    """J4, D11: after an event the agent's streams and answers wait; who hangs up does not."""
    share = LoopShare()
    async with RawAgent(binding) as agent, client_of(agent, budget=Budget(share=share)) as client:
        agent.on("SubscribeToTask", [EV(T("WORKING")), EV(S("WORKING", "more")), HOLD])
        agent.on("GetTask", T("WORKING"))
        stream = client.subscribe("t1")
        async with aclosing(stream):
            first = await anext(stream)
            assert first.report.state == "WORKING"
            share.spend(1e6)
            asked = asyncio.create_task(client.get("t1"))
            await _waits(share, 1)
            other = client.subscribe("t1")
            heard = asyncio.create_task(anext(other))
            await _waits(share, 2)
            asked.cancel()
            heard.cancel()
            for task in (asked, heard):
                with suppress(asyncio.CancelledError):
                    await task
            assert share.waiting == 0
            await other.aclose()
        await agent.all_closed()


async def test_another_agent_is_served_meanwhile(
    binding: Binding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J4, F4: a share is one agent's, and locum ends at once while streams of it wait."""
    monkeypatch.setattr("locum.adapters.loop_share._FREE", 0.05)
    monkeypatch.setattr("locum.adapters.loop_share._PART", 1e-9)  # no test outlasts that wait
    async with RawAgent(binding) as costly, RawAgent(binding) as other:
        busy = S("WORKING", "busy")
        busy["status"]["message"]["parts"].append(data_part([1] * 50_000))
        costly.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        costly.on("SubscribeToTask", [EV(T("WORKING")), EV(busy), EV(T("COMPLETED")), HOLD])
        other.on("SendStreamingMessage", [EV(T("COMPLETED"))])
        tables = {
            "standin": QUICK,
            "agents": [{"id": "costly", "url": costly.url}, {"id": "other", "url": other.url}],
        }
        async with asyncio.timeout(20), front(tables) as face:
            harness = face.harness
            row = await harness.spawn("p", agent="costly", goal="g")
            with harness.changes(row.id) as changed:
                while (await harness.sub_task(row.id)).text != "busy":
                    await changed.wait()
                    changed.clear()
            for _ in range(10):
                done = await harness.spawn("p", agent="other", goal="g")
                assert (await harness.settled(done.id)).state == "COMPLETED"
            assert (await harness.sub_task(row.id)).state == "WORKING"
        await costly.all_closed()


async def _burst(seen: Seen, reply: Reply) -> None:
    """Three large events in one write, and then nothing."""
    await reply.sse()
    await reply.send(b"".join(reply.event_bytes(EV(S("WORKING", LARGE))) for _ in range(3)))
    await reply.play([HOLD])


async def test_who_hangs_up_reads_nothing_more(binding: Binding) -> None:
    """F4, D11: what has arrived by then is dropped unread, however much it is."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SubscribeToTask", _burst)
        with call("SubscribeToTask", task_id="t1") as notes:
            stream = peer.client.subscribe(SubscribeToTaskRequest(id="t1"))
            await anext(stream)
            before = notes.events
            assert before <= 2
            await notes.hang_up()
            assert [one async for one in stream] == []
            assert notes.events == before
        await agent.all_closed()


async def test_leaving_a_stream_parses_nothing_more(
    binding: Binding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F4: a stream that is left in the midst of a burst has parsed what was asked for, no more."""
    parsed: list[int] = []
    after = ReadToTheEnd.after

    async def noted(self: ReadToTheEnd, args: AfterArgs) -> None:
        parsed.append(1)
        await after(self, args)

    monkeypatch.setattr(ReadToTheEnd, "after", noted)
    async with RawAgent(binding) as agent, client_of(agent) as client:
        agent.on("SubscribeToTask", _burst)
        async with aclosing(client.subscribe("t1")) as stream:
            assert (await anext(stream)).report.text == LARGE
        assert len(parsed) == 1
        await agent.all_closed()
