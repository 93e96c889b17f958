"""What a report means: news, an echo, something old or a doubt."""

import itertools
from typing import Any

import msgspec
import pytest

from locum.core.hearing import Verdict
from locum.core.lifecycle import TERMINAL, A2AState
from locum.core.report import Source
from tests.lives import Life, chunk, data, remote, status, task

from .verdicts import BELLS, JUDGES, verdict

# --- nothing, the end, and after it


@pytest.mark.parametrize("source", BELLS + JUDGES)
def test_nothing_is_heard_after_the_end(source: Source) -> None:
    """F3, D14: a terminal sub-task hears nothing more, another end neither."""
    life = Life.linked()
    life.get(task("COMPLETED", remote_at=remote(5)))
    for state in A2AState:
        assert verdict(life, task(state, remote_at=remote(9)), source) is Verdict.LATE


@pytest.mark.parametrize("source", BELLS + JUDGES)
@pytest.mark.parametrize("make", [Life, Life.linked, Life.parked, Life.replied])
def test_an_unknown_state_is_nothing(make: Any, source: Source) -> None:
    """D14: an unknown state is neither progress nor an end."""
    assert verdict(make(), task(None, "?", remote_at=remote(9)), source) is Verdict.SAME


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("make", [Life, Life.linked, Life.parked, Life.replied])
def test_an_end_counts(make: Any, state: str) -> None:
    """D14: an end counts from a judge whatever its time; from a bell unless it is older."""
    life = make()
    known = life.sub_task.remote_at
    for heard in (None, remote(0.5), known, remote(9)):
        for source in JUDGES:
            assert verdict(life, task(state, remote_at=heard), source) is Verdict.CHANGE
        is_older = bool(known and heard and heard < known)
        for source in BELLS:
            expected = Verdict.DOUBT if is_older else Verdict.CHANGE
            assert verdict(life, status(state, remote_at=heard), source) is expected


@pytest.mark.parametrize("source", BELLS + JUDGES)
@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"])
@pytest.mark.parametrize("make", [Life.linked, Life.parked, Life.replied])
def test_an_older_state_is_stale(make: Any, state: str, source: Source) -> None:
    """D14, case P6: a state older than what is known changes nothing, whoever says it."""
    report = task(state, "other words", remote_at=remote(0.5), message_id="other")
    assert verdict(make(), report, source) is Verdict.STALE


@pytest.mark.parametrize("source", BELLS + JUDGES)
def test_submitted_never_comes_again(source: Source) -> None:
    """D14, H2: SUBMITTED is the same at first, and stale from then on, unless a question goes."""
    assert verdict(Life(), task("SUBMITTED"), source) is Verdict.SAME
    assert verdict(Life.linked("SUBMITTED"), task("SUBMITTED"), source) is Verdict.SAME
    for make in (Life.linked, Life.replied):
        assert verdict(make(), task("SUBMITTED", remote_at=remote(9)), source) is Verdict.STALE
    assert verdict(Life.parked(), task("SUBMITTED", remote_at=remote(9)), source) is Verdict.CHANGE


def test_from_submitted_all_is_news() -> None:
    """C4, D7: before SUBMITTED there is nothing to replay, so its own time is no reason to doubt."""
    life = Life.linked("SUBMITTED")
    for source in BELLS + JUDGES:
        for state in ("WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"):
            for heard in (None, remote(1), remote(2)):
                assert verdict(life, status(state, remote_at=heard), source) is Verdict.CHANGE


# --- working


def test_a_new_text_while_working() -> None:
    """D17: another status text while WORKING is a text; the same or none is nothing."""
    life = Life.linked()
    life.hear(status("WORKING", "one", remote_at=remote(2)))
    assert verdict(life, status("WORKING", "two", remote_at=remote(3)), "stream") is Verdict.TEXT
    assert verdict(life, status("WORKING", "one", remote_at=remote(3)), "stream") is Verdict.SAME
    assert verdict(life, status("WORKING", remote_at=remote(3)), "stream") is Verdict.SAME


def test_data_while_working_is_no_text() -> None:
    """D17: progress in data parts is not recorded over and over."""
    life = Life.linked()
    assert verdict(life, status("WORKING", data({"step": 1})), "stream") is Verdict.SAME


def test_a_parked_task_works_again() -> None:
    """D7, D15: AUTH_REQUIRED may clear; without a newer time GetTask has to say so."""
    life = Life.parked()
    for heard, by_bell in ((None, Verdict.DOUBT), (2, Verdict.DOUBT), (3, Verdict.CHANGE)):
        report = status("WORKING", remote_at=heard and remote(heard))
        assert verdict(life, report, "stream") is by_bell
        assert verdict(life, report, "get") is Verdict.CHANGE


# --- the first question


def test_the_first_question_of_a_working_task() -> None:
    """D7: with no question before, one without a time is no replay; one at the known time may be."""
    life = Life.linked()
    for source in BELLS:
        assert verdict(life, status("INPUT_REQUIRED", "?"), source) is Verdict.CHANGE
        level = status("INPUT_REQUIRED", "?", remote_at=remote(1))
        assert verdict(life, level, source) is Verdict.DOUBT
        newer = status("INPUT_REQUIRED", "?", remote_at=remote(2))
        assert verdict(life, newer, source) is Verdict.CHANGE
    assert verdict(life, task("INPUT_REQUIRED", "?", remote_at=remote(1)), "get") is Verdict.CHANGE


# --- the same question, and another one, while parked


@pytest.mark.parametrize("source", BELLS + JUDGES)
@pytest.mark.parametrize("seconds", [None, 2, 3])
def test_the_same_question_heard_again(seconds: float | None, source: Source) -> None:
    """E2: the same words are the same question, also when every snapshot has a fresh time."""
    life = Life.parked()
    at = seconds and remote(seconds)
    for said in (("Which hall?",), ()):
        assert verdict(life, task("INPUT_REQUIRED", *said, remote_at=at), source) is Verdict.SAME


def test_another_question_while_parked() -> None:
    """E2, D7: other words are another question when their time says so or GetTask does."""
    life = Life.parked()
    untimed = status("INPUT_REQUIRED", "Which row?")
    assert verdict(life, untimed, "stream") is Verdict.DOUBT
    assert verdict(life, untimed, "get") is Verdict.CHANGE
    newer = status("INPUT_REQUIRED", "Which row?", remote_at=remote(3))
    assert verdict(life, newer, "stream") is Verdict.CHANGE
    level = status("INPUT_REQUIRED", "Which row?", remote_at=remote(2))
    assert verdict(life, level, "stream") is Verdict.DOUBT
    assert verdict(life, level, "get") is Verdict.CHANGE


@pytest.mark.parametrize("seconds", [None, 2, 3])
def test_the_words_of_a_question_come_later(seconds: float | None) -> None:
    """D16, case Q11: the state came without words; GetTask has them, with the same time or without
    one.
    """
    life = Life.parked("", message_id="")
    assert life.sub_task.text == ""
    report = task("INPUT_REQUIRED", "Which hall?", remote_at=seconds and remote(seconds))
    assert verdict(life, report, "get") is Verdict.CHANGE
    by_bell = Verdict.CHANGE if seconds else Verdict.DOUBT
    assert verdict(life, report, "stream") is by_bell


def test_from_question_to_authorization() -> None:
    """D15, D7: the other parked state is news; without a newer time GetTask has to say so."""
    life = Life.parked()
    for heard, by_bell in ((None, Verdict.DOUBT), (2, Verdict.DOUBT), (3, Verdict.CHANGE)):
        report = status("AUTH_REQUIRED", "Log in", remote_at=heard and remote(heard))
        assert verdict(life, report, "stream") is by_bell
        assert verdict(life, report, "get") is Verdict.CHANGE


def test_a_question_in_artifacts_while_parked() -> None:
    """D16, case Q10: a second question that is only an artifact is heard; the first is not heard
    twice.
    """
    life = Life.linked()
    life.hear(chunk("q", data({"call": "count"})))
    life.get(task("INPUT_REQUIRED", remote_at=remote(2)))
    assert life.sub_task.text == '{"call":"count"}'
    report = task("INPUT_REQUIRED", remote_at=remote(3))
    assert verdict(life, report, "get") is Verdict.SAME
    life.artifacts.note(chunk("q", data({"call": "sum"})))
    assert verdict(life, report, "get") is Verdict.CHANGE


# --- after a reply


@pytest.mark.parametrize("source", JUDGES)
@pytest.mark.parametrize(
    "said, seconds, message_id, expected",
    [
        # The answered question, still there: by its time, by its words, by its fresh stamp.
        (("Which hall?",), 2, "q1", Verdict.DOUBT),
        (("Which hall?",), None, "q1", Verdict.DOUBT),
        (("Which hall?",), 9, "q1", Verdict.DOUBT),
        (("Which hall?",), 9, "", Verdict.DOUBT),
        ((), 9, "", Verdict.DOUBT),
        ((), None, "", Verdict.DOUBT),
        (("Which row?",), 2, "", Verdict.DOUBT),
        (("Which hall?",), 2, "q2", Verdict.DOUBT),
        # The next one: by its words, or by its message.
        (("Which row?",), 9, "", Verdict.CHANGE),
        (("Which row?",), 9, "q1", Verdict.CHANGE),
        (("Which row?",), None, "", Verdict.CHANGE),
        (("Which hall?",), 9, "q2", Verdict.CHANGE),
        (("Which hall?",), None, "q2", Verdict.CHANGE),
    ],
)
def test_a_question_after_a_reply(
    said: tuple[str, ...], seconds: float | None, message_id: str, expected: Verdict, source: Source
) -> None:
    """E2, C12: the answered question heard late is not the next one; a doubt is, once confirmed."""
    life = Life.replied()
    report = task(
        "INPUT_REQUIRED", *said, remote_at=seconds and remote(seconds), message_id=message_id
    )
    assert verdict(life, report, source) is expected
    assert verdict(life, report, source, confirmed=True) is Verdict.CHANGE
    by_bell = expected if seconds == 9 else Verdict.DOUBT
    assert verdict(life, report, "stream") is by_bell


def test_the_next_question_when_none_is_pending() -> None:
    """D15: a task that went on by itself and parks again asks anew, even in the same words."""
    life = Life.parked()
    life.get(task("WORKING", remote_at=remote(3)))
    report = task("INPUT_REQUIRED", "Which hall?", remote_at=remote(4), message_id="q1")
    assert verdict(life, report, "get") is Verdict.CHANGE
    assert verdict(life, report, "stream") is Verdict.CHANGE
    untimed = status("INPUT_REQUIRED", "Which hall?")
    assert verdict(life, untimed, "stream") is Verdict.DOUBT
    assert verdict(life, untimed, "get") is Verdict.CHANGE


def test_a_question_in_artifacts_after_a_reply() -> None:
    """D16: what the artifacts had when it was answered is not asked again."""
    life = Life.linked()
    life.hear(chunk("q", "Which hall?"))
    life.get(task("INPUT_REQUIRED", remote_at=remote(2)))
    life.reply()
    report = task("INPUT_REQUIRED", remote_at=remote(9))
    assert verdict(life, report, "get") is Verdict.DOUBT
    life.artifacts.note(chunk("q", " Which row?", append=True))
    assert verdict(life, report, "get") is Verdict.CHANGE


def test_bells_and_judges_of_every_shape() -> None:
    """D7: a bell never changes more than a judge does, and a judge never doubts but after a reply."""
    lives = (Life(), Life.linked("SUBMITTED"), Life.linked(), Life.parked(), Life.replied())
    for life, state, seconds in itertools.product(lives, A2AState, (None, 0.5, 1, 2, 3)):
        report = task(state, "words", remote_at=seconds and remote(seconds))
        by_judge, by_bell = verdict(life, report, "get"), verdict(life, report, "stream")
        if by_bell is not Verdict.DOUBT:
            assert by_bell is by_judge
        if by_judge is Verdict.DOUBT:
            assert life.sub_task.reply is not None


def test_what_was_asked_before_the_reply_is_old() -> None:
    """C12, D14: GetTask's answer from before a reply is no question after it; an end still counts."""
    life = Life.replied()
    reply = life.sub_task.reply
    assert reply is not None
    asks = task("INPUT_REQUIRED", "And the table?", message_id="another", remote_at=remote(9))
    ends = task("COMPLETED", remote_at=remote(9))
    before, after = reply.version - 1, reply.version
    for report, asked_at, means in (
        (asks, before, Verdict.STALE),
        (asks, after, Verdict.CHANGE),
        (asks, None, Verdict.CHANGE),
        (ends, before, Verdict.CHANGE),
    ):
        said = msgspec.structs.replace(report, asked_at=asked_at)
        assert verdict(life, said, "get") is means
