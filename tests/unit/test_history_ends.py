"""Ends whose words are only in the task's history: what the agent said last is the answer (E7)."""

from typing import Any

import pytest

from locum.core.events import Follows, Resolved
from locum.core.report import Part
from tests.lives import Life, artifact, data, remote, status, task, text

ANSWER = (text("the answer is 42"),)


def ended(life: Life, state: str, *said: Part | str, **fields: Any) -> tuple[str, Any]:
    """Text and artifacts of an end whose history ends in that answer."""
    fields.setdefault("last_said", ANSWER)
    (resolved,) = life.get(task(state, *said, remote_at=remote(50), **fields))
    assert isinstance(resolved, Resolved)
    assert resolved.status_text in ("", "done")
    return resolved.text, resolved.artifacts


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "REJECTED"])
@pytest.mark.parametrize("said", [(), (" ",)])
def test_the_last_words_of_a_history(state: str, said: tuple[str, ...]) -> None:
    """E7, D12: no message that says anything and no artifact: what the history ends in counts."""
    assert ended(Life.linked(), state, *said) == ("the answer is 42", ())
    bare = (artifact("a", " "),)
    assert ended(Life.linked(), state, *said, artifacts=bare) == ("the answer is 42", bare)


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_data_that_only_the_history_has(state: str) -> None:
    """D12, E7: its data, files and URLs are kept as those of a status message are."""
    found = data({"n": 42})
    words = "" if state == "COMPLETED" else '{"n":42}'
    assert ended(Life.linked(), state, last_said=(found,)) == (
        words,
        (artifact("status", found),),
    )


def test_a_history_beside_anything_else() -> None:
    """D12, case R3: where anything else says something, the history is not looked at."""
    full, held = artifact("a", "12"), artifact("a", data(12))
    assert ended(Life.linked(), "COMPLETED", "done")[0] == "done"
    assert ended(Life.linked(), "COMPLETED", artifacts=(full,)) == ("12", (full,))
    assert ended(Life.linked(), "COMPLETED", artifacts=(held,)) == ("", (held,))
    assert ended(Life.linked(), "COMPLETED", data(12))[0] == ""
    assert ended(Life.linked(), "FAILED", "done")[0] == "done"
    life = Life.linked()
    life.hear(status("WORKING", "Counted: 12", remote_at=remote(3)), after=6)
    assert ended(life, "COMPLETED")[0] == "Counted: 12"


def test_what_is_said_of_the_work_is_no_reason() -> None:
    """E7: a status text, a question and what came before a cancel say nothing of why."""
    for waiting in (False, True):
        life = Life.linked()
        at_work = status("WORKING", *ANSWER, remote_at=remote(3))
        life.hear(at_work, after=1 if waiting else 6)
        fields = {"waiting_text": at_work.text} if waiting else {}
        (failed,) = life.get(task("FAILED", last_said=ANSWER, remote_at=remote(9)), **fields)
        assert isinstance(failed, Resolved)
        assert failed.text == ""
    assert ended(Life.parked("the answer is 42"), "COMPLETED") == ("", ())
    assert ended(Life.linked(), "CANCELED") == ("", ())
    assert ended(Life.linked(), "FAILED", last_said=()) == ("", ())
    assert ended(Life.linked(), "FAILED", last_said=(text(" "),)) == ("", ())


def test_only_what_comes_behind_our_last_message() -> None:
    """D12: after a reply, or in a context that was there before, an earlier turn's words are none."""
    assert ended(Life.replied(), "COMPLETED") == ("", ())
    assert ended(Life.replied(), "COMPLETED", history_ids=("m1", "r1"))[0] == "the answer is 42"
    follows = Follows(sub_task_id="s0", remote_task_id="t0", context_id="c1")
    assert ended(Life.linked(follows=follows), "COMPLETED") == ("", ())
    found = ended(Life.linked(follows=follows), "COMPLETED", history_ids=("m1",))
    assert found[0] == "the answer is 42"
