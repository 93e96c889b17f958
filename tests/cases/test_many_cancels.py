"""More cancels at a time than the agent has places for: each sends its CancelTask (F2, F5)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import HOLD
from tests.agents.raw import RawAgent
from tests.integration.support import locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SUB_TASKS = 5


@both
@pytest.mark.parametrize("grace", ["200ms", "0s"])
async def test_an_agent_that_does_not_answer_its_cancels(binding: Any, grace: str) -> None:
    """F2, F5, J4: whoever cancels waits for the grace and no longer; the agent gets all of them."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", [HOLD])
        table = {"url": agent.url, "max_calls": 2}
        async with locum({"a": table}, standin={"cancel_grace": grace}) as harness:
            rows = [await harness.spawn("p", agent="a", goal=str(n)) for n in range(SUB_TASKS)]
            for row in rows:
                await harness.linked(row.id, timeout=10)
            ended = await harness.cancel_parent("p")
            assert {(row.state, row.anomalies) for row in ended} == {
                ("CANCELED", ("cancel.unconfirmed",))
            }
            await agent.seen("CancelTask", SUB_TASKS, timeout=20)
            assert len({seen.task_id for seen in agent.calls("CancelTask")}) == SUB_TASKS
            for row in ended:
                assert await harness.sub_task(row.id) == row


@both
async def test_an_agent_that_was_busy_for_the_whole_grace(binding: Any) -> None:
    """F2, C7: a CancelTask that was not read in time goes out again, beside the end."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", (503, {"Retry-After": "2"}, b"busy"), [HOLD])
        async with locum({"a": agent.url}, standin={"cancel_grace": "1500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert row.anomalies == ("cancel.unconfirmed",)
            await agent.seen("CancelTask", 2, timeout=10)


@both
async def test_a_stop_while_cancels_wait(binding: Any) -> None:
    """F2, F4, D11: those that still wait for a place when locum stops do not go out any more."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", [HOLD])
        table = {"url": agent.url, "max_calls": 1}
        async with locum({"a": table}, standin={"cancel_grace": "1s"}) as harness:
            rows = [await harness.spawn("p", agent="a", goal=str(n)) for n in range(SUB_TASKS)]
            for row in rows:
                await harness.linked(row.id, timeout=10)
            await harness.cancel_parent("p")
            await agent.seen("CancelTask", 2, timeout=10)
        await agent.all_closed(timeout=3)
        assert len(agent.calls("CancelTask")) < SUB_TASKS
        names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]  # all are coroutines
        assert "_cancel_late" not in names
