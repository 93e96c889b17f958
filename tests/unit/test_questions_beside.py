"""Questions of which the status message says nothing, or not all: the artifacts have the words."""

import msgspec
import pytest

from locum.core.hearing import Verdict, question_of
from locum.core.report import Part
from locum.projections import note_for, row_of
from tests.lives import Life, artifact, chunk, data, remote, status, task, text

from .verdicts import verdict

FORM = Part(raw="JVBERg==", filename="form.pdf", media_type="application/pdf")
FOUND = artifact("q", "Which colour?")


@pytest.mark.parametrize("said", [(text(""),), (text(" \n"),), (Part(), text(""))])
def test_a_message_that_says_nothing_hides_no_question(said: tuple[Part, ...]) -> None:
    """D16: blanks, or no content at all, are as good as no status message."""
    life = Life.linked()
    report = task("INPUT_REQUIRED", *said, artifacts=(FOUND,), remote_at=remote(2))
    assert question_of(life.sub_task, report, (FOUND,)) == ("Which colour?", FOUND.parts)
    (parked,) = life.get(report)
    assert (parked.text, parked.parts) == ("Which colour?", FOUND.parts)
    assert verdict(life, report, "get") is Verdict.SAME
    assert question_of(life.sub_task, report, ()) == ("", ())


def test_a_message_that_says_nothing_is_no_other_question() -> None:
    """E2, D16: of a question whose words are known, a blank message says nothing."""
    life = Life.parked("Which hall?")
    blank = task("INPUT_REQUIRED", " ", remote_at=remote(9))
    assert verdict(life, blank, "get") is Verdict.SAME


def test_a_blank_artifact_asks_nothing() -> None:
    """D16: blanks in the artifact are no words either: what was said last is asked."""
    life = Life.linked()
    bare = task("INPUT_REQUIRED", artifacts=(artifact("q", " "),), remote_at=remote(2))
    assert question_of(life.sub_task, bare, bare.artifacts) == ("", ())
    (parked,) = life.get(msgspec.structs.replace(bare, last_said=(text("Which hall?"),)))
    assert parked.text == "Which hall?"
    assert life.get(msgspec.structs.replace(bare, last_said=(text(" "),))) == ()


def test_a_file_beside_the_words_of_an_artifact() -> None:
    """D16, E6: a message with only a file, and the words in the artifact: both are told."""
    life = Life.linked()
    asked = artifact("q", "Fill in the form", data({"pages": 2}))
    report = task("INPUT_REQUIRED", text(""), FORM, artifacts=(asked,), remote_at=remote(2))
    (parked,) = life.get(report)
    assert parked.text == "Fill in the form"
    note = note_for(row_of(life.sub_task), parked, 1)
    assert note is not None
    assert "Fill in the form\nfile: form.pdf, application/pdf, 4 bytes" in note.as_text()
    # Heard again it is the same, and in the same words about another file it is not.
    assert verdict(life, report, "get") is Verdict.SAME
    other = msgspec.structs.replace(report, parts=(Part(raw="AAEC"),), remote_at=remote(9))
    assert verdict(life, other, "get") is Verdict.CHANGE


def test_data_that_only_the_artifact_has_beside_a_file() -> None:
    """D16: where the artifact has no words, its data are the words."""
    life = Life.linked()
    life.hear(chunk("q", data({"pages": 2})))
    life.hear(status("INPUT_REQUIRED", FORM, remote_at=remote(2)))
    assert life.sub_task.text == '{"pages":2}'
    assert verdict(life, task("INPUT_REQUIRED", FORM, remote_at=remote(3)), "get") is Verdict.SAME
