"""How an end reads: its text, its artifacts and the reason of a failure."""

from typing import Any

import pytest

from locum.core.hearing import outcome_of
from locum.core.lifecycle import A2AState
from locum.core.report import Part, RemoteReport
from tests.lives import artifact, data, message, status, task, text


def ended(state: str, report: RemoteReport, *artifacts: Any, last_words: str = "") -> Any:
    """Text and artifacts of an end."""
    outcome = outcome_of(A2AState(state), report, artifacts, last_words=last_words)
    assert outcome.state is A2AState(state)
    return outcome.text, outcome.artifacts


def test_a_message_is_the_result() -> None:
    """C5: the message's parts are the result, its text is the text."""
    parts = (text("12"), data({"n": 12}))
    assert ended("COMPLETED", message(*parts, message_id="a1")) == (
        "12",
        (artifact("a1", *parts),),
    )
    assert ended("COMPLETED", message("12"))[1][0].artifact_id == "message"


def test_the_same_words_count_once() -> None:
    """D12, case R3: artifact and status message say the same: once. The artifact's text is the
    text.
    """
    found = artifact("a", "ok")
    assert ended("COMPLETED", task("COMPLETED", "ok"), found) == ("ok", (found,))
    assert ended("COMPLETED", task("COMPLETED", "done!"), found) == ("ok", (found,))
    assert ended("COMPLETED", task("COMPLETED"), found) == ("ok", (found,))
    assert ended("COMPLETED", task("COMPLETED", "done!")) == ("done!", ())


def test_data_only_is_no_text() -> None:
    """D12, case Q6: data is the result; the text is empty, not the data and not `None`."""
    found = artifact("a", data({"n": 12}))
    assert ended("COMPLETED", task("COMPLETED"), found) == ("", (found,))
    said = task("COMPLETED", data({"n": 12}), message_id="a1")
    assert ended("COMPLETED", said) == ("", (artifact("a1", data({"n": 12})),))
    unnamed = task("COMPLETED", data({"n": 12}))
    assert ended("COMPLETED", unnamed)[1][0].artifact_id == "status"


def test_a_message_beside_bare_artifacts() -> None:
    """D12, case R5: an artifact without content does not hide what the message carries."""
    bare = artifact("a", "", name="chairs")
    said = task("COMPLETED", "12", data({"n": 12}), message_id="a1")
    kept = (bare, artifact("a1", "12", data({"n": 12})))
    assert ended("COMPLETED", said, bare) == ("12", kept)
    blank = artifact("a", "  \n")
    assert ended("COMPLETED", said, blank) == ("12", (blank, kept[1]))


def test_what_a_message_carries_beside_a_result() -> None:
    """D12: data, files and URLs of the last message are kept as an artifact of their own, once."""
    link, file = Part(url="https://x/log.txt"), Part(raw="YWJj", filename="r.csv")
    full = artifact("a", "x")
    said = task("COMPLETED", "see the file", file, text(" and"), link, message_id="a1")
    assert ended("COMPLETED", said, full) == ("x", (full, artifact("a1", file, link)))
    assert ended("COMPLETED", said)[1] == (artifact("a1", *said.parts),)
    # What an artifact has already is not kept again; 1 is not true.
    listed = artifact("a", file, data({"n": 1, "m": 2}))
    said = task("COMPLETED", "ok", file, data({"m": 2, "n": 1}), Part())
    assert ended("COMPLETED", said, listed) == ("ok", (listed,))
    said = task("COMPLETED", data({"n": True, "m": 2}))
    assert ended("COMPLETED", said, listed)[1] == (listed, artifact("status", *said.parts))
    assert ended("COMPLETED", task("COMPLETED", "ok"), full) == ("x", (full,))


def test_a_blank_artifact_has_no_text() -> None:
    """D12: an artifact of blanks hides neither the message's words nor the last words."""
    blank, full = artifact("a", "  \n"), artifact("b", "x")
    assert ended("COMPLETED", task("COMPLETED", "12"), blank) == ("12", (blank,))
    assert ended("COMPLETED", task("COMPLETED", " "), blank, last_words="13") == ("13", (blank,))
    assert ended("COMPLETED", task("COMPLETED"), full, blank) == ("x", (full, blank))
    assert ended("FAILED", task("FAILED", " "), blank) == ("", (blank,))


def test_the_last_words_are_the_result_when_there_is_nothing_else() -> None:
    """D12, case Q7: an end that says nothing and has no artifact: the last words are the text."""
    last = "12 chairs"
    assert ended("COMPLETED", status("COMPLETED"), last_words=last) == (last, ())
    assert ended("COMPLETED", status("COMPLETED", "13"), last_words=last) == ("13", ())
    bare, full = artifact("a", ""), artifact("a", data(12))
    assert ended("COMPLETED", status("COMPLETED"), bare, last_words=last) == (last, (bare,))
    assert ended("COMPLETED", status("COMPLETED"), full, last_words=last) == ("", (full,))
    said = status("COMPLETED", data(12))
    assert ended("COMPLETED", said, last_words=last)[0] == ""
    assert ended("FAILED", status("FAILED"), last_words=last) == ("", ())


@pytest.mark.parametrize("state", ["FAILED", "REJECTED", "CANCELED"])
def test_the_reason_of_a_failure(state: str) -> None:
    """E7: the reason is the message's words, its data, or else the artifacts'; or there is none."""
    found = artifact("a", "half of it"), artifact("b", data({"why": "fire"})), artifact("c")
    assert ended(state, task(state, "no chairs"), *found) == ("no chairs", found)
    said = task(state, data({"e": 1}))
    assert ended(state, said, found[0]) == ('{"e":1}', (found[0], artifact("status", *said.parts)))
    assert ended(state, task(state), *found) == ('half of it\n{"why":"fire"}', found)
    assert ended(state, task(state, text="bare")) == ("bare", ())
    assert ended(state, task(state)) == ("", ())


def test_a_reason_without_words() -> None:
    """E7: a message that is only a URL or a file is the reason; what was brought is none."""
    brought = artifact("a", "half a result")
    link, file = Part(url="https://x/log.txt", filename="log.txt"), Part(raw="YWJj", filename="e")
    said = artifact("status", link, file)
    assert ended("FAILED", task("FAILED", link, file), brought) == (
        "https://x/log.txt\ne",
        (brought, said),
    )
    typed, bare = Part(raw="YWJj", media_type="text/plain"), Part(raw="YWJj")
    assert ended("FAILED", task("FAILED", typed), brought)[0] == "text/plain"
    assert ended("FAILED", task("FAILED", bare), brought)[0] == ""
    assert ended("FAILED", task("FAILED"), artifact("a", link)) == (
        "https://x/log.txt",
        (artifact("a", link),),
    )
    words = task("FAILED", "no paint", link)
    assert ended("FAILED", words, brought) == (
        "no paint",
        (brought, artifact("status", "no paint", link)),
    )
