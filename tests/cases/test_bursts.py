"""What stands behind the first WORKING in one burst, on the answer to a message (C4, case Q10)."""

import itertools
from typing import Any

import pytest

from tests.agents.frames import CUT, EOF, EV, HOLD, A, S, T, data_part
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
STATUS = "io.github.madarauchiha-314.tiny-harness/status"
ANSWERED = {STATUS: {"sub_state": "awaiting-next-message"}}


def at(seconds: int) -> str:
    """A time of the agent's."""
    return f"2099-01-01T00:00:{seconds:02d}Z"


CALL = data_part({"confirm": "pay"})
TURNS: dict[str, Any] = {
    "words": ([S("INPUT_REQUIRED", "Which colour?", at(2))], "Which colour?"),
    "artifact": ([A("a", CALL), S("INPUT_REQUIRED", None, at(2))], '{"confirm":"pay"}'),
    "answered": ([S("INPUT_REQUIRED", "42", at(2), metadata=ANSWERED)], "42"),
    "ended": ([A("a", "42"), S("COMPLETED", None, at(2))], "42"),
}
"""A whole turn of an agent whose GetTask keeps nothing but the state, and what is told of it."""


@both
@pytest.mark.parametrize("end", [EOF, HOLD, CUT], ids=lambda end: end.name)
@pytest.mark.parametrize("turn", TURNS)
async def test_a_whole_turn_in_the_answer_to_a_brief(binding: Any, turn: str, end: Any) -> None:
    """C4, D12, D13, case Q10: a question or a result that is there only is heard."""
    said, told = TURNS[turn]
    state = "COMPLETED" if turn == "ended" else "INPUT_REQUIRED"
    burst = [T("SUBMITTED", ts=at(0)), T("WORKING", ts=at(1)), *said]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [*map(EV, burst), end])
        agent.put(T(state, ts=at(2)))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            assert row.text == told
            assert row.state == ("COMPLETED" if turn == "answered" else state)
            notes, _ = await harness.notes("p")
            assert [note.text for note in notes] == [told]


@both
async def test_the_next_question_in_the_answer_to_a_reply(binding: Any) -> None:
    """C4, C12, case Q10: so is what the agent asks next, and it is told once."""
    burst = [T("WORKING", ts=at(5)), S("INPUT_REQUIRED", "Which colour?", at(6))]
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING", ts=at(1))), EOF],
            [*map(EV, burst), EOF],
        )
        agent.put(T("INPUT_REQUIRED", "Which hall?", ts=at(2)))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await harness.settled(row.id, timeout=10)
            agent.put(T("INPUT_REQUIRED", ts=at(6)))
            await harness.reply(row.id, "the red one")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.text == "Which colour?"
            notes, _ = await harness.notes("p")
            assert [note.text for note in notes] == ["Which hall?", "Which colour?"]


@both
async def test_an_answer_that_never_stops(binding: Any) -> None:
    """C4, J3: the answer is hung up all the same, and the task followed."""
    texts = [EV(S("WORKING", f"text {n}", None)) for n in range(2_000)]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [*itertools.chain([EV(T("WORKING"))], texts), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await agent.seen("SubscribeToTask", timeout=5)
            (send,) = agent.calls("SendStreamingMessage")
            assert send.hung_up.is_set()
            assert (await kinds(harness, row.id))[:2] == ["Created", "Linked"]
