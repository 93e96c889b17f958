"""Messages that are not all there is: of a task that they name, or beside one, over real sockets."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, NOW, A, Frame, M, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
BUSY = (503, {}, b"busy")


def _answer(agent: RawAgent, *answers: Frame) -> None:
    """What each message sent is answered with, streaming or not."""
    agent.on("SendStreamingMessage", *([EV(answer), HOLD] for answer in answers))
    agent.on("SendMessage", *answers)


@both
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("trouble", [(), (BUSY, BUSY)])
async def test_a_message_that_names_its_task(binding: Any, streaming: bool, trouble: Any) -> None:
    """C4, C5: the agent knows the task that its message names: it is linked and watched, and the
    message's words are what it says of itself.
    """
    async with RawAgent(binding, streaming=streaming) as agent:
        _answer(agent, M("I am on it", task="t1", context="c1"))
        agent.on("GetTask", *trouble, T("WORKING"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "WORKING")
            assert (row.text, row.remote_task_id) == ("I am on it", "t1")
            agent.on("GetTask", T("COMPLETED", artifacts=[A("a", "12")], ts=LATER))
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "12"


@both
async def test_a_message_whose_task_is_over(binding: Any) -> None:
    """C5, D12: the task that it names has ended without a word: the message's words count."""
    async with RawAgent(binding) as agent:
        agent.put(T("COMPLETED", ts=LATER))
        _answer(agent, M("there are 12", task="t1", context="c1"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("there are 12", "t1")


@both
@pytest.mark.parametrize(
    "error, asked", [(ERR(-32001, "which task?"), 1), (ERR(-32601, "no"), 1), (BUSY, 4)]
)
async def test_a_message_of_a_task_that_is_none(binding: Any, error: Any, asked: int) -> None:
    """C5: many agents give a direct answer the id of a task that was never made: it is the answer."""
    async with RawAgent(binding) as agent:
        agent.on("GetTask", error)
        _answer(agent, M("there are 12", task="t7", context="c1"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("there are 12", "")
            assert len(agent.calls("GetTask")) == asked


@both
async def test_a_message_that_names_the_task_it_follows(binding: Any) -> None:
    """C5, C14: the task before, which it was sent after, is not what it led to."""
    async with RawAgent(binding) as agent:
        agent.put(T("COMPLETED", artifacts=[A("a", "12")], ts=LATER))
        _answer(agent, T("WORKING"), M("13 by now", task="t1", context="c1"))
        async with locum({"a": agent.url}) as harness:
            first = await harness.spawn("p", agent="a", goal="count")
            await until(harness, first.id, "COMPLETED")
            row = await harness.spawn("p", agent="a", goal="count again", follows=first.id)
            assert (await until(harness, row.id, "COMPLETED")).text == "13 by now"


@both
async def test_a_reply_that_a_message_moves(binding: Any) -> None:
    """C13: a reply is answered with a message that names another task: it is followed there."""
    asked = T("INPUT_REQUIRED", "which?", ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.put(T("COMPLETED", id="t2", artifacts=[A("a", "12", task="t2")], ts=LATEST))
        _answer(agent, asked, M("done", task="t2", context="c1"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await harness.reply(row.id, "red")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("12", "t2")


@both
@pytest.mark.parametrize("stamp", ["the same", "none", "the present"])
async def test_a_message_that_asks_on(binding: Any, stamp: str) -> None:
    """C12, D12: a reply is answered with a message while the task asks what it asked: the message
    is the question now, told once, and the next reply is answered as well.
    """
    asks = T("INPUT_REQUIRED", "which?", ts=LATER if stamp == "the same" else None)
    async with RawAgent(binding) as agent:

        async def get(_: Seen, reply: Reply) -> None:
            now = {"timestamp": NOW} if stamp == "the present" else {}
            await reply.json(Frame("task", {**asks, "status": {**asks["status"], **now}}))

        agent.on("GetTask", get)
        agent.on("SubscribeToTask", [EV(asks), EOF])
        _answer(
            agent,
            asks,
            M("12. Anything else?", task="t1", context="c1"),
            M("Fine. And now?", task="t1", context="c1"),
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await harness.reply(row.id, "red")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.text == "12. Anything else?"
            looks = len(agent.calls("GetTask"))
            await agent.seen("GetTask", looks + 2, timeout=10)
            assert (await harness.sub_task(row.id)).version == row.version
            await harness.reply(row.id, "no")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            notes, _ = await harness.notes("p")
            assert [note.text for note in notes] == [
                "which?",
                "12. Anything else?",
                "Fine. And now?",
            ]
            assert (await kinds(harness, row.id)).count("Parked") == 3
