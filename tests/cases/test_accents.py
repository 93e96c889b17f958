"""The cases varied: each accent in both bindings, on a send, a subscription and in GetTask.

Cut into packets in several ways, in the first event and in the second: the row says what was meant,
the event that it led to says how it was said, and the agent is asked no more often for it.
"""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

from .accents import ACCENTS, Accent, spoken, streamed

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND, SUBSCRIBE = "SendStreamingMessage", "SubscribeToTask"
FIRST, THEN, LATER = (f"2099-01-01T00:00:0{second}Z" for second in range(3))
ASKED = "Wélche Hälle? 🪑 — \u2028 ✓"
"""Two, three and four bytes a letter, and a line end that is none."""

SPOKEN_IN_FRAMES = [accent for accent in ACCENTS if accent.is_of_one_frame]
SPOKEN_IN_BODIES = [accent for accent in ACCENTS if not accent.is_of_one_frame]


def accents(given: list[Accent]) -> Any:
    """A test for each of them."""
    return pytest.mark.parametrize("accent", given, ids=lambda accent: accent.id)


async def _parks(binding: Any, where: str, handler: Any, expected: tuple[str, ...]) -> None:
    """A task that is SUBMITTED or WORKING and then asks, on the stream that `handler` says."""
    async with RawAgent(binding) as agent:
        if where == SEND:
            agent.on(SEND, handler)
            agent.on(SUBSCRIBE, [EV(T("INPUT_REQUIRED", ASKED, ts=THEN)), HOLD])
        else:
            agent.on(SEND, [EV(T("WORKING", ts=FIRST)), EOF])
            agent.on(SUBSCRIBE, handler)
        agent.task = T("INPUT_REQUIRED", ASKED, ts=THEN)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.text == ASKED
            assert (row.remote_task_id, row.context_id) == ("t1", "c1")
            events = await harness.events(row.id)
            assert [event["type"] for event in events] == ["Created", "Linked", "Parked"]
            named = {kind for event in events[1:] for kind in event["anomalies"]}
            assert named == set(expected)
            assert set(row.anomalies) == named
            (view,) = harness.agents()
            assert set(view["anomalies"]) == named
            (notes, _) = await harness.notes("p")
            assert [(note.kind, note.text) for note in notes] == [("question", ASKED)]
            assert len(agent.calls(SEND)) == 1
            assert {seen.headers["a2a-version"] for seen in agent.requests} == {"1.0"}
        await agent.all_closed(timeout=1)


@both
@accents(SPOKEN_IN_FRAMES)
@pytest.mark.parametrize("where", [SEND, SUBSCRIBE])
@pytest.mark.parametrize("only", [0, 1], ids=["first", "second"])
async def test_an_accent_in_one_event(binding: Any, accent: Accent, where: str, only: int) -> None:
    """K2: what is meant is read in the first event and in one after it, and named."""
    begun = "SUBMITTED" if where == SEND else "WORKING"
    frames = [T(begun, ts=FIRST), S("INPUT_REQUIRED", ASKED, ts=THEN)]
    await _parks(binding, where, streamed(accent, frames, only=only), accent.stream or ())


@both
@accents(SPOKEN_IN_BODIES)
@pytest.mark.parametrize("where", [SEND, SUBSCRIBE])
@pytest.mark.parametrize("size", [0, 1, 7])
async def test_an_accent_of_a_stream(binding: Any, accent: Accent, where: str, size: int) -> None:
    """K1: however a stream is written and cut, its events are the same."""
    begun = "SUBMITTED" if where == SEND else "WORKING"
    frames = [T(begun, ts=FIRST), S("INPUT_REQUIRED", ASKED, ts=THEN)]
    await _parks(binding, where, streamed(accent, frames, size=size), accent.stream or ())


@both
@accents([accent for accent in ACCENTS if accent.whole is not None])
async def test_an_accent_in_gettask(binding: Any, accent: Accent) -> None:
    """K2: an answer of GetTask is read as meant, and its end counts."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=FIRST)), EOF])
        agent.on(SUBSCRIBE, [EV(T("WORKING", ts=FIRST)), EOF])
        done = T("COMPLETED", "dóne 🪑", ts=LATER, artifacts=[A("a", ASKED)])
        agent.on("GetTask", spoken(accent, done))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == ASKED
            assert set(row.anomalies) == set(accent.whole or ())
            *_, end = await harness.events(row.id)
            assert (end["type"], set(end["anomalies"])) == ("Resolved", set(accent.whole or ()))
            (view,) = harness.agents()
            assert set(view["anomalies"]) == set(accent.whole or ())
            assert len(agent.calls(SEND)) == 1


# Errors, however they are said


def _error(binding: Any, how: str, code: int = -32603) -> Any:
    """An error as a script: as the answer under a status, or as an event by that name."""
    if how == "event":
        return [EV(ERR(code, "out of chairs"), name="error"), EOF]
    if how == "after one":
        return [EV(T("SUBMITTED", ts=FIRST)), EV(ERR(code, "out of chairs"), name="error"), EOF]
    return [ERR(code, "out of chairs", status=int(how))]


@both
@pytest.mark.parametrize("how", ["200", "400", "500", "event"])
async def test_an_error_that_answers_a_send(binding: Any, how: str) -> None:
    """K4, C7: the agent's code and words are kept under any status; the work is not sent again."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, _error(binding, how))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert "out of chairs" in row.text
            *_, end = await harness.events(row.id)
            assert (end["type"], end["delivery"]) == ("Resolved", "refused")
            assert len(agent.calls(SEND)) == 1


@both
async def test_an_error_after_the_first_event_of_a_send(binding: Any) -> None:
    """K4, D8: the task is there, so that GetTask says what became of it."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, _error(binding, "after one"))
        agent.task = T("COMPLETED", ts=LATER, artifacts=[A("a", "done")])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
            assert len(agent.calls(SEND)) == 1


@both
@pytest.mark.parametrize("how", ["200", "400", "500", "event", "after one"])
async def test_an_error_on_a_subscription(binding: Any, how: str) -> None:
    """D8, K4: whatever a subscription fails with, GetTask decides."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=FIRST)), EOF])
        agent.on(SUBSCRIBE, _error(binding, how))
        agent.task = T("COMPLETED", ts=LATER, artifacts=[A("a", "done")])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
            assert len(agent.calls(SEND)) == 1


@both
@pytest.mark.parametrize("status", ["200", "400", "404", "500"])
async def test_a_task_that_gettask_does_not_know(binding: Any, status: str) -> None:
    """D10: the agent's own "not found" counts under any status, once it is said twice."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=FIRST)), EOF])
        agent.on(SUBSCRIBE, _error(binding, status, -32001))
        agent.on("GetTask", _error(binding, status, -32001))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            *_, end = await harness.events(row.id)
            assert end["code"] == "remote.gone"
            assert "out of chairs" in row.text
            assert len(agent.calls("GetTask")) >= 2


@both
@pytest.mark.parametrize("status", ["200", "400", "500"])
async def test_gettask_that_fails_is_no_end(binding: Any, status: str) -> None:
    """D10: an error of GetTask's, under whatever status, leaves the task as it is."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=FIRST)), EOF])
        agent.on(SUBSCRIBE, [EV(T("WORKING", ts=FIRST)), EOF])
        agent.on("GetTask", _error(binding, status))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", count=2, timeout=10)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.on("GetTask", T("COMPLETED", ts=LATER, artifacts=[A("a", "done")]))
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
            assert len(agent.calls(SEND)) == 1
