"""What a report says: its state, its question and its status text, in the agent's words."""

import msgspec
import pytest

from locum.core.hearing import (
    ANSWERED,
    QUESTION_LIMIT,
    STATUS_LIMIT,
    Verdict,
    heard_state,
    is_older,
    question_of,
    status_text,
)
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from tests.lives import Life, artifact, data, message, remote, status, task, text

from .verdicts import verdict


def test_a_message_answers_a_brief() -> None:
    """C5: a message is the answer while no task is known, and no state of a known task."""
    assert heard_state(Life().sub_task, message("12")) is A2AState.COMPLETED
    assert heard_state(Life.linked().sub_task, message("12")) is None


@pytest.mark.parametrize("state", A2AState)
def test_answered_and_not_asked(state: A2AState) -> None:
    """D13: INPUT_REQUIRED with the sub-state is COMPLETED; any other state is what it is."""
    life = Life.linked()
    is_answer = state is A2AState.INPUT_REQUIRED
    expected = A2AState.COMPLETED if is_answer else state
    assert heard_state(life.sub_task, task(state, sub_state=ANSWERED)) is expected
    assert heard_state(life.sub_task, task(state, sub_state="awaiting-payment")) is state


def test_what_is_older() -> None:
    """D14: a status time is older than what is known only when both are there."""
    sub_task = Life.parked().sub_task
    times = (remote(1), remote(2), remote(3), None)
    reports = [task("WORKING", remote_at=at) for at in times]
    assert [is_older(sub_task, report) for report in reports] == [True, False, False, False]
    assert not is_older(Life().sub_task, reports[0])


def test_what_a_parked_agent_asks() -> None:
    """D16, case Q9: the message's text; with none its data as compact JSON; with none, the
    artifacts'.
    """
    sub_task = Life.linked().sub_task
    found = (artifact("a", "from the artifact"),)
    call = data({"name": "count", "args": [1]})
    for said, words in (
        ((text("Which "), call, text("hall?")), "Which hall?"),
        ((call, data(None)), '{"name":"count","args":[1]}\nnull'),
    ):
        assert question_of(sub_task, status("INPUT_REQUIRED", *said), found) == (words, said)
    assert question_of(sub_task, status("INPUT_REQUIRED"), found) == (
        "from the artifact",
        (text("from the artifact"),),
    )
    assert question_of(sub_task, status("INPUT_REQUIRED", text="bare"), found) == ("bare", ())
    assert question_of(sub_task, status("INPUT_REQUIRED"), ()) == ("", ())
    link = Part(url="https://login.example")
    assert question_of(sub_task, status("AUTH_REQUIRED", link), ()) == ("", (link,))


def test_a_huge_question_is_cut() -> None:
    """J3: a question is cut at its limit, and the same cut question is the same question."""
    words, _ = question_of(Life().sub_task, status("INPUT_REQUIRED", "x" * QUESTION_LIMIT), ())
    assert words == "x" * QUESTION_LIMIT
    huge = "x" * (QUESTION_LIMIT + 1)
    life = Life.parked(huge)
    assert len(life.sub_task.text) == QUESTION_LIMIT
    assert life.sub_task.text.endswith("x…")
    assert verdict(life, task("INPUT_REQUIRED", huge, remote_at=remote(9)), "get") is Verdict.SAME


def test_a_huge_status_text_is_cut() -> None:
    """D17, J3: so is a status text."""
    assert status_text(status("WORKING", "x" * STATUS_LIMIT)) == "x" * STATUS_LIMIT
    assert status_text(status("WORKING", text="bare")) == "bare"
    huge = status("WORKING", "x" * (STATUS_LIMIT + 1), remote_at=remote(9))
    life = Life.linked()
    life.hear(huge)
    assert life.sub_task.text == "x" * (STATUS_LIMIT - 1) + "…"
    assert verdict(life, huge, "stream") is Verdict.SAME


def test_a_question_that_only_the_history_has() -> None:
    """D16: no status message and nothing gained: what the agent said last is asked, and shown."""
    life = Life.linked()
    said = msgspec.structs.replace(task("INPUT_REQUIRED"), last_said=(Part(text="Which hall?"),))
    assert question_of(life.sub_task, said, ()) == ("", ())
    (parked,) = life.get(said)
    assert (parked.text, parked.parts) == ("Which hall?", (Part(text="Which hall?"),))


def test_a_parked_task_that_is_queued_again() -> None:
    """E1, D14: SUBMITTED after a question means that it works, when it surely is newer."""
    life = Life.parked()
    for at in (None, remote(1), remote(2)):
        queued = task("SUBMITTED", "queued", remote_at=at)
        assert heard_state(life.sub_task, queued) is A2AState.SUBMITTED
        assert verdict(life, queued, "get") is Verdict.STALE
    newer = task("SUBMITTED", "queued", remote_at=remote(3))
    assert heard_state(life.sub_task, newer) is A2AState.WORKING
    life.get(newer)
    assert (life.sub_task.state, life.sub_task.text) == (A2AState.WORKING, "queued")
    assert verdict(life, newer, "get") is Verdict.STALE
