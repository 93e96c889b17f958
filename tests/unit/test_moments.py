"""A sub-task as it was at any moment of its history."""

from typing import Any

import msgspec
import pytest

from locum.core.errors import HistoryError
from locum.core.subtask import replay
from locum.core.times import add_seconds
from locum.projections.moments import moment_at, moment_to_json, moments_of
from locum.projections.notifications import note_for, note_to_json
from locum.projections.rows import row_of, row_to_json
from tests.lives import OFF, POLL, START, Life, push, remote, task


def _asked_and_answered() -> Life:
    life = Life(deadline=remote(600))
    life.hear(task("WORKING", remote_at=remote(1)), "send")
    life.get(task("INPUT_REQUIRED", "Which hall?", remote_at=remote(2)), watch=push(1))
    life.reply()
    life.get(task("COMPLETED", "twelve", remote_at=remote(9)))
    life.revoke("deleted")
    return life


def test_each_version_is_what_its_events_add_up_to() -> None:
    """H4: the aggregate, the row and what the model had been told, after each event."""
    events = _asked_and_answered().events
    told: list[dict[str, Any]] = []
    moments = moments_of(events)
    assert [moment.event for moment in moments] == list(events)
    for version, moment in enumerate(moments, start=1):
        then = replay(events[:version])
        assert then is not None
        note = note_for(row_of(then), events[version - 1], version)
        told += [note_to_json(note)] if note else []
        assert moment_to_json(moment) == moment_to_json(moment_at(events, version=version))
        assert moment_to_json(moment) == {
            "sub_task": msgspec.to_builtins(then),
            "row": row_to_json(row_of(then)),
            "notifications": told,
            "next_action": msgspec.to_builtins(moment.next_action),
        }
    assert [note["kind"] for note in told] == ["question", "ended"]


def test_what_a_stand_in_would_do_next() -> None:
    """H4, I1: what one that was started at each moment would do, by the record alone."""
    steps = [
        msgspec.to_builtins(moment.next_action)["action"]
        for moment in moments_of(_asked_and_answered().events)
    ]
    assert steps == ["send", "follow", "register_push", "send_reply", "delete_push", "rest"]


def test_the_latest_is_shown_where_nothing_else_is_asked_for() -> None:
    """H4: without a version or a time it is the present one."""
    events = _asked_and_answered().events
    assert moment_at(events).sub_task == replay(events)


def test_at_a_time_the_next_action_is_that_of_the_time() -> None:
    """H4, C11: a deadline that had passed by then is seen, one second before it is not."""
    events = _asked_and_answered().events[:2]
    before = moment_at(events, at=add_seconds(START, 599))
    after = moment_at(events, at=add_seconds(START, 600))
    assert before.sub_task == after.sub_task
    assert msgspec.to_builtins(before.next_action)["action"] == "follow"
    assert msgspec.to_builtins(after.next_action) == {"action": "cancel", "deadline": True}


@pytest.mark.parametrize("asked, code", [({"version": 7}, "no_version"), ({"at": "?"}, "no_time")])
def test_there_is_nothing_of_another_version(asked: dict[str, Any], code: str) -> None:
    """H4: a version or a time of which there is nothing is refused."""
    with pytest.raises(HistoryError) as refused:
        moment_at(_asked_and_answered().events, **asked)
    assert refused.value.code == f"history.{code}"


def test_an_agent_that_was_polled_is_polled_again() -> None:
    """H4, D8: the record tells that an agent had no streams, also where it is not watched."""
    life = Life()
    life.hear(task("WORKING", remote_at=remote(1)), "send")
    life.get(task("INPUT_REQUIRED", "?", remote_at=remote(2)), watch=POLL)
    life.get(task("WORKING", remote_at=remote(3)))
    life.get(task("AUTH_REQUIRED", "!", remote_at=remote(4)), watch=OFF)
    life.get(task("WORKING", remote_at=remote(5)))
    steps = [
        msgspec.to_builtins(moment.next_action)["action"] for moment in moments_of(life.events)
    ]
    assert steps == ["send", "follow", "poll", "poll", "rest", "poll"]


def test_notes_of_a_store_keep_their_cursors() -> None:
    """H4, E3: what the store says was told is shown as it was told, up to that version."""
    events = _asked_and_answered().events
    notes = [
        msgspec.structs.replace(note, cursor=note.cursor + 100)
        for note in moments_of(events)[-1].notifications
    ]
    shown = [[note.cursor for note in m.notifications] for m in moments_of(events, notes=notes)]
    assert shown == [[], [], [103], [103], [103, 105], [103, 105]]
