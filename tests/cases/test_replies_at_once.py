"""Replies that are recorded just as the stream has the question once more (C12, E2)."""

import asyncio
from typing import Any

from tests.agents.frames import EOF, EV, HOLD, WAIT, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum

AGAIN, NEXT = "2099-01-01T00:00:00Z", "2099-01-02T00:00:00Z"


async def _replied(harness: Any, agent: RawAgent, agent_id: str, pause: float) -> list[str]:
    again = T("INPUT_REQUIRED", "which?", ts=AGAIN)
    agent.on(
        "SendStreamingMessage",
        [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF],
        [EV(S("WORKING", ts=NEXT)), EOF],
    )
    agent.on("SubscribeToTask", [WAIT(pause), EV(again), HOLD])
    row = await harness.spawn("p", agent=agent_id, goal="count")
    await harness.settled(row.id, timeout=10)
    await agent.seen("SubscribeToTask")
    await asyncio.sleep(pause)
    agent.on("SubscribeToTask", [EV(T("WORKING", ts=NEXT)), HOLD])
    await harness.reply(row.id, "the red one")
    await agent.seen("SendStreamingMessage", count=2, timeout=10)
    return await kinds(harness, row.id)


async def test_a_question_that_comes_again_as_it_is_answered() -> None:
    """C12, E2: with a newer time and another message id it is no next question: the reply leaves."""
    async with (
        RawAgent("JSONRPC") as a,
        RawAgent("JSONRPC") as b,
        RawAgent("HTTP+JSON") as c,
        RawAgent("HTTP+JSON") as d,
    ):
        agents = {"a": a, "b": b, "c": c, "d": d}
        async with locum({name: agent.url for name, agent in agents.items()}) as harness:
            for step in range(8):
                pauses = {name: 0.001 + 0.001 * (4 * step + n) for n, name in enumerate(agents)}
                for events in await asyncio.gather(
                    *(
                        _replied(harness, agents[name], name, pause)
                        for name, pause in pauses.items()
                    )
                ):
                    assert events.count("Parked") <= 2
                    assert events[3] == "Woken"
                for agent in agents.values():
                    agent.requests.clear()
