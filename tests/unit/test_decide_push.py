"""Deciding about watches: registered anew, refused, revoked, left on a task that was moved from."""

from locum.core.events import Parked, PushRevoked
from tests.lives import FOLLOW, Life, kinds, push, task


def test_a_new_watch_is_the_same_question() -> None:
    """D2, case P4: Parked again with another digest: same question, so that nobody is told twice."""
    life = Life.parked(watch=push(1))
    (parked,) = life.rewatch(push(2))
    assert isinstance(parked, Parked)
    assert (parked.question, parked.version, parked.text) == (3, 4, "Which hall?")
    assert life.sub_task.token_digest == push(2).token_digest
    assert life.sub_task.asked_id == "q1"
    assert Life.linked().rewatch(push()) == ()


def test_a_refused_registration() -> None:
    """D2, case P9: PushRevoked (refused) turns the watch into its fallback; the question stays
    open.
    """
    life = Life.parked(watch=push())
    (revoked,) = life.revoke("refused", detail="-32003")
    assert isinstance(revoked, PushRevoked)
    assert (revoked.config_id, revoked.remote_task_id) == ("locum-s1", "t1")
    assert (revoked.outcome, revoked.detail) == ("refused", "-32003")
    assert life.sub_task.watch == FOLLOW
    assert life.sub_task.token_digest is None
    assert life.sub_task.question == 3


def test_only_what_is_there_is_revoked() -> None:
    """F1: a config that the agent does not hold is not revoked, nor one on another task."""
    life = Life.parked(watch=push())
    assert life.revoke(config_id="other") == ()
    assert life.revoke(remote_task_id="t9") == ()
    assert kinds(life.revoke(remote_task_id="t1")) == [PushRevoked]
    assert life.revoke() == ()


def test_the_config_on_the_old_task_is_not_forgotten() -> None:
    """C13, F1: after a move both configs are known, each by the task that it is on."""
    life = Life.parked(watch=push(1))
    life.reply()
    life.hear(
        task("INPUT_REQUIRED", "And?", remote_task_id="t2"), "send", moved=True, watch=push(2)
    )
    (old,) = life.sub_task.stale_pushes
    assert (old.config_id, old.remote_task_id) == ("locum-s1", "t1")
    assert (life.sub_task.push_config_id, life.sub_task.push_task_id) == ("locum-s1", "t2")
    (revoked,) = life.revoke(remote_task_id="t1")
    assert isinstance(revoked, PushRevoked)
    assert revoked.remote_task_id == "t1"
    assert life.sub_task.stale_pushes == ()
    assert life.sub_task.watch == push(2)
    assert life.sub_task.token_digest == push(2).token_digest
