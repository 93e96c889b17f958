"""What a subscription replays, and what it says live: which of it is heard as a change (D7)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
T1, T2, T3, T4 = (f"2099-01-0{day}T00:00:00Z" for day in (1, 2, 3, 4))
PATIENT = {"quiet_check": "60s"}
"""No silence leads to GetTask: what is heard is heard on the stream."""


@both
async def test_what_comes_before_the_snapshot_is_no_news(binding: Any) -> None:
    """D7: a question that is replayed before the first snapshot is not heard: GetTask knows better."""
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=T3)
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=T1)), EOF])
        agent.on(
            "SubscribeToTask",
            [
                EV(S("INPUT_REQUIRED", "an old one", ts=T2)),
                EV(T("WORKING", ts=T3)),
                EV(S("INPUT_REQUIRED", "which?", ts=T4)),
                HOLD,
            ],
        )
        async with locum({"a": agent.url}, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "INPUT_REQUIRED")).text == "which?"
            assert await kinds(harness, row.id) == ["Created", "Linked", "Parked"]


@both
async def test_what_is_older_than_the_snapshot_is_no_news(binding: Any) -> None:
    """D7: a replay after the snapshot is told by its time, also when the snapshot itself was no news
    and the replay is newer than all that is recorded.
    """
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=T3)
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=T1)), EOF])
        agent.on(
            "SubscribeToTask",
            [
                EV(T("WORKING", ts=T3)),
                EV(S("INPUT_REQUIRED", "an old one", ts=T2)),
                EV(S("INPUT_REQUIRED", "which?", ts=T4)),
                HOLD,
            ],
        )
        async with locum({"a": agent.url}, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "INPUT_REQUIRED")).text == "which?"
            assert await kinds(harness, row.id) == ["Created", "Linked", "Parked"]


@both
async def test_a_change_at_the_snapshots_own_time_is_not_lost(binding: Any) -> None:
    """D7: a live change may bear the very time of the snapshot: GetTask decides, at once."""
    live = asyncio.Event()
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=T1)), EOF])
        agent.on(
            "SubscribeToTask",
            [EV(T("WORKING", ts=T1)), live, EV(S("INPUT_REQUIRED", "which?", ts=T1)), HOLD],
        )
        async with locum({"a": agent.url}, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.task = T("INPUT_REQUIRED", "which?", ts=T1)
            live.set()
            assert (await until(harness, row.id, "INPUT_REQUIRED")).text == "which?"
            assert agent.calls("GetTask")


@both
async def test_an_echo_at_the_snapshots_own_time_is_none(binding: Any) -> None:
    """D7: what bears the time of the snapshot may as well be a replay: GetTask does not show it, and
    it is not heard.
    """
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=T1)
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=T1)), EOF])
        agent.on(
            "SubscribeToTask",
            [
                EV(T("WORKING", ts=T1)),
                EV(S("INPUT_REQUIRED", "an echo", ts=T1)),
                EV(S("INPUT_REQUIRED", "which?", ts=T2)),
                HOLD,
            ],
        )
        async with locum({"a": agent.url}, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "INPUT_REQUIRED")).text == "which?"
            assert await kinds(harness, row.id) == ["Created", "Linked", "Parked"]
