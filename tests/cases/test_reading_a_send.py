"""How long the answer to a brief is read, and what of it says which task it is (C4)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
async def test_it_is_read_until_the_task_is_past_submitted(binding: Any) -> None:
    """C4: while the task is SUBMITTED the send is read on; at WORKING it is hung up and followed."""
    taken = asyncio.Event()
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("SUBMITTED")), taken, EV(S("WORKING")), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=5)
            (send,) = agent.calls("SendStreamingMessage")
            assert row.state == "SUBMITTED"
            # Whoever let go of it would be following by the time that another brief is linked.
            agent.on("SendStreamingMessage", [EV(T("SUBMITTED", id="t2")), HOLD])
            other = await harness.spawn("p", agent="a", goal="something else")
            await harness.linked(other.id, timeout=5)
            assert not agent.calls("SubscribeToTask")
            assert not send.hung_up.is_set()
            taken.set()
            async with asyncio.timeout(1):
                await send.hung_up.wait()
            await agent.seen("SubscribeToTask", timeout=5)
            assert (await harness.sub_task(row.id)).state == "WORKING"


@both
@pytest.mark.parametrize(
    "first",
    [T("SUBMITTED"), S("SUBMITTED"), S("WORKING"), A("a", "a beginning")],
    ids=lambda f: f.name,
)
async def test_whatever_comes_first_links(binding: Any, first: Any) -> None:
    """C4: a Task, a status or an artifact: the first that names the task is recorded as its link."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(first), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=5)
            assert (row.remote_task_id, row.context_id) == ("t1", "c1")
            assert (await kinds(harness, row.id))[:2] == ["Created", "Linked"]
