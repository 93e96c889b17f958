"""Artifacts put together from updates: complete, in order, never doubled."""

from typing import Any

import pytest

from locum.core.artifacts import Artifacts
from locum.core.report import Part
from tests.lives import artifact, chunk, data, status, task, text

from .assembled import HELLO, snapshot, together, words


def test_chunks_make_one_text() -> None:
    """D12, case R1: appended chunks are one text, joined as they are, and one part."""
    artifacts = together(*HELLO)
    assert artifacts.whole == (artifact("a", "Hello, big world!"),)
    assert len(artifacts) == 1


def test_getting_the_same_doubles_nothing() -> None:
    """D12, case R1: a snapshot that agrees with the stream changes nothing."""
    artifacts = together(*HELLO, snapshot(artifact("a", "Hello, big world!")))
    assert words(artifacts) == [("a", "Hello, big world!")]
    chunked = snapshot(artifact("a", "Hello, ", "big ", "world!"))
    assert words(together(*HELLO, chunked)) == [("a", "Hello, big world!")]


def test_append_after_the_last_chunk() -> None:
    """D12, case R2: an append after the last chunk is an anomaly and changes nothing; a replacement
    counts.
    """
    artifacts = together(chunk("a", "x", last=True))
    assert artifacts.note(chunk("a", "y", append=True, last=True)) == (
        "artifact.append_after_last",
    )
    assert words(artifacts) == [("a", "x")]
    assert artifacts.note(chunk("a", "z", last=True)) == ()
    assert words(artifacts) == [("a", "z")]
    assert artifacts.note(chunk("a", "!", append=True)) == ("artifact.append_after_last",)


def test_a_replacement_opens_it_again() -> None:
    """D12, case R2: an artifact replaced by one that is not its last chunk takes appends again."""
    artifacts = together(chunk("a", "x", last=True), chunk("a", "y"))
    assert artifacts.note(chunk("a", "z", append=True)) == ()
    assert words(artifacts) == [("a", "yz")]


def test_append_to_an_unknown_id_creates_it() -> None:
    """D12: an append to an id that is not known creates it."""
    assert words(together(chunk("a", "x", append=True))) == [("a", "x")]


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("parts", [(), ("",), (Part(),)], ids=["none", "empty", "nothing"])
def test_empty_parts_erase_nothing(*, append: bool, parts: tuple[Any, ...]) -> None:
    """D12, case R5: an update without content keeps what is there, and takes its names over."""
    artifacts = together(chunk("a", "x"))
    assert artifacts.note(chunk("a", *parts, append=append, name="chairs")) == ()
    assert artifacts.whole == (artifact("a", "x", name="chairs"),)


def test_an_artifact_without_parts_is_kept() -> None:
    """D12, case R5: the first that is heard of an artifact may be without content."""
    artifacts = together(chunk("a", name="chairs"))
    assert artifacts.whole == (artifact("a", name="chairs"),)
    artifacts.note(chunk("a", "x", append=True))
    assert artifacts.whole == (artifact("a", "x", name="chairs"),)


def test_metadata_of_chunks_is_merged() -> None:
    """D12, case R7: metadata of appended chunks is merged, the last value wins; of a replacement,
    replaced.
    """
    artifacts = together(
        chunk("a", "x", metadata={"k": 1, "l": 1}, description="one"),
        chunk("a", "y", append=True, metadata={"k": 2, "m": 2}, name="chairs"),
    )
    (found,) = artifacts.whole
    assert found.metadata == {"k": 2, "l": 1, "m": 2}
    assert (found.name, found.description) == ("chairs", "one")
    artifacts.note(chunk("a", "z", metadata={"n": 3}))
    assert artifacts.whole == (artifact("a", "z", metadata={"n": 3}),)


def test_all_kinds_of_parts_are_kept() -> None:
    """D12, case R6: text, data, files and URLs keep media type and file name, in order."""
    parts = (
        text("see", media_type="text/markdown"),
        Part(raw="AAECAw==", media_type="image/png", filename="chair.png"),
        Part(url="https://example.com/x", media_type="text/html"),
        data({"red": 4}, media_type="application/json", metadata={"k": 1}),
    )
    artifacts = together(chunk("a", parts[0]), chunk("a", *parts[1:], append=True))
    assert artifacts.whole == (artifact("a", *parts),)


def test_only_texts_of_one_kind_are_joined() -> None:
    """D12: chunks of text are one part only where nothing else would be lost by it."""
    artifacts = together(
        chunk("a", text("a", media_type="text/plain")),
        chunk("a", text("b", media_type="text/plain"), append=True),
        chunk("a", text("c", media_type="text/markdown"), append=True),
        chunk("a", data(1), append=True),
        chunk("a", text("d", filename="d.txt"), append=True),
        chunk("a", text("e", filename="d.txt", metadata={"k": 1}), append=True),
    )
    assert artifacts.whole == (
        artifact(
            "a",
            text("ab", media_type="text/plain"),
            text("c", media_type="text/markdown"),
            data(1),
            text("d", filename="d.txt"),
            text("e", filename="d.txt", metadata={"k": 1}),
        ),
    )


def test_looking_does_not_disturb() -> None:
    """D12: what there is can be asked for between chunks, and stays as it was."""
    artifacts = together(HELLO[0])
    first = artifacts.whole
    artifacts.note(HELLO[1])
    assert artifacts.whole is artifacts.whole
    assert first == (artifact("a", "Hello, "),)
    assert words(artifacts) == [("a", "Hello, big ")]


def test_states_bring_no_artifacts() -> None:
    """D12: a status update, and a snapshot without artifacts, leave what is there alone."""
    artifacts = together(*HELLO)
    assert artifacts.note(status("WORKING", "still at it")) == ()
    assert artifacts.note(task("COMPLETED")) == ()
    assert words(artifacts) == [("a", "Hello, big world!")]


def test_what_is_handed_out_does_not_change() -> None:
    """D12: what was made of earlier chunks stays as it was when others come in."""
    artifacts = together(chunk("a", "x", metadata={"k": 1}))
    (before,) = artifacts.whole
    artifacts.note(chunk("a", "y", append=True, metadata={"k": 2}))
    assert before == artifact("a", "x", metadata={"k": 1})
    assert artifacts.whole == (artifact("a", "xy", metadata={"k": 2}),)


@pytest.mark.parametrize("parts", [(), ("",)], ids=["none", "empty"])
def test_what_follows_an_empty_replacement_begins_anew(parts: tuple[Any, ...]) -> None:
    """D12: a new version whose first chunk has no content yet replaces the one before, once it has."""
    artifacts = together(chunk("a", "Yes. But no.", name="draft"), chunk("b", "y"))
    artifacts.note(chunk("a", *parts, name="answer"))
    assert words(artifacts) == [("a", "Yes. But no."), ("b", "y")]
    artifacts.note(chunk("a", "", append=True))
    artifacts.note(chunk("a", "Yes", append=True))
    artifacts.note(chunk("a", ".", append=True))
    assert artifacts.whole == (artifact("a", "Yes.", name="answer"), artifact("b", "y"))


def test_a_last_chunk_without_content_begins_nothing() -> None:
    """D12, case R5: an empty last chunk that says that it replaces is the end of what is there."""
    artifacts = together(chunk("a", "x"), chunk("a", last=True))
    assert artifacts.note(chunk("a", "y", append=True)) == ("artifact.append_after_last",)
    assert words(artifacts) == [("a", "x")]


def test_an_emptied_artifact_makes_room() -> None:
    """D12, J3: one that was over the limit, and begins anew, is taken in again."""
    artifacts = Artifacts(limit=64)
    assert artifacts.note(chunk("a", "x" * 60)) == ()
    assert artifacts.note(chunk("a", "x" * 60, append=True)) == ()
    assert artifacts.note(chunk("a", "x", append=True)) == ("artifact.over_limit",)
    assert artifacts.note(chunk("a", "")) == ("artifact.over_limit",)
    assert artifacts.note(chunk("a", "yes", append=True)) == ()
    assert words(artifacts) == [("a", "yes")]


@pytest.mark.parametrize(
    "listed, state, expected",
    [
        ("Yes.", "WORKING", "Yes."),
        ("", "WORKING", "Yes. But no."),
        ("", "COMPLETED", "Yes. But no."),
        ("Yes.", "COMPLETED", "Yes."),
    ],
)
def test_gettask_tells_what_an_emptied_artifact_holds(
    listed: str, state: str, expected: str
) -> None:
    """D12: a shorter text is no beginning of what was emptied; nothing erases nothing."""
    artifacts = together(chunk("a", "Yes. But no."), chunk("a", ""))
    artifacts.note(task(state, artifacts=[artifact("a", listed)], asked_at=3))
    assert words(artifacts) == [("a", expected)]
    artifacts.note(chunk("a", "Yes", append=True))
    again = {"Yes.": "Yes.Yes", "Yes. But no.": "Yes"}[expected]
    assert words(artifacts) == [("a", again)]
