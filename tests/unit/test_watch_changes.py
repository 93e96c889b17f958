"""How a parked task is watched when the settings want another way by now: the policy's answer."""

import pytest

from locum.core.policy import (
    ChangeWatch,
    DeletePush,
    Follow,
    Known,
    RegisterPush,
    Rest,
    Send,
    Traits,
    Wanted,
    next_action,
)
from tests.lives import FOLLOW, OFF, POLL, Life, push, remote, task

NOW = remote(1_000)
WATCHES = {"push": push(1), "follow": FOLLOW, "poll": POLL, "off": OFF}
STAYS = {"push": {"push", "any"}, "follow": {"follow", "any"}, "poll": {"follow", "any"}}
STAYS["off"] = {"off"}


def _next(life: Life, watch: Wanted | None, known: Known = Known()) -> object:  # noqa: B008 - frozen
    return next_action(life.sub_task, NOW, traits=Traits(watch=watch), known=known)


@pytest.mark.parametrize("wanted", ["push", "follow", "off", "any"])
@pytest.mark.parametrize("recorded", WATCHES)
def test_every_change(recorded: str, wanted: Wanted) -> None:
    """D1, D9: another way than the recorded one is recorded first; what is not known changes none."""
    life = Life.parked(watch=WATCHES[recorded])
    unchanged = _next(life, None)
    is_same = wanted in STAYS[recorded]
    assert _next(life, wanted) == (unchanged if is_same else ChangeWatch(watch=wanted))


def test_what_is_not_parked_has_no_watch() -> None:
    """D9: only a parked task is watched in a chosen way; a working one is followed."""
    assert isinstance(_next(Life(), "off"), Send)
    assert _next(Life.linked(), "off") == Follow(remote_task_id="t1")


@pytest.mark.parametrize("watch", [FOLLOW, OFF], ids=["follow", "off"])
def test_an_unused_config_is_deleted(watch: object) -> None:
    """D1, F1: watched in another way, its push config is deleted and its token not accepted."""
    life = Life.parked(watch=push(1))
    life.rewatch(watch)  # type: ignore[arg-type]  # one of the two
    assert life.sub_task.token_digest is None
    assert life.sub_task.question == 3
    wanted: Wanted = "off" if watch is OFF else "follow"
    assert _next(life, wanted) == DeletePush(config_id="locum-s1", remote_task_id="t1")
    life.revoke("deleted")
    assert life.sub_task.watch == watch
    assert isinstance(_next(life, wanted), Rest if watch is OFF else Follow)


def test_a_refused_config_is_not_asked_for_again() -> None:
    """D2: a restart does not ask again for what was refused under this question, the next does."""
    life = Life.parked(watch=push(1))
    life.revoke("refused")
    assert _next(life, "push") == Follow(remote_task_id="t1")
    assert _next(life, "any") == Follow(remote_task_id="t1")
    life.get(task("INPUT_REQUIRED", "And when?", remote_at=remote(9)), watch=push(2))
    assert isinstance(_next(life, "push"), RegisterPush)


def test_a_refused_config_is_asked_for_once_it_is_wanted_again() -> None:
    """D1: no longer wanted and then wanted again, it is asked for again."""
    life = Life.parked(watch=push(1))
    life.revoke("refused")
    assert _next(life, "follow") == ChangeWatch(watch="follow")
    life.rewatch(FOLLOW)
    assert _next(life, "follow") == Follow(remote_task_id="t1")
    assert _next(life, "push") == ChangeWatch(watch="push")


def test_the_digests_of_all_tokens_are_known() -> None:
    """D2, J3: what an agent may quote is known by its digest, also long after; not without end."""
    life = Life.parked(watch=push(1))
    for number in range(2, 80):
        life.rewatch(push(number))
    life.rewatch(FOLLOW)
    digests = life.sub_task.token_digests
    assert digests == tuple(push(number).token_digest for number in range(16, 80))
