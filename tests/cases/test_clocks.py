"""Agents that keep less of a time than their stream has, and agents with several clocks (D8, D14)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
FINE = "2098-01-01T00:00:05.700000Z"
CUT = "2098-01-01T00:00:05Z"
BEHIND = "2098-01-01T00:00:03Z"


async def told(harness: Any) -> list[str]:
    """What the model was told, in the agent's words."""
    notes, _ = await harness.notes("p")
    return [note.text for note in notes]


@both
async def test_a_store_that_keeps_whole_seconds(binding: Any) -> None:
    """D14, D8: a question in the second of the last text is heard, though its fraction is gone."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FINE)), EOF])
        asks = T("INPUT_REQUIRED", "Which colour?", ts=CUT)
        agent.put(asks)
        agent.on("SubscribeToTask", [EV(asks), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            assert (row.text, row.anomalies) == ("Which colour?", ())
            looks = len(agent.calls("GetTask"))
            await agent.seen("GetTask", count=looks + 2, timeout=10)
            assert await told(harness) == ["Which colour?"]


async def test_a_push_agent_that_keeps_whole_seconds() -> None:
    """D14, D3: the next question in a second is settled by a second look, without another push."""
    async with RawAgent("JSONRPC", push=True) as agent:
        agent.on("SendStreamingMessage", [EV(T("AUTH_REQUIRED", "Log in", ts=FINE)), EOF])
        agent.put(T("AUTH_REQUIRED", "Log in", ts=CUT))
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await until(harness, row.id, "AUTH_REQUIRED")
            await agent.seen("GetTask", timeout=5)
            agent.put(T("INPUT_REQUIRED", "Which hall?", ts=CUT))
            await agent.push(S("INPUT_REQUIRED", ts=CUT), token=agent.push_configs[-1]["token"])
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.watch == "push"
            assert await told(harness) == ["Log in", "Which hall?"]


@pytest.mark.parametrize("streaming", [True, False])
@both
async def test_a_clock_that_is_behind(binding: Any, streaming: bool) -> None:
    """D8, D14: what GetTask keeps saying is heard although its time is older, with an anomaly."""
    async with RawAgent(binding, streaming=streaming) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FINE)), EOF])
        agent.on("SendMessage", [T("WORKING", ts=FINE)])
        agent.put(T("INPUT_REQUIRED", "Which colour?", ts=BEHIND))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=15)
            assert (row.state, row.text) == ("INPUT_REQUIRED", "Which colour?")
            assert row.anomalies == ("timestamp.older",)
            parked = (await history(harness, row.id))[-1]
            assert parked["remote_at"] == "2098-01-01T00:00:03.000000Z"
            agent.put(T("COMPLETED", ts=BEHIND))
            await until(harness, row.id, "COMPLETED")
            assert await told(harness) == ["Which colour?", ""]


async def test_a_push_agent_whose_clock_is_behind() -> None:
    """D8, D3: nor does such an agent have to ring twice."""
    async with RawAgent("JSONRPC", push=True) as agent:
        agent.on("SendStreamingMessage", [EV(T("AUTH_REQUIRED", "Log in", ts=FINE)), EOF])
        agent.put(T("AUTH_REQUIRED", "Log in", ts=FINE))
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await until(harness, row.id, "AUTH_REQUIRED")
            await agent.seen("GetTask", timeout=5)
            agent.put(T("INPUT_REQUIRED", "Which hall?", ts=BEHIND))
            await agent.push(S("INPUT_REQUIRED", ts=BEHIND), token=agent.push_configs[-1]["token"])
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert await told(harness) == ["Log in", "Which hall?"]


@both
async def test_a_replica_that_is_behind_now_and_then(binding: Any) -> None:
    """D14: an older state that GetTask does not stick to changes nothing."""
    old = T("INPUT_REQUIRED", "Which colour?", ts=BEHIND)
    works = T("WORKING", ts=FINE)
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", [works])
        agent.on("GetTask", *([old], [works]) * 3, [T("COMPLETED", "done", ts=BEHIND)])
        async with locum({"a": agent.url}, standin={"quiet_check": "1500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await until(harness, row.id, "COMPLETED", timeout=20)
            assert await told(harness) == ["done"]


@both
async def test_a_judge_that_is_behind_a_live_stream(binding: Any) -> None:
    """D14, D8: what GetTask sticks to counts for nothing while live updates say otherwise."""
    looked = [asyncio.Event() for _ in range(3)]
    works = [step for gate in looked for step in (gate, EV(S("WORKING", ts=FINE)))]
    ends = EV(T("COMPLETED", "done", ts="2098-01-01T00:00:09Z"))
    async with RawAgent(binding) as agent:

        async def look(seen: Seen, reply: Reply) -> None:
            next(gate for gate in looked if not gate.is_set()).set()
            await reply.json(T("INPUT_REQUIRED", "Which colour?", ts=BEHIND))

        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=FINE)), EOF])
        agent.on("GetTask", look)
        agent.on("SubscribeToTask", [EV(T("WORKING", ts=FINE)), *works, ends, HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await until(harness, row.id, "COMPLETED", timeout=20)
            assert await told(harness) == ["done"]
