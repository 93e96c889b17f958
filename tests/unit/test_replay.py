"""A sub-task as it was, and histories that could not have happened."""

from typing import Any

import msgspec
import pytest

from locum.core.errors import HistoryError
from locum.core.events import Event
from locum.core.lifecycle import A2AState
from locum.core.replay import as_of_time, as_of_version, illegal_steps
from tests.lives import FOLLOW, START, Life, push, remote, status, task


def life() -> Life:
    """A life of seven events, a second apart."""
    life = Life.parked(watch=push())
    life.reply()
    life.hear(status("WORKING", "counting", remote_at=remote(5)))
    life.get(task("COMPLETED", "12", remote_at=remote(6)))
    life.revoke()
    return life


EVENTS = life().events


def test_as_of_version() -> None:
    """H4: the events up to a version, each version from the first to the latest."""
    for version in range(1, len(EVENTS) + 1):
        assert as_of_version(EVENTS, version) == EVENTS[:version]


@pytest.mark.parametrize("version", [-1, 0, 8])
def test_no_such_version(version: int) -> None:
    """H4: any other version is refused, with those there are."""
    with pytest.raises(HistoryError) as caught:
        as_of_version(EVENTS, version)
    assert caught.value.code == "history.no_version"
    assert caught.value.detail == {"version": version, "latest": 7}


def test_as_of_time() -> None:
    """H4: all that was recorded by then, at the very moment included; any zone will do."""
    for count, event in enumerate(EVENTS, 1):
        assert as_of_time(EVENTS, event.at) == EVENTS[:count]
    assert as_of_time(EVENTS, "2026-01-31T14:00:02.5+02:00") == EVENTS[:3]
    assert as_of_time(EVENTS, "2999-01-01T00:00:00Z") == EVENTS


def test_a_clock_that_was_set_back() -> None:
    """H4: what is shown is always a beginning of the history, with no event left out of it."""
    events = list(EVENTS)
    events[3] = msgspec.structs.replace(events[3], at=remote(100))
    assert as_of_time(events, remote(4.5)) == tuple(events[:5])
    assert as_of_time(events, remote(2)) == tuple(events[:3])


def test_before_the_beginning() -> None:
    """H4: nothing was recorded by then, or at all."""
    with pytest.raises(HistoryError) as caught:
        as_of_time(EVENTS, "2026-01-31T11:59:59Z")
    assert caught.value.code == "history.no_version"
    assert caught.value.detail["first"] == START
    with pytest.raises(HistoryError):
        as_of_time((), START)
    with pytest.raises(HistoryError):
        as_of_version((), 1)


@pytest.mark.parametrize("at", ["", "noon", "2026-01-31T12:00:00", "0001-01-01T00:00:00+23:59"])
def test_what_is_no_time(at: str) -> None:
    """H4: a time that cannot be read is refused with how to write one."""
    with pytest.raises(HistoryError) as caught:
        as_of_time(EVENTS, at)
    assert caught.value.code == "history.no_time"
    assert "2026-01-31T12:00:00Z" in caught.value.message


def test_what_was_decided_is_legal() -> None:
    """H3: no step of a life that was decided is illegal, a move and a refusal neither."""
    moved = Life.replied(watch=push())
    moved.hear(task("INPUT_REQUIRED", "And?", remote_task_id="t2"), "send", moved=True)
    refused = Life.replied(watch=push())
    refused.refuse_reply()
    refused.rewatch(push(2))
    for found in (life(), moved, refused, Life(), Life.linked("SUBMITTED")):
        assert illegal_steps(found.events) == []


def changed(index: int, **fields: Any) -> tuple[Event, ...]:
    """The history with other fields in one event."""
    events = list(EVENTS)
    events[index] = msgspec.structs.replace(events[index], **fields)
    return tuple(events)


CREATED, LINKED, PARKED, REPLIED, WOKEN, RESOLVED, REVOKED = EVENTS
MOVED = msgspec.structs.replace(LINKED, remote_task_id="t2", replaces="t9")


@pytest.mark.parametrize(
    "events, version, why",
    [
        ((LINKED,), 2, "does not begin with Created"),
        ((CREATED, CREATED), 1, "created twice"),
        ((CREATED, REPLIED), 4, "cannot take `reply`"),
        ((CREATED, LINKED, RESOLVED, PARKED), 3, "Parked after Resolved"),
        ((CREATED, LINKED, RESOLVED, WOKEN), 5, "Woken after Resolved"),
        ((CREATED, LINKED, RESOLVED, RESOLVED), 6, "Resolved after Resolved"),
        ((CREATED, LINKED, RESOLVED, MOVED), 2, "Linked after Resolved"),
        (changed(1, state=A2AState.INPUT_REQUIRED), 2, "Linked as INPUT_REQUIRED"),
        (changed(2, state=A2AState.COMPLETED), 3, "Parked as COMPLETED"),
        (changed(5, state=A2AState.WORKING), 6, "Resolved as WORKING"),
        (changed(1, replaces="t0"), 2, "another remote task"),
        ((CREATED, LINKED, LINKED), 2, "another remote task"),
        ((CREATED, LINKED, MOVED), 2, "another remote task"),
        (changed(2, question=2), 3, "under question 2"),
        (changed(3, question=2), 4, "reply to question 2"),
        ((CREATED, LINKED, PARKED, REVOKED, REVOKED), 7, "without that push config"),
        ((CREATED, LINKED, REVOKED), 7, "without that push config"),
    ],
)
def test_an_illegal_step_is_named(events: tuple[Event, ...], version: int, why: str) -> None:
    """H3, H2, F3: the first fault is named by its version, with what is wrong about it."""
    found = illegal_steps(events)
    assert found[0][0] == version
    assert found[0][1].startswith("illegal: ")
    assert why in found[0][1]


def test_a_linked_that_goes_back() -> None:
    """H2: WORKING never becomes SUBMITTED, by a move neither."""
    back = msgspec.structs.replace(
        LINKED, remote_task_id="t2", replaces="t1", state=A2AState.SUBMITTED, version=3
    )
    assert illegal_steps((CREATED, LINKED, back)) == [
        (3, "illegal: A sub-task that is WORKING cannot take `submit`; nothing was recorded.")
    ]


def test_every_fault_is_named() -> None:
    """H3: the walk goes on after a fault."""
    events = (CREATED, LINKED, RESOLVED, PARKED, REPLIED)
    assert [version for version, _ in illegal_steps(events)] == [3, 4]


def test_a_question_is_opened_by_its_own_parked() -> None:
    """C12: a new watch or a refusal goes on under the open question, nothing else does."""
    again = Life.parked(watch=push())
    again.get(task("INPUT_REQUIRED", "And?", remote_at=remote(5)))
    again.rewatch(FOLLOW)
    stale = msgspec.structs.replace(again.events[-1], question=3)
    assert illegal_steps((*again.events[:-1], stale)) == [
        (5, "illegal: Parked under question 3, which is not open")
    ]
