"""What was streamed and is, at the end, under another id or not there any more (D12)."""

from typing import Any

import pytest

from locum.core.report import Part, RemoteReport
from tests.lives import artifact, chunk, data, task

from .assembled import together, words

DRAFT, FINAL = artifact("draft", "about 10"), artifact("final", "12")
STREAMED = chunk("draft", "about 10")


def got(state: str, *artifacts: Any) -> RemoteReport:
    """What GetTask answers."""
    return task(state, artifacts=artifacts, asked_at=2)


def test_an_artifact_that_was_removed() -> None:
    """D12: GetTask has had all of it once, and at the end lists others: it is gone."""
    shown = got("WORKING", DRAFT)
    end = got("COMPLETED", FINAL)
    assert words(together(STREAMED, shown, end)) == [("final", "12")]
    # An answer without it that is no end may be out of date, and one of a stream is no judge.
    for late in (got("WORKING", FINAL), task("COMPLETED", artifacts=(FINAL,))):
        assert words(together(STREAMED, shown, late)) == [("final", "12"), ("draft", "about 10")]
        assert words(together(STREAMED, shown, late, end)) == [("final", "12")]
    # A snapshot without any says nothing of them.
    assert words(together(STREAMED, shown, got("COMPLETED"))) == [("draft", "about 10")]


@pytest.mark.parametrize(
    "between",
    [
        (),
        (got("WORKING", artifact("draft", "about")),),
        (task("WORKING", artifacts=(DRAFT,)),),
        (got("WORKING", DRAFT), chunk("draft", " or 11", append=True)),
    ],
)
def test_an_artifact_that_gettask_never_had_whole(between: Any) -> None:
    """D12: of an agent whose GetTask has less than its stream, nothing is lost."""
    artifacts = together(STREAMED, *between, got("COMPLETED", FINAL))
    assert [one for one, _ in words(artifacts)] == ["final", "draft"]


def test_a_stream_that_shows_it_again_changes_nothing() -> None:
    """D12: what GetTask has shown stays shown, when a stream's snapshot has as much, or less."""
    for again in ("about 10", "about"):
        stream = task("WORKING", artifacts=(artifact("draft", again),))
        artifacts = together(STREAMED, got("WORKING", DRAFT), stream, got("COMPLETED", FINAL))
        assert words(artifacts) == [("final", "12")]
    more = task("WORKING", artifacts=(artifact("draft", "about 10 or 11"),))
    artifacts = together(STREAMED, got("WORKING", DRAFT), more, got("COMPLETED", FINAL))
    assert words(artifacts) == [("final", "12"), ("draft", "about 10 or 11")]


@pytest.mark.parametrize("heard_id", ["x1", ""])
def test_one_result_under_two_ids(heard_id: str) -> None:
    """D12: an agent that names its artifacts anew for each answer, or not on its stream, has one."""
    file = Part(raw="AAEC", filename="x.bin")
    heard = (chunk(heard_id, "do"), chunk(heard_id, "ne", file, append=True))
    whole = artifact("g3", "done", file)
    working = got("WORKING", artifact("g1", "do"))
    assert together(*heard, got("COMPLETED", whole)).whole == (whole,)
    assert together(heard[0], working, heard[1], got("COMPLETED", whole)).whole == (whole,)
    shown = got("WORKING", whole)
    assert together(*heard, shown, got("COMPLETED", whole)).whole == (whole,)
    # Before the end, and from a stream, it cannot be told: what is heard is kept.
    assert len(together(*heard, shown).whole) == 2
    assert len(together(*heard, task("COMPLETED", artifacts=(whole,))).whole) == 2


def test_when_the_end_on_a_stream_is_doubted() -> None:
    """D12: GetTask is asked where its word would take away what a stream's whole end lacks."""
    shown = got("WORKING", DRAFT)
    cases: list[tuple[tuple[RemoteReport, ...], Any, bool]] = [
        ((STREAMED, shown), (FINAL,), True),
        ((STREAMED, shown), (artifact("draft", "about"),), True),
        ((STREAMED, shown), (DRAFT,), False),
        ((STREAMED, shown), (DRAFT, FINAL), False),
        ((STREAMED, shown), (), False),
        ((STREAMED,), (FINAL,), False),
        ((STREAMED,), (artifact("g1", "about 10"),), True),
        ((shown,), (FINAL,), False),
        ((), (FINAL,), False),
    ]
    for heard, listed, expected in cases:
        end = task("COMPLETED", artifacts=listed)
        assert together(*heard, end).are_doubted_by(end) is expected


def test_another_content_is_another_artifact() -> None:
    """D12: only the very same content is the same artifact."""
    heard = chunk("x1", "done", data(1))
    for other in (artifact("g", "done"), artifact("g", "done", data(True)), artifact("g", "don")):
        assert len(together(heard, got("COMPLETED", other)).whole) == 2
    assert len(together(chunk("x1"), got("COMPLETED", artifact("g"))).whole) == 2


def test_two_results_that_say_the_same() -> None:
    """D12: both heard, or both listed: two that say the same are two."""
    one, two = chunk("x1", "ok"), chunk("x2", "ok")
    listed = [artifact(name, "ok") for name in ("g1", "g2", "x1")]
    assert words(together(one, two, got("COMPLETED", *listed[:2]))) == [("g1", "ok"), ("g2", "ok")]
    assert words(together(one, two, got("COMPLETED", listed[0]))) == [("g1", "ok"), ("x2", "ok")]
    assert words(together(one, got("COMPLETED", *listed[:2]))) == [("g1", "ok"), ("g2", "ok")]
    assert words(together(one, got("COMPLETED", listed[0], listed[2]))) == [
        ("g1", "ok"),
        ("x1", "ok"),
    ]
    shown = got("WORKING", listed[2])
    assert words(together(one, shown, two, got("COMPLETED", listed[2]))) == [
        ("x1", "ok"),
        ("x2", "ok"),
    ]
