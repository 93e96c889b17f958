"""Questions that differ, or are told, by what they carry besides words: data, files, URLs."""

from typing import Any

import msgspec
import pytest

from locum.core.commands import HearLimits
from locum.core.events import Parked
from locum.core.hearing import Verdict, weigh
from locum.core.report import Part, Source
from locum.core.subtask import evolve
from tests.lives import FOLLOW, Life, chunk, data, remote, status, task, text

WORDS = "Please confirm this call:"
ONE, TWO = data({"row": 1}), data({"row": 2})
LOGIN = Part(url="https://login.example/abc")


def asking(*said: Part | str, at: float = 2) -> Life:
    """A sub-task that asks this; its question bears the time `at`."""
    life = Life.linked()
    life.get(task("INPUT_REQUIRED", *said, remote_at=remote(at)))
    return life


def verdict(
    life: Life, *said: Part | str, at: float | None = None, source: Source = "get"
) -> Verdict:
    """What the life makes of a question."""
    report = task("INPUT_REQUIRED", *said, remote_at=None if at is None else remote(at))
    return weigh(life.sub_task, report, source, life.artifacts.whole)


@pytest.mark.parametrize(
    "other",
    [TWO, data(None), LOGIN, Part(raw="AAEC")],
    ids=["data", "null", "url", "raw"],
)
def test_the_same_words_about_something_else(other: Part) -> None:
    """E2: another question in the same words is told from the first by what it carries besides."""
    life = asking(WORDS, ONE)
    assert verdict(life, WORDS, other, at=3) is Verdict.CHANGE
    assert verdict(life, WORDS, other, at=3, source="stream") is Verdict.CHANGE
    assert verdict(life, WORDS, other) is Verdict.CHANGE
    assert verdict(life, WORDS, other, source="stream") is Verdict.DOUBT
    # With the time of the question, too, GetTask has the last word.
    assert verdict(life, WORDS, other, at=2) is Verdict.CHANGE
    assert verdict(life, WORDS, other, at=2, source="stream") is Verdict.DOUBT
    assert verdict(life, WORDS, ONE, other, at=3) is Verdict.CHANGE


@pytest.mark.parametrize("at", [None, 2, 3])
@pytest.mark.parametrize(
    "said",
    [
        (WORDS, ONE),
        (ONE, WORDS),
        (text("Please "), ONE, text("confirm this call:")),
        (WORDS, msgspec.structs.replace(ONE, media_type="application/json", metadata={"n": 1})),
        (WORDS, data({"row": 1.0})),
        (WORDS, ONE, Part()),
        (WORDS,),
        (),
    ],
    ids=["same", "order", "pieces", "about", "number", "empty", "words-only", "nothing"],
)
def test_the_same_question_in_another_shape(said: tuple[Part | str, ...], at: float | None) -> None:
    """E2, D16: heard again in another shape, or without what GetTask has no more, it is the same."""
    life = asking(WORDS, ONE)
    assert verdict(life, *said, at=at) is Verdict.SAME


@pytest.mark.parametrize("first", [(), (WORDS,)], ids=["nothing", "words"])
@pytest.mark.parametrize("second", [(LOGIN,), (WORDS, LOGIN)], ids=["url", "words-and-url"])
@pytest.mark.parametrize("at", [None, 2, 3])
def test_what_is_asked_comes_later(first: Any, second: Any, at: float | None) -> None:
    """D16, case Q11: what only GetTask has of a question is told, and then it is known."""
    life = asking(*first)
    assert verdict(life, *second, at=at) is Verdict.CHANGE
    life.get(task("INPUT_REQUIRED", *second, remote_at=remote(at or 4)))
    assert verdict(life, *second, at=at or 4) is Verdict.SAME
    assert verdict(life, at=5) is Verdict.SAME


def test_what_the_artifacts_asked_is_the_same_in_a_message() -> None:
    """D16, case Q10: data that was asked in an artifact is no other question as a message."""
    life = Life.linked()
    life.hear(chunk("q", ONE))
    life.get(task("INPUT_REQUIRED", remote_at=remote(2)))
    assert verdict(life, ONE, at=3) is Verdict.SAME
    assert verdict(life, TWO, at=3) is Verdict.CHANGE


def test_what_was_too_large_is_not_asked_over_and_over() -> None:
    """J3, E2: parts that were not kept tell no question from another; words still do."""
    life = Life.linked()
    limits = HearLimits(result_bytes=8)
    report = task("INPUT_REQUIRED", WORDS, ONE, remote_at=remote(2))
    (parked,) = life.get(report, limits=limits)
    assert isinstance(parked, Parked)
    assert (parked.parts, parked.anomalies) == ((), ("question.too_large",))
    for at in (None, 2, 3):
        assert verdict(life, WORDS, ONE, at=at) is Verdict.SAME
    assert verdict(life, "And this one:", ONE, at=3) is Verdict.CHANGE


def test_the_next_question_after_a_reply() -> None:
    """E2, C12: without message ids, the answered question is told from the next by its data."""
    life = asking(WORDS, ONE)
    life.reply()
    assert verdict(life, WORDS, ONE, at=9) is Verdict.DOUBT
    assert verdict(life, WORDS, at=9) is Verdict.DOUBT
    assert verdict(life, WORDS, TWO, at=9) is Verdict.CHANGE
    assert verdict(life, WORDS, TWO) is Verdict.CHANGE
    assert verdict(life, WORDS, TWO, at=2) is Verdict.DOUBT


def test_the_question_is_recorded_again_with_its_parts() -> None:
    """C12, D16: a refused reply and a new watch open the same question, with all that it has."""
    life = asking("Log in first:", LOGIN)
    (watched,) = life.rewatch(FOLLOW)
    life.reply()
    (refused,) = life.refuse_reply("not like this")
    for parked in (watched, refused):
        assert isinstance(parked, Parked)
        assert parked.parts == (text("Log in first:"), LOGIN)
        assert parked.question == 3


def test_a_history_that_recorded_it_again_without_its_parts() -> None:
    """I5, E2: what an earlier release left out is what the question had; another one has its own."""
    life = asking(WORDS, ONE)
    (watched,) = life.rewatch(FOLLOW)
    assert isinstance(watched, Parked)
    as_before = msgspec.structs.replace(watched, parts=())
    sub_task = evolve(evolve(None, life.events[0]), life.events[1])
    sub_task = evolve(evolve(sub_task, life.events[2]), as_before)
    assert sub_task.asked_parts == (text(WORDS), ONE)
    life.get(status("INPUT_REQUIRED", "Which hall?", remote_at=remote(9)))
    assert life.sub_task.asked_parts == (text("Which hall?"),)
    life.get(task("AUTH_REQUIRED", remote_at=remote(10)))
    assert life.sub_task.asked_parts == ()
