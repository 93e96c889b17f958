"""When a stream that has ended is opened again, and what ends one that is held (D6)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
BUSY = (429, {"Retry-After": "3"}, b"later")


@both
@pytest.mark.parametrize("who", ["the stream", "the look after it"])
async def test_an_agent_that_wants_time_gets_it(binding: Any, who: str) -> None:
    """D6: a stream is not opened again before the time that the agent asked for (`Retry-After`), be
    it in the refusal of the stream or of the look that comes after it.
    """
    working = [EV(T("WORKING")), EOF]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", working)
        if who == "the stream":
            agent.on("SubscribeToTask", BUSY, [EV(T("WORKING")), HOLD])
        else:
            agent.on("SubscribeToTask", working, [EV(T("WORKING")), HOLD])
            agent.on("GetTask", BUSY, T("WORKING"))
        async with locum({"a": agent.url}) as harness:
            await harness.spawn("p", agent="a", goal="count")
            first, second = await agent.seen("SubscribeToTask", count=2, timeout=10)
            # Not how fast it is: that the agent has the time it asked for is the rule.
            assert second.at - first.at >= 3


@both
async def test_after_a_change_it_does_not_wait_long(binding: Any) -> None:
    """D6: at a change the backing off is forgotten: the next pause is the first one again."""
    working, asks = [EV(T("WORKING")), EOF], T("INPUT_REQUIRED", "which?", ts=LATER)

    async with RawAgent(binding) as agent:

        async def ask(_: Seen, reply: Reply) -> None:
            agent.task = asks
            await reply.play([EV(asks), EOF])

        agent.on("SendStreamingMessage", working)
        agent.on("SubscribeToTask", working, working, ask)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            # The pauses were 1 s and 2 s; the next would have been 4 s, give or take a tenth.
            await agent.seen("SubscribeToTask", count=4, timeout=3)


@both
async def test_a_reply_ends_the_follow_at_once(binding: Any) -> None:
    """D6: the stream that is held while parked is hung up before the reply has been answered."""
    answered = asyncio.Event()
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF],
            [answered, EV(S("WORKING", ts=LATEST)), EOF],
        )
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}, standin={"quiet_check": "60s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=5)
            (held,) = await agent.seen("SubscribeToTask", timeout=5)
            await harness.reply(row.id, "that one")
            await agent.seen("SendStreamingMessage", count=2, timeout=5)
            async with asyncio.timeout(1):
                await held.hung_up.wait()
            answered.set()
