"""The aggregate: events are assigned, never judged, and a history cannot begin in the middle."""

from collections.abc import Sequence

import msgspec
import pytest

from locum.core.chain import decode
from locum.core.errors import HistoryError
from locum.core.events import EVENT_TYPES, PushRevoked, Watch
from locum.core.lifecycle import A2AState
from locum.core.subtask import FLIPS_KEPT, PendingReply, PushConfig, SubTask, evolve, replay
from tests.lives import OFF, Life, data, push, remote, status, task


def whole_life() -> Life:
    """A life with each of the six events."""
    life = Life.parked(watch=push())
    life.reply()
    life.get(task("WORKING", "counting", remote_at=remote(9), anomalies=("json.null",)))
    life.get(task("COMPLETED", "12", remote_at=remote(10), anomalies=("json.null", "x.y")))
    life.revoke()
    return life


def test_replay_is_what_was_lived() -> None:
    """H1, H4: the events alone make the sub-task, read back from what is stored too."""
    life = whole_life()
    assert {type(event) for event in life.events} == set(EVENT_TYPES.values())
    assert replay(life.events) == life.sub_task
    assert replay(decode(stored) for stored in life.stored) == life.sub_task
    assert replay(()) is None


def test_replay_does_not_judge() -> None:
    """H2, H4: a history that the rules of today would not allow is read all the same."""
    life = whole_life()
    working = msgspec.structs.replace(life.events[4], version=8)
    again = evolve(life.sub_task, working)
    assert (again.version, again.state) == (8, A2AState.WORKING)


@pytest.mark.parametrize("order", [(1,), (1, 0), (0, 0), (0, 1, 0)])
def test_a_history_begins_with_created(order: Sequence[int]) -> None:
    """H3: and has it once; anything else is `history.illegal`."""
    events = whole_life().events
    with pytest.raises(HistoryError) as caught:
        replay(events[index] for index in order)
    assert caught.value.code == "history.illegal"
    assert "s1" in caught.value.message


def test_common_fields_follow_each_event() -> None:
    """H1, E1: version, head, time, cause and anomalies (each once) are those of the events so far.

    The deletion of a push config is no cause of how the sub-task stands.
    """
    life = whole_life()
    cause = ""
    sub_task: SubTask | None = None
    anomalies: list[str] = []
    for event in life.events:
        sub_task = evolve(sub_task, event)
        anomalies += [kind for kind in event.anomalies if kind not in anomalies]
        assert (sub_task.version, sub_task.head) == (event.version, event.hash)
        cause = cause if isinstance(event, PushRevoked) else event.cause
        assert (sub_task.updated_at, sub_task.cause) == (event.at, cause)
        assert list(sub_task.anomalies) == anomalies
    assert anomalies == ["json.null", "x.y"]


def test_events_are_named_for_the_store() -> None:
    """H1: the store knows an event by its sub-task, its version and a topic that outlives renames."""
    event = whole_life().events[1]
    assert (event.originator_id, event.originator_version) == ("s1", 2)
    assert sorted(EVENT_TYPES) == [
        "locum.sub_task.created",
        "locum.sub_task.linked",
        "locum.sub_task.parked",
        "locum.sub_task.push_revoked",
        "locum.sub_task.resolved",
        "locum.sub_task.woken",
    ]


def test_the_open_question() -> None:
    """C12: open from its Parked on, through a new watch, until it is answered or goes away."""
    life = Life.parked(watch=push())
    assert life.sub_task.question == 3
    life.rewatch(push(2))
    assert life.sub_task.question == 3
    life.reply()
    assert life.sub_task.question is None
    life.refuse_reply()
    assert life.sub_task.question == 3
    life.get(task("WORKING", remote_at=remote(9)))
    assert life.sub_task.question is None
    assert (life.sub_task.asked, life.sub_task.asked_id) == ("Which hall?", "q1")


def test_a_pending_reply() -> None:
    """C12, I3: all that has to be sent is there, until the agent asks again, moves or ends."""
    life = Life.parked()
    life.reply("the big one", parts=(data(1),))
    assert life.sub_task.reply == PendingReply(
        message_id="r1", question=3, text="the big one", parts=(data(1),), version=4
    )
    assert life.sub_task.text == ""
    life.hear(status("WORKING", "counting", remote_at=remote(9)))
    assert life.sub_task.reply is not None
    assert life.sub_task.text == "counting"


def test_times_of_the_agent_only_come_from_the_agent() -> None:
    """D14: what we record ourselves, and what bears no time, leaves the newest known time alone."""
    life = Life.parked(watch=push())
    for step in (
        life.reply,
        life.refuse_reply,
        lambda: life.rewatch(push(2)),
        lambda: life.get(task("WORKING")),
        lambda: life.get(task("INPUT_REQUIRED", "And?")),
        life.cancel,
        life.revoke,
    ):
        step()
        assert life.sub_task.remote_at == remote(2)


def test_flips_are_those_without_a_reply() -> None:
    """D15: leaving a question by itself, or changing it; the latest ones are kept."""
    life = Life.parked()
    life.reply()
    life.get(task("INPUT_REQUIRED", "And?", remote_at=remote(5)))
    assert life.sub_task.flips == ()
    life.get(task("INPUT_REQUIRED", "Or?", remote_at=remote(6)))
    first = life.now
    life.get(task("WORKING", remote_at=remote(7)))
    assert life.sub_task.flips == (first, life.now)
    life.rewatch(OFF)
    clock = 10.0
    for _ in range(FLIPS_KEPT):
        for state in ("INPUT_REQUIRED", "WORKING"):
            clock += 1
            life.get(task(state, remote_at=remote(clock)), after=100)
    assert len(life.sub_task.flips) == FLIPS_KEPT
    assert first not in life.sub_task.flips


def test_a_watch_that_was_revoked_falls_back() -> None:
    """D2, F1: only a push watch falls back; a config on an old task leaves the new watch alone."""
    life = Life.linked()
    poll_after_push = Watch(mode="push", fallback="poll", config_id="locum-s1", token_digest="d")
    life.get(task("INPUT_REQUIRED", "?", remote_at=remote(2)), watch=poll_after_push)
    life.revoke("refused")
    assert life.sub_task.watch == Watch(mode="poll", fallback="poll")
    assert life.sub_task.push_configs == ()
    life = Life.parked(watch=push())
    life.reply()
    life.get(task("INPUT_REQUIRED", "And?", remote_at=remote(5)), watch=OFF)
    assert life.sub_task.push_configs == (PushConfig(config_id="locum-s1", remote_task_id="t1"),)
    life.revoke()
    assert life.sub_task.push_configs == ()
    assert life.sub_task.watch == OFF


def test_a_config_is_known_until_it_is_revoked() -> None:
    """F1, D2: while it works, and after the end, by the task that it is on."""
    config = PushConfig(config_id="locum-s1", remote_task_id="t1")
    life = Life.parked(watch=push())
    assert life.sub_task.push_configs == (config,)
    life.rewatch(push(2))
    assert life.sub_task.push_configs == (config,)
    life.reply()
    assert life.sub_task.push_configs == (config,)
    assert life.sub_task.token_digest == push(2).token_digest
    life.get(task("COMPLETED", remote_at=remote(9)))
    assert life.sub_task.push_configs == (config,)
    life.revoke()
    assert life.sub_task.push_configs == ()


def test_the_end_refuses_tokens() -> None:
    """F1: from the ending on no token is accepted."""
    for end in ("cancel", "fail"):
        life = Life.parked(watch=push())
        getattr(life, end)()
        assert life.sub_task.token_digest is None
        assert life.sub_task.is_resolved
        assert (life.sub_task.watch, life.sub_task.question) == (None, None)


def test_linked() -> None:
    """C4: a sub-task is linked when the remote task is known."""
    assert not Life().sub_task.is_linked
    assert Life.linked().sub_task.is_linked
