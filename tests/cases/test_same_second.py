"""Agents whose clocks are coarse: what comes in one and the same second (D7, E2)."""

import asyncio
from typing import Any

import pytest

from locum.core.errors import StaleQuestionError
from tests.agents.frames import EOF, EV, HOLD, Frame, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
BEFORE = "2098-01-01T00:00:00Z"
AT = "2099-01-01T00:00:00Z"


def asks(words: str | None) -> Frame:
    """The task, asking, always in one and the same second."""
    return T("INPUT_REQUIRED", words, ts=AT)


async def until_it_asks(harness: Any, sub_task_id: str, words: str) -> None:
    """Return once the row has these words."""
    async with asyncio.timeout(10):
        with harness.changes(sub_task_id) as changed:
            while (await harness.sub_task(sub_task_id)).text != words:
                await changed.wait()
                changed.clear()


async def told(harness: Any) -> list[str]:
    """What the model was told, in the agent's words."""
    notes, _ = await harness.notes("p")
    return [note.text for note in notes]


@both
@pytest.mark.parametrize("has_words", [True, False])
async def test_two_questions_in_a_second_on_a_stream(binding: Any, has_words: bool) -> None:
    """D7, E2: a live question with the time of the known one is asked of GetTask, and told once.

    Where GetTask has no words, the stream's are the question's.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=BEFORE)), EOF])
        agent.put(asks("Which colour?"))
        asked = asyncio.Event()
        again = [EV(S("INPUT_REQUIRED", "Which size?", AT))] * 2
        agent.on("SubscribeToTask", [EV(asks("Which colour?")), asked, *again, HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            agent.put(asks("Which size?" if has_words else None))
            asked.set()
            await until_it_asks(harness, row.id, "Which size?")
            looks = len(agent.calls("GetTask"))
            await agent.seen("GetTask", count=looks + 2, timeout=10)
            assert await told(harness) == ["Which colour?", "Which size?"]


@both
async def test_two_questions_in_a_second_by_polling(binding: Any) -> None:
    """E2: an agent that stamps all with one time is heard at its second question, too."""
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", [T("WORKING", ts=AT)])
        agent.put(asks("Which colour?"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            agent.put(asks("Which size?"))
            await until_it_asks(harness, row.id, "Which size?")
            assert await told(harness) == ["Which colour?", "Which size?"]


async def test_two_questions_in_a_second_by_push() -> None:
    """D3, E2: so is one that rings."""
    async with RawAgent("JSONRPC", push=True) as agent:
        agent.on("SendStreamingMessage", [EV(asks("Which colour?")), EOF])
        agent.put(asks("Which colour?"))
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            await agent.seen("GetTask", timeout=5)
            agent.put(asks("Which size?"))
            await agent.push(S("INPUT_REQUIRED", ts=AT), token=agent.push_configs[-1]["token"])
            await until_it_asks(harness, row.id, "Which size?")
            assert await told(harness) == ["Which colour?", "Which size?"]


@both
async def test_questions_of_a_second_that_are_replayed(binding: Any) -> None:
    """D7, E2: a subscription that replays both, where GetTask has no words, tells neither again."""
    both_asked = [EV(S("INPUT_REQUIRED", words, AT)) for words in ("Which colour?", "Which size?")]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING", ts=BEFORE)), EOF])
        agent.put(asks(None))
        first = [EV(T("WORKING", ts=BEFORE)), *both_asked, EOF]
        agent.on("SubscribeToTask", first, [*both_asked, EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await until_it_asks(harness, row.id, "Which size?")
            await agent.seen("SubscribeToTask", count=3, timeout=15)
            assert await told(harness) == ["Which colour?", "Which size?"]


@both
async def test_a_reply_to_the_question_before(binding: Any) -> None:
    """C12, E2: a reply that names the first question of a second is not sent to the other one."""
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", [T("WORKING", ts=BEFORE)])
        agent.put(asks("Paint it red?"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            first = await harness.settled(row.id, timeout=10)
            agent.put(asks("Delete the house?"))
            await until_it_asks(harness, row.id, "Delete the house?")
            with pytest.raises(StaleQuestionError):
                await harness.reply(row.id, "yes", question=first.version)
            assert "Woken" not in await kinds(harness, row.id)
