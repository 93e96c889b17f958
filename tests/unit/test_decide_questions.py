"""Deciding about questions and replies: what is recorded of them, and which reply is taken."""

from typing import Any

import pytest

from locum.core.commands import HearLimits
from locum.core.errors import NotParkedError, StaleQuestionError
from locum.core.events import Parked, Resolved, Woken
from locum.core.hearing import ANSWERED
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from tests.lives import Life, chunk, data, push, remote, status, task

# --- what is recorded of a question


def test_a_question_is_recorded_whole() -> None:
    """D16, H1, case Q9: words, parts, message id, watch, time and what artifacts there were."""
    life = Life.linked()
    life.hear(chunk("a", "half"))
    report = task(
        "INPUT_REQUIRED",
        data({"call": "count"}),
        message_id="q1",
        remote_at=remote(2),
        anomalies=("json.null",),
    )
    (parked,) = life.get(report, watch=push(), cause="poll")
    assert isinstance(parked, Parked)
    assert (parked.state, parked.text, parked.parts) == (
        "INPUT_REQUIRED",
        '{"call":"count"}',
        report.parts,
    )
    assert (parked.question, parked.version, parked.message_id) == (3, 3, "q1")
    assert (parked.watch, parked.cause, parked.actor) == (push(), "poll", "agent:inventory")
    assert (parked.remote_at, parked.anomalies) == (remote(2), ("json.null",))
    assert parked.seen["a"].size == 4
    assert (parked.correlation_id, parked.refusal) == ("k1", None)


def test_a_question_with_huge_parts_keeps_its_words() -> None:
    """J3: parts of a question over the limit are dropped, which is an anomaly; the words stay."""
    life = Life.linked()
    limits = HearLimits(result_bytes=100)
    said = ("Is this it?", Part(raw="A" * 400, media_type="image/png"))
    (parked,) = life.get(task("INPUT_REQUIRED", *said), limits=limits)
    assert isinstance(parked, Parked)
    assert (parked.text, parked.parts) == ("Is this it?", ())
    assert parked.anomalies == ("question.too_large",)
    life = Life.linked()
    (parked,) = life.get(task("INPUT_REQUIRED", "x" * 100), limits=limits)
    assert isinstance(parked, Parked)
    assert (len(parked.parts), parked.anomalies) == (1, ())


def test_answered_and_not_asked() -> None:
    """D13: parked with the sub-state `awaiting-next-message` is the end, with its text."""
    life = Life.linked()
    (resolved,) = life.get(task("INPUT_REQUIRED", "12", sub_state=ANSWERED))
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == ("COMPLETED", "12")


# --- replies


def test_a_reply_is_recorded_before_it_is_sent() -> None:
    """C12: Woken with cause `reply`, message id, question, words, parts and who replied."""
    life = Life.parked()
    (woken,) = life.reply("the big one", parts=(data(1),), correlation_id="k2")
    assert isinstance(woken, Woken)
    assert (woken.cause, woken.actor, woken.correlation_id) == ("reply", "planner", "k2")
    assert (woken.text, woken.parts) == ("the big one", (data(1),))
    assert (woken.message_id, woken.question, woken.remote_at) == ("r1", 3, None)
    assert life.sub_task.state is A2AState.WORKING


@pytest.mark.parametrize("make, state", [(Life, "SUBMITTED"), (Life.linked, "WORKING")])
def test_a_reply_while_nothing_is_asked(make: Any, state: str) -> None:
    """C12: a reply is taken only while parked."""
    life = make()
    with pytest.raises(NotParkedError) as caught:
        life.reply()
    assert caught.value.detail == {"sub_task": "s1", "state": state}


def test_one_question_is_answered_once() -> None:
    """C12: a second reply to the same question finds nothing asked."""
    life = Life.replied()
    with pytest.raises(NotParkedError):
        life.reply(message_id="r2")


def test_the_question_that_a_reply_names() -> None:
    """C12: any version at which the question was open names it; an earlier or later one does not."""
    for named, is_open in ((2, False), (3, True), (4, True), (5, False)):
        life = Life.parked(watch=push())
        life.rewatch(push(2))
        assert life.sub_task.version == 4
        if is_open:
            life.reply(question=named)
            continue
        with pytest.raises(StaleQuestionError) as caught:
            life.reply(question=named)
        assert caught.value.detail == {"sub_task": "s1", "question": named, "open": 3}


def test_an_answer_to_the_question_before() -> None:
    """C12: another question is open by now."""
    life = Life.parked()
    life.get(task("INPUT_REQUIRED", "Which row?", remote_at=remote(5)))
    with pytest.raises(StaleQuestionError):
        life.reply(question=3)
    life.reply(question=4)


def test_a_refused_reply_parks_it_again() -> None:
    """C12: under the same question, in the same state, with the refusal in the record."""
    life = Life.linked()
    life.get(task("AUTH_REQUIRED", "Log in", message_id="q1", remote_at=remote(2)))
    life.reply()
    (parked,) = life.refuse_reply("it was too late", watch=push())
    assert isinstance(parked, Parked)
    assert (parked.state, parked.text, parked.question) == ("AUTH_REQUIRED", "Log in", 3)
    assert (parked.refusal, parked.message_id, parked.version) == ("it was too late", "q1", 5)
    assert life.sub_task.question == 3
    assert life.sub_task.watch == push()
    assert life.get(task("AUTH_REQUIRED", "Log in", message_id="q1", remote_at=remote(2))) == ()
    life.reply(message_id="r2", question=3)
    assert life.sub_task.reply is not None
    assert life.sub_task.reply.message_id == "r2"


def test_a_refusal_of_something_else_is_nothing() -> None:
    """C12: only the pending reply can be refused."""
    life = Life.replied()
    assert life.refuse_reply(message_id="r0") == ()
    life.get(task("INPUT_REQUIRED", "Which row?", remote_at=remote(9)))
    assert life.refuse_reply() == ()
    assert Life.parked().refuse_reply() == ()


def test_a_recorded_reply_is_not_dropped() -> None:
    """I3, C12: what the agent says while it works, or the old question, leaves the reply pending."""
    life = Life.replied()
    life.hear(status("WORKING", "still at it", remote_at=remote(5)))
    life.get(task("INPUT_REQUIRED", "Which hall?", message_id="q1", remote_at=remote(6)))
    assert life.sub_task.reply is not None
    assert life.sub_task.reply.message_id == "r1"
    life.get(task("INPUT_REQUIRED", "Which row?", message_id="q2", remote_at=remote(7)))
    assert life.sub_task.reply is None


def test_the_same_question_once_more() -> None:
    """E2, D7: an agent that asks the same again after a reply is heard when a second look says so."""
    life = Life.replied()
    again = task("INPUT_REQUIRED", "Which hall?", message_id="q1", remote_at=remote(6))
    assert life.get(again) == ()
    (parked,) = life.get(again, confirmed=True)
    assert isinstance(parked, Parked)
    assert parked.question == parked.version == 5
