"""Callers that are cancelled in the middle: what they had recorded is done all the same."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.agents.frames import EOF, EV, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until


async def _left(call: Coroutine[Any, Any, Any], turns: int) -> None:
    """Begin the call, and leave it after so many turns of the loop."""
    task = asyncio.create_task(call)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})


async def test_a_spawn_that_is_left() -> None:
    """I4, C2: whenever its caller leaves, what was recorded is sent, and nothing stays behind.

    It stayed SUBMITTED until the next start, and its parent could not complete.
    """
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        agent.on("SendStreamingMessage", [EV(T("COMPLETED", "done")), EOF])
        await harness.spawn("q", agent="a", goal="let the card be known")
        for turns in range(1, 12):
            await _left(harness.spawn("p", agent="a", goal=f"{turns} turns"), turns)
        last = await harness.spawn("p", agent="a", goal="stay")
        await until(harness, last.id, "COMPLETED")
        rows = await harness.rows("p")
        assert len(rows) > 1
        for row in rows:
            await until(harness, row.id, "COMPLETED")
        await harness.complete("p")


async def test_a_reply_that_is_left() -> None:
    """C12: a reply that was recorded is sent, although whoever gave it has gone."""
    async with (
        RawAgent() as agent,
        locum({"a": {"url": agent.url, "updates": "off"}}) as harness,
    ):
        agent.on(
            "SendStreamingMessage",
            [EV(T("INPUT_REQUIRED", "which?")), EOF],
            [EV(T("COMPLETED", "done")), EOF],
        )
        row = await harness.spawn("p", agent="a", goal="count")
        await until(harness, row.id, "INPUT_REQUIRED")
        await _left(harness.reply(row.id, "the red ones"), 1)
        await until(harness, row.id, "COMPLETED")
