"""Another question that bears the very time of the known one, as coarse clocks have it (E2, D7)."""

import msgspec
import pytest

from locum.core.hearing import Verdict
from locum.core.report import Source
from tests.lives import Life, chunk, data, remote, status, task

from .verdicts import BELLS, JUDGES, verdict

LEVEL = remote(2)
"""The time of the question of `Life.parked`."""


@pytest.mark.parametrize("message_id", ["", "q2"])
@pytest.mark.parametrize("said", ["Which row?", data({"call": "sum"})])
def test_other_words_at_the_same_time(said: str, message_id: str) -> None:
    """E2, D7: other words or data at the question's own time are another one when GetTask says so."""
    life = Life.parked()
    report = task("INPUT_REQUIRED", said, remote_at=LEVEL, message_id=message_id)
    for source in JUDGES:
        assert verdict(life, report, source) is Verdict.CHANGE
    for source in BELLS:
        assert verdict(life, report, source) is Verdict.DOUBT


@pytest.mark.parametrize("source", BELLS + JUDGES)
@pytest.mark.parametrize("said", ["Which hall?\n", "Which hall, please?", data({"url": "b?sig=2"})])
def test_the_same_message_written_otherwise(said: str, source: Source) -> None:
    """E2: one message of one time is one question, though a link in it is signed anew each time."""
    life = Life.parked()
    assert life.sub_task.asked_id == "q1"
    report = task("INPUT_REQUIRED", said, remote_at=LEVEL, message_id="q1")
    assert verdict(life, report, source) is Verdict.SAME
    later = msgspec.structs.replace(report, remote_at=remote(9))
    assert verdict(life, later, source) is Verdict.CHANGE


@pytest.mark.parametrize("source", BELLS + JUDGES)
def test_the_same_words_under_another_message_id(source: Source) -> None:
    """E2: some agents give the message of one status another id each time; the words tell."""
    report = task("INPUT_REQUIRED", "Which hall?", remote_at=LEVEL, message_id="another")
    assert verdict(Life.parked(), report, source) is Verdict.SAME


@pytest.mark.parametrize("source", BELLS + JUDGES)
def test_what_artifacts_say_at_the_same_time(source: Source) -> None:
    """D16, E2: GetTask that has the question in an artifact has the same one in other words."""
    life = Life.parked()
    life.artifacts.note(chunk("q", data({"call": "count"})))
    assert verdict(life, task("INPUT_REQUIRED", remote_at=LEVEL), source) is Verdict.SAME


@pytest.mark.parametrize("source", BELLS + JUDGES)
def test_the_words_of_a_question_from_an_artifact(source: Source) -> None:
    """D16, E2, case Q10: nor is it another one when its first status message comes later."""
    life = Life.linked()
    life.hear(chunk("q", data({"call": "count"})))
    life.get(task("INPUT_REQUIRED", remote_at=LEVEL))
    report = task("INPUT_REQUIRED", "Shall I count?", remote_at=LEVEL, message_id="q1")
    assert verdict(life, report, source) is Verdict.SAME


def test_an_answer_from_before_the_question() -> None:
    """E2: GetTask's answer from before the known question is not the next one."""
    life = Life.parked()
    report = task("INPUT_REQUIRED", "Which row?", remote_at=LEVEL, message_id="q0")
    question = life.sub_task.question
    assert question is not None
    for asked_at, means in (
        (question - 1, Verdict.SAME),
        (question, Verdict.CHANGE),
        (None, Verdict.CHANGE),
    ):
        said = msgspec.structs.replace(report, asked_at=asked_at)
        assert verdict(life, said, "get") is means


def test_it_is_told_once() -> None:
    """E2: once recorded, the second question is the known one, also on a stream that has it again."""
    life = Life.parked()
    report = task("INPUT_REQUIRED", "Which row?", remote_at=LEVEL, message_id="q2")
    (parked,) = life.get(report)
    assert (parked.text, parked.question) == ("Which row?", parked.version)
    assert life.get(report) == ()
    assert life.hear(status("INPUT_REQUIRED", "Which row?", remote_at=LEVEL)) == ()
