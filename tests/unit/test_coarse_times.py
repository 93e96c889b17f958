"""Status times that one side keeps in whole seconds, and times that go backwards (D8, D14)."""

import pytest

from locum.core.events import Parked, Woken
from locum.core.hearing import Verdict
from locum.core.lifecycle import A2AState
from locum.core.report import Source
from locum.core.times import order_of
from tests.lives import Life, data, remote, status, task

from .verdicts import BELLS, JUDGES, verdict

FINE, CUT = remote(2.7), remote(2)
"""One time, and what is left of it where only whole seconds are kept."""


def fine(state: str, *said: str, **fields: object) -> Life:
    """A life whose latest time, that of this state, has a fraction."""
    life = Life.linked()
    life.get(task(state, *said, remote_at=FINE, message_id="q1", **fields))
    return life


@pytest.mark.parametrize(
    "heard, known, expected",
    [
        ("05.000000", "05.700000", "level"),
        ("05.700000", "05.000000", "level"),
        ("05.700000", "05.700123", "level"),
        ("05.700123", "05.700000", "level"),
        ("05.700000", "05.701123", "older"),
        ("05.701123", "05.700000", "newer"),
        ("05.700000", "05.800000", "older"),
        ("05.000000", "06.100000", "older"),
        ("06.000000", "05.900000", "newer"),
        ("05.000000", "05.000000", "level"),
        ("05.123456", "05.123457", "older"),
    ],
)
def test_the_coarser_of_two_times_tells(heard: str, known: str, expected: str) -> None:
    """D14: times are compared at the precision of the coarser one: seconds, milliseconds, all."""
    assert order_of(*(f"2026-01-31T12:00:{at}Z" for at in (heard, known))) == expected


@pytest.mark.parametrize("source", BELLS + JUDGES)
@pytest.mark.parametrize("known, heard", [(FINE, CUT), (CUT, FINE)])
def test_a_first_question_in_the_second_of_its_work(known: str, heard: str, source: Source) -> None:
    """D14, D7: the first question is news where the clock is coarser: it cannot be an echo."""
    life = Life()
    life.hear(task("WORKING", remote_at=known), "send")
    report = status("INPUT_REQUIRED", "Which hall?", remote_at=heard)
    assert verdict(life, report, source) is Verdict.CHANGE


def test_an_end_is_level_too() -> None:
    """D14: a stream that ends in whole seconds is not behind."""
    life = fine("WORKING")
    assert verdict(life, status("COMPLETED", remote_at=CUT), "stream") is Verdict.CHANGE


@pytest.mark.parametrize(
    "known, heard",
    [
        (("INPUT_REQUIRED", "Which hall?"), ("WORKING",)),
        (("AUTH_REQUIRED", "Log in"), ("INPUT_REQUIRED", "Which hall?")),
        (("INPUT_REQUIRED", "Which hall?"), ("INPUT_REQUIRED", "Which row?")),
    ],
)
def test_what_may_have_been_before_is_a_doubt(
    known: tuple[str, ...], heard: tuple[str, ...]
) -> None:
    """D14, D7: GetTask that keeps seconds may be behind within one; a second look settles it."""
    life = fine(*known)
    report = task(*heard, remote_at=CUT)
    assert verdict(life, report, "get") is Verdict.DOUBT
    assert verdict(life, report, "stream") is Verdict.DOUBT
    assert verdict(life, report, "get", confirmed=True) is Verdict.CHANGE
    # The other way round it is not older, whoever keeps more of it.
    life = Life.linked()
    life.get(task(*known, remote_at=CUT, message_id="q1"))
    assert verdict(life, task(*heard, remote_at=FINE), "get") is Verdict.CHANGE


def test_the_question_before_in_a_second() -> None:
    """D15, D14: of a task that works again, its last question may be an echo; another is none."""
    life = Life.parked()
    life.get(task("WORKING", remote_at=remote(3.7)))
    for said, means in (
        ("Which hall?", Verdict.DOUBT),
        ("Which row?", Verdict.CHANGE),
        (data({"row": 1}), Verdict.CHANGE),
    ):
        report = task("INPUT_REQUIRED", said, remote_at=remote(3))
        assert verdict(life, report, "get") is means


def test_an_older_time_that_stays_counts() -> None:
    """D8, D14: what GetTask still says at a second look counts, with an anomaly; a stream's does not."""
    life = Life.linked()
    life.get(task("WORKING", remote_at=remote(5)))
    life.hear(status("WORKING", "on it", remote_at=remote(5)))
    report = task("INPUT_REQUIRED", "Which hall?", remote_at=remote(3))
    for source in BELLS + JUDGES:
        assert verdict(life, report, source) is Verdict.STALE
    assert verdict(life, report, "stream", confirmed=True) is Verdict.STALE
    (parked,) = life.get(report, confirmed=True)
    assert isinstance(parked, Parked)
    assert parked.anomalies == ("timestamp.older",)
    assert parked.remote_at == remote(3)
    assert verdict(life, report, "get", confirmed=True) is Verdict.SAME
    # The newest time stays: the replica that is ahead has no news with it.
    assert life.sub_task.remote_at == remote(5)
    ahead = task("WORKING", remote_at=remote(5))
    assert verdict(life, ahead, "stream") is Verdict.DOUBT
    newer = task("WORKING", remote_at=remote(6))
    (woken,) = life.get(newer, confirmed=True)
    assert isinstance(woken, Woken)
    assert woken.anomalies == ()
    assert life.sub_task.state is A2AState.WORKING


def test_an_end_with_an_older_time_is_not_odd() -> None:
    """D14: an end that GetTask tells always counted, whatever its time."""
    life = Life.parked()
    (ended,) = life.get(task("COMPLETED", remote_at=remote(1)), confirmed=True)
    assert ended.anomalies == ()


def test_an_older_question_from_before_the_reply() -> None:
    """C12: what was asked before the reply stays old, however often it is heard."""
    life = Life.replied()
    reply = life.sub_task.reply
    assert reply is not None
    report = task("INPUT_REQUIRED", "Which row?", remote_at=remote(1), asked_at=reply.version - 1)
    assert verdict(life, report, "get", confirmed=True) is Verdict.STALE


def test_a_cut_time_takes_nothing_from_the_known_one() -> None:
    """D14: the newest time is kept with its fraction, so that it stays the newest."""
    life = fine("AUTH_REQUIRED", "Log in")
    life.get(task("INPUT_REQUIRED", "Which hall?", remote_at=CUT), confirmed=True)
    assert (life.sub_task.text, life.sub_task.remote_at) == ("Which hall?", FINE)
    assert life.sub_task.anomalies == ()
