"""Artifacts of a stream and of GetTask brought together: nothing is lost and nothing doubled."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locum.core.artifacts import Artifacts
from locum.core.merging import merge_snapshot
from locum.core.report import Part, artifacts_text
from tests.lives import artifact, chunk, data, task

from .assembled import HELLO, snapshot, together, words


def test_a_snapshot_fills_a_gap() -> None:
    """D12: what the stream missed at the beginning, in the middle or at the end comes from GetTask."""
    whole = artifact("a", "Hello, big world!")
    for heard in ("big world!", "Hello, world!", "Hello, ", ""):
        assert words(together(chunk("a", heard), snapshot(whole))) == [("a", "Hello, big world!")]


def test_what_only_the_stream_had_is_kept() -> None:
    """D12, case Q10: an artifact, or the rest of one, that GetTask does not have is not lost."""
    artifacts = together(*HELLO, chunk("b", "more"), snapshot(artifact("a", "Hello, ")))
    assert words(artifacts) == [("a", "Hello, big world!"), ("b", "more")]
    assert words(together(*HELLO, snapshot(artifact("a")))) == [("a", "Hello, big world!")]


def test_a_file_that_only_the_stream_had_is_kept() -> None:
    """D12: the same text without the file beside it is less, not the same."""
    file = Part(raw="AAEC", filename="x.bin")
    artifacts = together(chunk("a", "see", file), snapshot(artifact("a", "see")))
    assert artifacts.whole == (artifact("a", "see", file),)


def test_a_replayed_chunk_is_not_kept() -> None:
    """D7, D12: chunks that were replayed after a snapshot had them do not double the result."""
    artifacts = together(
        snapshot(artifact("a", "Hello, ", "big ")),
        chunk("a", "big ", append=True),
        chunk("a", data(1), append=True),
        snapshot(artifact("a", "Hello, big ", data(1))),
    )
    assert words(artifacts) == [("a", "Hello, big ")]
    artifacts = together(
        chunk("a", data(1)), chunk("a", data(1), append=True), snapshot(artifact("a", data(1)))
    )
    assert artifacts.whole == (artifact("a", data(1)),)
    artifacts = together(
        chunk("a", data(1), data(2)),
        chunk("a", data(1), data(2), append=True),
        snapshot(artifact("a", data(1))),
    )
    assert artifacts.whole == (artifact("a", data(1), data(2), data(1), data(2)),)


def test_a_replaced_artifact_is_taken_from_the_snapshot() -> None:
    """D12: GetTask has another text under the same id: the agent replaced it."""
    for draft in ("draft", "a much longer draft", "a"):
        artifacts = together(chunk("a", draft), snapshot(artifact("a", "final")))
        assert words(artifacts) == [("a", "final")]


def test_chunks_go_on_from_a_snapshot() -> None:
    """D12: what is appended after a snapshot is appended to it."""
    artifacts = together(snapshot(artifact("a", "Hello, ")), chunk("a", "world!", append=True))
    assert words(artifacts) == [("a", "Hello, world!")]


@pytest.mark.parametrize(
    "heard, got, expected",
    [
        ("b", "abc", "abc"),
        ("ab", "abc", "abc"),
        ("ba", "ab", "ab"),
        ("axb", "ab", "axb"),
        ("xab", "ab", "xab"),
        ("abx", "ab", "abx"),
        ("xy", "ab", "abxy"),
        ("axbyc", "cab", "xycab"),
    ],
)
def test_order_of_artifacts(heard: str, got: str, expected: str) -> None:
    """D12: artifacts are in the agent's order; what only the stream had keeps its neighbours."""
    merged = merge_snapshot(
        [artifact(letter, "heard") for letter in heard],
        [artifact(letter, "got more") for letter in got],
    )
    assert "".join(each.artifact_id for each in merged) == expected


def test_artifacts_that_share_an_id() -> None:
    """D12: of several artifacts under one id (or none) in a snapshot none is lost."""
    three = (artifact("", "one"), artifact("", "two"), artifact("", "two"))
    artifacts = together(chunk("", "one"), snapshot(*three))
    assert artifacts.whole == three
    assert together(snapshot(*three), snapshot(*three)).whole == three


def test_what_a_later_snapshot_has_no_more() -> None:
    """D12: what only an earlier snapshot had is gone when the agent has replaced it; what a stream
    brought stays, and so does everything when a snapshot shows no artifact at all.
    """
    draft, final = snapshot(artifact("draft", "about 10")), snapshot(artifact("final", "12"))
    assert words(together(draft, final)) == [("final", "12")]
    assert words(together(draft, snapshot())) == [("draft", "about 10")]
    streamed = together(draft, chunk("draft", ", or 11", append=True), final)
    assert words(streamed) == [("final", "12"), ("draft", "about 10, or 11")]


def test_chunks_that_a_snapshot_lists_apart() -> None:
    """D12: an agent that keeps each chunk as an artifact of its own says nothing twice."""
    heard = (chunk("a", "Hello, "), chunk("a", "world", append=True))
    apart = snapshot(artifact("a", "Hello, "), artifact("a", "world"), artifact("b", "!"))
    assert words(together(*heard, apart)) == [("a", "Hello, world"), ("b", "!")]


@given(st.lists(st.text("ab", max_size=3), max_size=6), st.data())
def test_any_cut_gives_the_same(pieces: list[str], draw: st.DataObject) -> None:
    """D12, case R1: however a text is cut into chunks, and whenever GetTask is asked, it comes
    once.
    """
    artifacts = Artifacts()
    sent = ""
    for piece in pieces:
        artifacts.note(chunk("a", piece, append=bool(sent)))
        sent += piece
        if draw.draw(st.booleans()):
            artifacts.note(snapshot(artifact("a", sent)))
    artifacts.note(snapshot(artifact("a", sent)))
    assert artifacts_text(artifacts.whole) == sent


def test_a_snapshot_does_not_open_what_was_closed() -> None:
    """D12, case R1: a chunk after the last one is odd, also when GetTask was asked meanwhile."""
    artifacts = together(*HELLO, snapshot(artifact("a", "Hello, big world!"), artifact("b", "x")))
    late = chunk("a", "again", append=True)
    assert artifacts.note(late) == ("artifact.append_after_last",)
    assert artifacts.note(chunk("b", "y", append=True)) == ()


ASKED: dict[str, Any] = {"asked_at": 2}


def test_a_result_that_became_shorter() -> None:
    """D12: of what GetTask has shown whole nothing is missing from it: at the end, less is less."""
    long, short = artifact("a", "42 (preliminary)"), artifact("a", "42")
    heard = (chunk("a", "42 (preliminary)"), task("WORKING", artifacts=(long,), **ASKED))
    end = task("COMPLETED", artifacts=(short,), **ASKED)
    assert words(together(*heard, end)) == [("a", "42")]
    # An answer that is out of date is none of the end, and changes nothing about that.
    late = task("WORKING", artifacts=(short,), **ASKED)
    assert words(together(*heard, late)) == [("a", "42 (preliminary)")]
    assert words(together(*heard, late, end)) == [("a", "42")]


def test_a_result_of_which_gettask_had_less_before() -> None:
    """D12: an agent whose GetTask never had what its stream brought loses nothing of it."""
    end = task("COMPLETED", artifacts=(artifact("a", "one "),), **ASKED)
    half = task("WORKING", artifacts=(artifact("a", "one "),), **ASKED)
    whole = (chunk("a", "one "), chunk("a", "two", append=True))
    for heard in (whole, (*whole, half), (whole[0], half, whole[1])):
        assert words(together(*heard, end)) == [("a", "one two")]
    stream = task("WORKING", artifacts=(artifact("a", "one two"),))
    assert words(together(*whole, stream, end)) == [("a", "one two")]
