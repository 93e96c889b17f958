"""What is not recorded at once because an agent says too much: it is recorded later (D15, D17)."""

import asyncio
from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import EOF, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


def _at(day: int) -> str:
    return f"2099-01-{day:02d}T00:00:00Z"


async def _says(harness: Harness, sub_task_id: str, text: str) -> None:
    """Come back when the row says so."""
    with harness.changes(sub_task_id) as changed:
        async with asyncio.timeout(10):
            while (await harness.sub_task(sub_task_id)).text != text:
                await changed.wait()
                changed.clear()


async def _texts(harness: Harness, sub_task_id: str, kind: str) -> list[str]:
    events = await harness.events(sub_task_id)
    return [event["text"] for event in events if event["type"] == kind]


@both
async def test_the_last_text_of_a_stream_is_recorded_in_its_time(binding: Any) -> None:
    """D17: of texts that come too fast the last one is recorded once `status_interval` is over,
    though nothing more comes; those between are not.
    """
    texts = [EV(S("WORKING", f"at {day}", ts=_at(day))) for day in range(2, 6)]
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=_at(1))
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=_at(1))), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING", ts=_at(1))), *texts, HOLD])
        quiet = {"quiet_check": "60s", "status_interval": "500ms"}
        async with locum({"a": agent.url}, standin=quiet) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await _says(harness, row.id, "at 5")
            assert await _texts(harness, row.id, "Woken") == ["at 2", "at 5"]
            notes, _ = await harness.notes("p")
            assert notes == []


@both
async def test_the_last_question_of_a_restless_agent_that_pushes(binding: Any) -> None:
    """D15: past `flip_limit` a change that a push led to is looked at again when `flip_interval` is
    over, and does not wait for the backstop.
    """
    asked = [T("INPUT_REQUIRED", f"question {day}", ts=_at(day)) for day in range(1, 4)]
    calm = {"flip_limit": 1, "flip_interval": "1s", "push_backstop": "60s"}
    async with RawAgent(binding, push=True) as agent:
        agent.task = asked[0]
        agent.on("SendStreamingMessage", [EV(asked[0]), EOF])
        async with locum({"a": agent.url}, push=True, standin=calm) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen("GetTask", timeout=5)
            for question in asked[1:]:
                looks = len(agent.calls("GetTask"))
                agent.task = question
                await agent.push(A("a", "a beginning"), token=agent.push_configs[0]["token"])
                await agent.seen("GetTask", count=looks + 1, timeout=5)
            await _says(harness, row.id, "question 3")
            agent.task = T("COMPLETED", artifacts=[A("a", "done")], ts=_at(9))
            await agent.push(S("COMPLETED", ts=_at(9)), token=agent.push_configs[0]["token"])
            assert (await until(harness, row.id, "COMPLETED")).text == "done"
            told = [f"question {day}" for day in (1, 2, 3)]
            assert await _texts(harness, row.id, "Parked") == told
