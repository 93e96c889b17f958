"""What the stand-in does next, where one thing goes before another. The shapes: tests/snapshot."""

from typing import Any

from locum.core.policy import (
    AwaitPush,
    CancelRemote,
    DeletePush,
    Follow,
    Known,
    Poll,
    RegisterPush,
    Rest,
    Send,
    SendReply,
    Traits,
    next_action,
)
from tests.lives import FOLLOW, OFF, POLL, Life, push, remote, task

DIGEST = push().token_digest or ""
PLAIN = Traits(streaming=False)


def action(
    life: Life, *, now: str = remote(100), traits: Traits | None = None, **known: Any
) -> Any:
    """The next action."""
    return next_action(life.sub_task, now, traits=traits or Traits(), known=Known(**known))


def test_the_brief_is_looked_for_unless_it_surely_has_not_left() -> None:
    """I2, C7: only this process knows that the brief is unsent; a restart looks first."""
    assert action(Life(), unsent="m1") == Send(message_id="m1", look_first=False)
    assert action(Life()) == Send(message_id="m1", look_first=True)
    assert action(Life(), unsent="r1") == Send(message_id="m1", look_first=True)


def test_the_reply_is_looked_for_unless_it_surely_has_not_left() -> None:
    """I3, C12: so is a reply; once it has arrived, the task is watched."""
    life = Life.replied()
    assert action(life, unsent="r1") == SendReply(message_id="r1", look_first=False)
    assert action(life) == SendReply(message_id="r1", look_first=True)
    assert action(life, delivered="r0") == SendReply(message_id="r1", look_first=True)
    assert action(life, delivered="r1") == Follow(remote_task_id="t1")


def test_a_reply_goes_before_a_watch() -> None:
    """D6, C12: a reply ends the follow at once, also while the task says that it works."""
    life = Life.replied()
    life.get(task("WORKING", "counting", remote_at=remote(9)))
    assert isinstance(action(life), SendReply)


def test_a_cancel_goes_before_all_but_the_end() -> None:
    """F2: before the brief, a reply and any watch; what has ended is not cancelled."""
    for life in (Life(), Life.linked(), Life.parked(watch=OFF), Life.replied()):
        assert action(life, cancelling=True) == CancelRemote(deadline=False)
        life.cancel()
        assert action(life, cancelling=True) == Rest()


def test_the_deadline() -> None:
    """C11: at its very moment and after it, in any state, whatever else is wanted then; never
    before, and not without one.
    """
    assert not isinstance(action(Life.linked(), now=remote(1e6)), CancelRemote)
    lives = [Life(deadline=remote(50)) for _ in range(4)]
    for life in lives[1:]:
        life.hear(task("WORKING"), "send")
    for life in lives[2:]:
        life.get(task("INPUT_REQUIRED", "?"))
    lives[3].reply()
    for life in lives:
        assert not isinstance(action(life, now=remote(49.999999)), CancelRemote)
        assert action(life, now=remote(50)) == CancelRemote(deadline=True)
        assert action(life, now=remote(49), cancelling=True) == CancelRemote(deadline=False)
        assert action(life, now=remote(51), cancelling=True) == CancelRemote(deadline=True)


def test_a_working_task_is_followed_or_polled() -> None:
    """D9, D8: SUBMITTED or WORKING, whatever `updates` says; polled when there is no streaming."""
    for life in (Life.linked("SUBMITTED"), Life.linked()):
        assert action(life) == Follow(remote_task_id="t1")
        assert action(life, traits=PLAIN) == Poll(remote_task_id="t1")


def test_a_parked_task_is_watched_as_recorded() -> None:
    """D1, D8, D9: followed, polled, or not at all; a follow is polled when there is no streaming."""
    assert action(Life.parked(watch=FOLLOW)) == Follow(remote_task_id="t1")
    assert action(Life.parked(watch=FOLLOW), traits=PLAIN) == Poll(remote_task_id="t1")
    assert action(Life.parked(watch=POLL)) == Poll(remote_task_id="t1")
    assert action(Life.parked(watch=OFF)) == Rest()


def test_a_push_watch_is_registered_once() -> None:
    """D2, case P4: the agent has to have taken this very digest, else it is registered (again)."""
    life = Life.parked(watch=push())
    register = RegisterPush(config_id="locum-s1", token_digest=DIGEST)
    assert action(life) == register
    assert action(life, registered=push(2).token_digest) == register
    assert action(life, registered=DIGEST) == AwaitPush(config_id="locum-s1")
    life.rewatch(push(2))
    assert isinstance(action(life, registered=DIGEST), RegisterPush)


def test_a_refused_registration_is_followed() -> None:
    """D2, case P9: then it is followed, or polled, and not registered again."""
    life = Life.parked(watch=push())
    life.revoke("refused")
    assert action(life) == Follow(remote_task_id="t1")
    assert action(life, traits=PLAIN) == Poll(remote_task_id="t1")


def test_an_ended_task_loses_its_config() -> None:
    """F1, I1: an unfinished deletion is done, then there is nothing to do."""
    life = Life.parked(watch=push())
    life.get(task("COMPLETED", remote_at=remote(9)))
    assert action(life) == DeletePush(config_id="locum-s1", remote_task_id="t1")
    life.revoke("failed")
    assert action(life) == Rest()


def test_a_config_on_the_old_task_is_deleted() -> None:
    """C13, F1: the old task's config goes, whether the new task works, is parked or has ended."""
    old = DeletePush(config_id="locum-s1", remote_task_id="t1")
    for state in ("WORKING", "INPUT_REQUIRED", "COMPLETED"):
        life = Life.parked(watch=push(1))
        life.reply()
        moved = task(state, "And?", remote_task_id="t2")
        life.hear(moved, "send", moved=True, watch=push(2))
        assert action(life) == old
        assert action(life, cancelling=True) == (
            old if state == "COMPLETED" else CancelRemote(deadline=False)
        )
        life.revoke(remote_task_id="t1")
        assert action(life) != old
    assert action(life) == Rest()


def test_a_config_on_a_working_task_stays() -> None:
    """D2, F1: while it works the config is kept for the next question."""
    life = Life.parked(watch=push())
    life.reply()
    assert action(life, delivered="r1") == Follow(remote_task_id="t1")
