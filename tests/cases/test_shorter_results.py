"""Results that are shorter, gone or under another id at the end, over real sockets."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

LATER = "2099-01-01T00:00:00Z"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("shown, result", [("42 (draft)", "42"), ("42", "42 (draft)")])
async def test_a_result_that_became_shorter(binding: Any, shown: str, result: str) -> None:
    """D12: cut while no stream was open, it is short; of an agent whose GetTask has had less than
    the stream all along, nothing is lost.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(A("a", "42 (draft)")), EOF])
        agent.put(T("WORKING", artifacts=[A("a", shown)]))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", 2, timeout=10)
            agent.put(T("COMPLETED", artifacts=[A("a", "42")], ts=LATER))
            assert (await until(harness, row.id, "COMPLETED")).text == result


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize(
    "shown, at_the_end, result",
    [
        ([A("draft", "about 10")], A("final", "42"), "42"),
        ([], A("final", "42"), "42\nabout 10"),
        ([], A("g1", "about 10"), "about 10"),
    ],
    ids=["removed", "never-shown", "renamed"],
)
async def test_an_artifact_that_is_not_listed_at_the_end(
    binding: Any, shown: Any, at_the_end: Any, result: str
) -> None:
    """D12: what GetTask had shown whole and lists no more is gone; under another id it is the same;
    what it never had is kept.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(A("draft", "about 10")), EOF])
        agent.put(T("WORKING", artifacts=shown))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", 2, timeout=10)
            agent.put(T("COMPLETED", artifacts=[at_the_end], ts=LATER))
            assert (await until(harness, row.id, "COMPLETED")).text == result


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("final, asked", [("final", 1), ("draft", 0)])
async def test_an_artifact_that_the_end_on_the_stream_lacks(
    binding: Any, final: str, asked: int
) -> None:
    """D12: where the whole end on a stream lacks what GetTask had shown, GetTask is asked once."""
    draft = T("WORKING", artifacts=[A("draft", "about 10")])
    end = T("COMPLETED", artifacts=[A(final, "about 10 or 42")], ts=LATER)
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.put(draft)
        once_put = asyncio.Event()
        second = [EV(draft), once_put, EV(end), HOLD]
        agent.on("SubscribeToTask", [EV(A("draft", "about 10")), EOF], second)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", 2, timeout=10)
            before = len(agent.calls("GetTask"))
            agent.put(end)
            once_put.set()
            assert (await until(harness, row.id, "COMPLETED")).text == "about 10 or 42"
            assert len(agent.calls("GetTask")) == before + asked
