"""Deciding which task it is: linked, in which context, and moved to another task."""

from typing import Any

import msgspec
import pytest

from locum.core.errors import NotParkedError
from locum.core.events import Created, Event, Linked, Parked, PushRevoked, Resolved, Woken
from locum.core.lifecycle import A2AState
from tests.lives import Life, artifact, chunk, message, push, remote, status, task

# --- linking


@pytest.mark.parametrize("report", [task("SUBMITTED"), status("SUBMITTED"), chunk("a", "x")])
def test_linked_as_soon_as_the_id_is_known(report: Any) -> None:
    """C4: from a Task or from an update of any kind that comes first."""
    life = Life()
    (linked,) = life.hear(report, "send")
    assert isinstance(linked, Linked)
    assert (linked.remote_task_id, linked.state, linked.replaces) == ("t1", "SUBMITTED", None)
    assert life.hear(report, "send") == ()


def test_linked_in_the_state_that_was_heard() -> None:
    """C4, case S12: a task that is WORKING is linked as that; its first text is not lost."""
    life = Life()
    report = status("WORKING", "counting", remote_at=remote(1), anomalies=("json.kind_frame",))
    linked, woken = life.hear(report, "send")
    assert isinstance(linked, Linked)
    assert (linked.state, linked.remote_at, linked.context_id) == ("WORKING", remote(1), "c1")
    assert linked.anomalies == ("json.kind_frame",)
    assert isinstance(woken, Woken)
    assert (woken.text, woken.anomalies) == ("counting", ())


@pytest.mark.parametrize(
    "state, kind", [("INPUT_REQUIRED", Parked), ("AUTH_REQUIRED", Parked), ("FAILED", Resolved)]
)
def test_heard_at_once_parked_or_terminal(state: str, kind: type[Event]) -> None:
    """C4: both are recorded in one commit, Linked as SUBMITTED, which is all that is known of it."""
    life = Life()
    linked, after = life.hear(task(state, "words", remote_at=remote(1)), "send")
    assert isinstance(linked, Linked)
    assert (linked.state, linked.remote_at) == ("SUBMITTED", None)
    assert isinstance(after, kind)
    assert after.remote_at == remote(1)
    assert life.sub_task.state == state


def test_an_unknown_state_links_and_no_more() -> None:
    """D14, C4: the task is known, its state is not."""
    life = Life()
    (linked,) = life.hear(task(None, remote_at=remote(1)), "send")
    assert isinstance(linked, Linked)
    assert life.sub_task.state is A2AState.SUBMITTED


def test_a_message_resolves_at_once() -> None:
    """C5: an answer without a task is the end; what comes after it is ignored."""
    life = Life()
    (resolved,) = life.hear(message("12", message_id="a1"), "send")
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == ("COMPLETED", "12")
    assert resolved.artifacts == (artifact("a1", "12"),)
    assert life.hear(message("13"), "send") == ()
    assert life.hear(task("WORKING"), "send") == ()


def test_a_message_that_names_a_task_is_the_answer_too() -> None:
    """C5: it came instead of a task; there is nothing to link."""
    life = Life()
    (resolved,) = life.hear(message("12", remote_task_id="t1"), "send")
    assert isinstance(resolved, Resolved)
    assert not life.sub_task.is_linked


def test_a_message_of_a_known_task_is_no_state() -> None:
    """C5, D14: once a task is known, a message says nothing about its state."""
    life = Life.linked()
    assert life.hear(message("thanks")) == ()


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING", "INPUT_REQUIRED", None])
def test_a_task_without_an_id(state: str | None) -> None:
    """C4: what cannot be watched is not recorded as working or parked."""
    life = Life()
    assert life.hear(task(state, "?", remote_task_id=""), "send") == ()
    (resolved,) = life.hear(task("COMPLETED", "12", remote_task_id=""), "send")
    assert isinstance(resolved, Resolved)


def test_another_task_is_none_of_ours() -> None:
    """K3: an answer about another task changes nothing, its end neither."""
    for life in (Life.linked(), Life.parked(), Life.replied()):
        for report in (
            task("COMPLETED", "x", remote_task_id="t9", remote_at=remote(9)),
            status("WORKING", "x", remote_task_id="t9", remote_at=remote(9)),
            msgspec.structs.replace(chunk("a", "x"), remote_task_id="t9"),
        ):
            assert life.get(report) == ()
        assert life.sub_task.remote_task_id == "t1"


# --- contexts


def test_the_context_is_learned_when_it_is_told() -> None:
    """C12, case Q2, case Q4: an empty context id means unknown; the first one told is recorded with
    what it led to.
    """
    steps: list[tuple[Any, ...]] = [
        ("WORKING", "counting"),
        ("INPUT_REQUIRED", "Which hall?"),
        ("COMPLETED", "12"),
    ]
    for state, words in steps:
        life = Life()
        life.hear(task("SUBMITTED", context_id="", remote_at=remote(1)), "send")
        assert life.sub_task.context_id == ""
        (event,) = life.get(task(state, words, remote_at=remote(2)))
        assert not isinstance(event, Created | Linked | PushRevoked)
        assert event.context_id == "c1"
        assert life.sub_task.context_id == "c1"
    life = Life.linked()
    (event,) = life.get(task("COMPLETED", context_id="", remote_at=remote(2)))
    assert isinstance(event, Resolved)
    assert (event.context_id, life.sub_task.context_id) == ("", "c1")


def test_another_context_is_an_anomaly() -> None:
    """K3, case Q4: another context id is an anomaly; the result is kept, and the context that was
    first.
    """
    life = Life.linked()
    (event,) = life.get(task("COMPLETED", "12", context_id="c2", anomalies=("json.null",)))
    assert event.anomalies == ("json.null", "context.changed")
    assert life.sub_task.context_id == "c1"
    assert life.sub_task.text == "12"


# --- moves


def test_an_agent_that_moves_on_is_followed() -> None:
    """C13: a reply answered under another task id is Linked again, the old id kept."""
    life = Life.replied()
    moved = task("WORKING", remote_task_id="t2", context_id="", remote_at=remote(0.5))
    (linked,) = life.hear(moved, "send", moved=True)
    assert isinstance(linked, Linked)
    assert (linked.remote_task_id, linked.replaces, linked.state) == ("t2", "t1", "WORKING")
    assert life.sub_task.remote_task_id == "t2"
    assert life.sub_task.replaced == ("t1",)
    assert life.sub_task.remote_at == remote(0.5)
    assert life.sub_task.context_id == "c1"
    assert life.sub_task.reply is None
    assert life.get(task("INPUT_REQUIRED", "Which hall?", remote_at=remote(2))) == ()


@pytest.mark.parametrize("source", ["send", "get"])
@pytest.mark.parametrize("state", ["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED"])
def test_a_move_to_a_settled_task(state: str, source: Any) -> None:
    """C13: heard at once parked or ended under the other id: both in one commit, even unstamped."""
    life = Life.replied()
    moved = task(state, "Which hall?", remote_task_id="t2")
    linked, after = life.hear(moved, source, moved=True)
    assert isinstance(linked, Linked)
    assert linked.state == "WORKING"
    assert life.sub_task.state == state
    assert after.remote_at is None
    assert life.sub_task.remote_at is None


def test_a_move_as_submitted() -> None:
    """C13, H2: the other task is only SUBMITTED; the sub-task goes on as WORKING."""
    life = Life.replied()
    (linked,) = life.hear(task("SUBMITTED", remote_task_id="t2"), "send", moved=True)
    assert isinstance(linked, Linked)
    assert linked.state == "WORKING"


def test_a_move_while_parked_closes_the_question() -> None:
    """C13, C12: what was asked on the old task can no longer be answered."""
    life = Life.parked(watch=push())
    life.hear(task("WORKING", remote_task_id="t2"), "send", moved=True)
    assert life.sub_task.watch is None
    with pytest.raises(NotParkedError):
        life.reply()
