"""What an agent begins on many streams at once and never ends is bounded, all of it together."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.faults import TooLargeError
from locum.adapters.a2a.wire.notes import CallNotes
from locum.core.errors import RemoteCallError

from ..agents.frames import EOF, EV, HOLD, Binding, T
from ..agents.raw import RawAgent
from ..agents.sdk import states
from .wired import wired

KIB = 1 << 10


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_streams_that_begin_and_do_not_end(binding: Binding) -> None:
    """J3: what an agent's streams hold is limited in all; who holds little is not ended for it."""
    budget = Budget(max_streams=10, unfinished=100 * KIB)
    async with RawAgent(binding) as agent, AsyncExitStack() as stack:
        go_on = asyncio.Event()
        end = [b"\n\n", EV(T("COMPLETED")), EOF]
        small: list[Any] = [EV(T("WORKING")), b"data: " + b" " * 5 * KIB, go_on, *end]
        large = b"data: " + b" " * 40 * KIB
        held: list[Any] = [large, HOLD]
        agent.on("SubscribeToTask", small, held)
        peers = [await stack.enter_async_context(wired(agent, budget=budget)) for _ in range(4)]
        first = asyncio.create_task(peers[0].subscribe())
        await agent.seen("SubscribeToTask")
        others = [asyncio.create_task(peer.subscribe()) for peer in peers[1:]]
        (ended,), left = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
        with pytest.raises(RemoteCallError, match="limit of 102400 bytes") as raised:
            await ended
        assert raised.value.code == "remote.too_large"
        assert len(left) == 2
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        go_on.set()
        assert states(await first) == ["WORKING", "COMPLETED"]
        await agent.all_closed()


async def test_what_is_given_back_can_be_held_by_another() -> None:
    """J3: what a stream held is free when it ends, however often it is told so, or holds less."""
    budget = Budget(max_streams=2, unfinished=100)
    first, second = [await budget.place(CallNotes("SubscribeToTask", streaming=True)) for _ in "ab"]
    first.hold(90)
    with pytest.raises(TooLargeError):
        second.hold(60)
    second.hold(50)
    first.hold(40)
    second.hold(60)
    first.leave()
    first.leave()
    second.hold(100)
    with pytest.raises(TooLargeError):
        second.hold(101)
