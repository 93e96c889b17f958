"""Subscriptions that replay what was: no chunk is doubled and none is lost, over real sockets."""

from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import EOF, ERR, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
EARLY = "2020-01-01T00:00:00Z"
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
WHOLE = "one two three "


def _chunks(*texts: str) -> list[Any]:
    return [EV(A("a", text, append=True)) for text in texts]


async def _result(harness: Harness, agent: RawAgent, subscriptions: int, *artifacts: Any) -> str:
    """The result of a task that ends while the latest of so many subscriptions is open."""
    row = await harness.spawn("p", agent="a", goal="count")
    await agent.seen("SubscribeToTask", subscriptions, timeout=15)
    agent.put(T("COMPLETED", artifacts=artifacts, ts=LATEST))
    return (await until(harness, row.id, "COMPLETED")).text


@both
@pytest.mark.parametrize("artifacts", [(), (A("a", WHOLE),)])
async def test_a_replay_that_is_cut(binding: Any, artifacts: Any) -> None:
    """D7, D12: an agent appends from the first chunk on and replays all at each subscription; one
    is cut off after its first chunk.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on(
            "SubscribeToTask",
            [*_chunks("one ", "two ", "three "), EOF],
            [*_chunks("one "), EOF],
            [HOLD],
        )
        async with locum({"a": agent.url}) as harness:
            assert await _result(harness, agent, 3, *artifacts) == WHOLE


@both
@pytest.mark.parametrize("piece", ["one ", "two ", "three "])
async def test_a_replay_before_the_snapshot(binding: Any, piece: str) -> None:
    """D7: what comes before a subscription's first snapshot is in the snapshot already."""
    snapshot = T("WORKING", artifacts=[A("a", WHOLE)], ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(snapshot)
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [*_chunks(piece), EV(snapshot), *_chunks("four "), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.tell(S("COMPLETED", ts=LATEST))
            # GetTask lags: it never has the last chunk.
            assert (await until(harness, row.id, "COMPLETED")).text == f"{WHOLE}four "


@both
async def test_a_log_that_begins_with_its_first_snapshot(binding: Any) -> None:
    """D7: a snapshot that is older than what is known is a part of the replay, and ends it not."""
    log = [EV(T("WORKING", ts=EARLY)), *_chunks("one ", "two ")]
    async with RawAgent(binding) as agent:
        agent.put(T("WORKING", ts=LATER))
        agent.on("SendStreamingMessage", [*log, EV(S("WORKING", "reading", ts=LATER)), EOF])
        agent.on("SubscribeToTask", [*log, EOF], [*log, *_chunks("three "), HOLD])
        async with locum({"a": agent.url}) as harness:
            assert await _result(harness, agent, 2) == WHOLE


@both
async def test_an_agent_that_streams_nothing_but_updates(binding: Any) -> None:
    """D12, case Q7: without a snapshot, ever, what each subscription brought is kept."""
    async with RawAgent(binding) as agent:
        agent.on("GetTask", ERR(-32601, "no such method"))
        agent.on("SendStreamingMessage", [*_chunks("one "), EV(S("WORKING")), EOF])
        agent.on(
            "SubscribeToTask",
            [*_chunks("two "), EOF],
            [*_chunks("three "), EV(S("COMPLETED", ts=LATEST)), EOF],
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "COMPLETED")).text == WHOLE
