"""What subscriptions replay: nothing is doubled by it, and nothing is lost (D7, D12)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locum.core.artifacts import Artifacts
from locum.core.growing import size_of
from locum.core.report import RemoteReport
from tests.lives import artifact, chunk, data, task

from .assembled import words

ASKED: dict[str, Any] = {"asked_at": 2}


def chunks(*texts: str, append: bool = True) -> tuple[RemoteReport, ...]:
    """Chunks of one artifact; with `append`, the first is one too."""
    return tuple(chunk("a", text, append=append or place > 0) for place, text in enumerate(texts))


def after(known: str, *replayed: RemoteReport, limit: int | None = None) -> Artifacts:
    """What was heard live, and then at the beginning of a subscription."""
    artifacts = Artifacts(limit=limit)
    artifacts.note(chunk("a", known))
    for report in replayed:
        artifacts.note(report, replayed=True)
    return artifacts


@pytest.mark.parametrize(
    "replayed, expected",
    [
        (("one ",), "one two three "),
        (("one ", "two ", "three "), "one two three "),
        (("one ", "two ", "three ", "four "), "one two three four "),
    ],
)
def test_a_replay_begins_anew(replayed: tuple[str, ...], expected: str) -> None:
    """D7, D12: what is replayed is the same, a beginning of it, or more of it; once."""
    artifacts = after("one two three ", *chunks(*replayed))
    assert words(artifacts) == [("a", expected)]
    artifacts.settle()
    assert words(artifacts) == [("a", expected)]
    # And so at the next subscription, which replays it all again.
    for report in chunks(*replayed):
        artifacts.note(report, replayed=True)
    assert words(artifacts) == [("a", expected)]


def test_an_agent_that_replays_nothing() -> None:
    """D12: an append that repeats nothing goes on from what was heard before."""
    assert words(after("one two ", *chunks("three ", "four "))) == [("a", "one two three four ")]


def test_a_replacement_before_the_snapshot() -> None:
    """D12: a first chunk that is no append and goes another way is another artifact by now."""
    assert words(after("draft", *chunks("fin", "al", append=False))) == [("a", "final")]
    assert words(after("draft", chunk("a", ""), chunk("a", "ed", append=True))) == [
        ("a", "drafted")
    ]


def test_nothing_goes_on_from_the_last_chunk() -> None:
    """D12, case R2: what was closed by its last chunk is only replayed."""
    artifacts = Artifacts()
    artifacts.note(chunk("a", "one two ", last=True))
    artifacts.note(chunk("a", "two ", append=True), replayed=True)
    assert words(artifacts) == [("a", "one two ")]


@pytest.mark.parametrize("asked", [{}, ASKED])
@pytest.mark.parametrize("piece", ["one ", "two ", "three ", "two three ", "two thr"])
def test_the_snapshot_ends_the_replay(piece: str, asked: dict[str, Any]) -> None:
    """D7: a piece that is replayed before a snapshot has it is no more of it."""
    artifacts = after("one two three ", *chunks(piece))
    artifacts.note(task("WORKING", artifacts=(artifact("a", "one two three "),), **asked))
    assert words(artifacts) == [("a", "one two three ")]
    artifacts.note(chunk("a", "four", append=True))
    assert words(artifacts) == [("a", "one two three four")]


def test_a_replay_after_the_snapshot() -> None:
    """D7, D12: chunks that are replayed after a snapshot had them, and cut off, are none more."""
    whole = task("WORKING", artifacts=(artifact("a", "one two three "),), **ASKED)
    for piece in ("one ", "three "):
        artifacts = Artifacts()
        for report in (whole, chunk("a", piece, append=True), whole):
            artifacts.note(report)
        assert words(artifacts) == [("a", "one two three ")]


def test_a_replay_that_has_more_than_the_snapshot() -> None:
    """D12: what came while no stream was open, and is not in a snapshot that lags, is not lost."""
    for asked in ({}, ASKED):
        artifacts = after("one ", *chunks("one ", "two "))
        artifacts.note(task("WORKING", artifacts=(artifact("a", "one "),), **asked))
        assert words(artifacts) == [("a", "one two ")]
        artifacts = after("one ", *chunks("two "))
        artifacts.note(task("WORKING", artifacts=(artifact("a", "one "),), **asked))
        assert words(artifacts) == [("a", "one two ")]


def test_a_snapshot_without_it() -> None:
    """D7, case Q10: of what a snapshot does not have, a stream's own shows that it was a replay."""
    other = artifact("b", "z")
    for had in ((), (other,)):
        artifacts = after("one two ", *chunks("two "))
        artifacts.note(task("WORKING", artifacts=had))
        assert ("a", "one two ") in words(artifacts)
        artifacts = after("one two ", *chunks("two "))
        artifacts.note(task("WORKING", artifacts=had, **ASKED))
        assert ("a", "one two two ") in words(artifacts)


def test_other_parts_are_replayed_too() -> None:
    """D7, D12: files and data that are replayed are the same ones."""
    artifacts = Artifacts()
    for number in (1, 2, 3):
        artifacts.note(chunk("a", data(number), append=True))
    for number in (1, 2):
        artifacts.note(chunk("a", data(number), append=True), replayed=True)
    whole = (artifact("a", data(1), data(2), data(3)),)
    assert artifacts.whole == whole
    artifacts.settle()
    for number in (2, 3):
        artifacts.note(chunk("a", data(number), append=True), replayed=True)
    artifacts.note(task("WORKING", artifacts=whole, **ASKED))
    assert artifacts.whole == whole


def test_a_snapshot_that_is_replayed() -> None:
    """D7: an older snapshot among what is replayed is as old as the rest."""
    old = task("WORKING", artifacts=(artifact("a", "one "),))
    assert words(after("one two ", old)) == [("a", "one two ")]
    assert words(after("one two ", old, *chunks("two ", "three "))) == [("a", "one two three ")]


def test_chunks_that_are_live_come_after() -> None:
    """D12: what is heard live goes on from all that was heard before."""
    artifacts = after("one ", *chunks("one ", "two "))
    artifacts.note(chunk("a", "three ", append=True))
    artifacts.note(chunk("b", "new"), replayed=True)
    assert words(artifacts) == [("a", "one two three "), ("b", "new")]


def test_a_replay_is_bounded() -> None:
    """J3: what is replayed for ever is bounded, and does not add up over many subscriptions."""
    artifacts = after("x" * 60, limit=100)
    for _ in range(50):
        artifacts.settle()
        said = [artifacts.note(chunk("a", "y" * 60, append=True), replayed=True) for _ in range(50)]
        assert said[-1] == ("artifact.over_limit",)
        assert size_of(artifacts.whole) < 300
    assert artifacts.note(task("WORKING", artifacts=(artifact("a", "z" * 50),), **ASKED)) == ()
    assert words(artifacts) == [("a", "z" * 50)]


@given(st.lists(st.text("ab ", min_size=1, max_size=3), max_size=6), st.data())
def test_any_cut_of_a_replay_gives_the_same(pieces: list[str], draw: st.DataObject) -> None:
    """D7, D12: subscriptions that replay it all, each cut anywhere, give it once."""
    artifacts = Artifacts()
    sent = 0
    for _ in range(3):
        artifacts.settle()
        heard = draw.draw(st.integers(0, len(pieces)))
        for report in chunks(*pieces[:heard]):
            artifacts.note(report, replayed=True)
        sent = max(sent, heard)
        assert "".join(text for _, text in words(artifacts)) == "".join(pieces[:sent])


def test_which_snapshot_ends_a_replay() -> None:
    """D7: a snapshot that has all that was heard; one without it may be a part of the replay."""
    artifacts = after("one two ", *chunks("one two ", "three "))
    whole = artifact("a", "one two three ")
    assert artifacts.are_in(task("WORKING", artifacts=(artifact("b", "z"), whole)))
    assert artifacts.are_in(task("WORKING", artifacts=(artifact("a", "another"),)))
    assert not artifacts.are_in(task("WORKING", artifacts=(artifact("a", "one two "),)))
    assert not artifacts.are_in(task("WORKING"))
    assert Artifacts().are_in(task("WORKING"))
