"""What the stand-in would do next, for every shape that a sub-task can have."""

from collections.abc import Callable

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from locum.core.policy import Known, Traits, next_action
from tests.lives import FOLLOW, OFF, POLL, Life, push, remote, task

NOW = remote(1_000)
WATCHES = {"push": push(1), "follow": FOLLOW, "poll": POLL, "off": OFF}
DEADLINES = {"no deadline": None, "deadline ahead": remote(1_001), "deadline passed": remote(999)}


def _linked(state: str, deadline: str | None) -> Life:
    life = Life(deadline=deadline)
    life.hear(task(state, remote_at=remote(1)), "send")
    return life


def _parked(watch: str, deadline: str | None, state: str = "INPUT_REQUIRED") -> Life:
    life = _linked("WORKING", deadline)
    life.get(task(state, "?", remote_at=remote(2)), watch=WATCHES[watch])
    return life


def _replied(watch: str, deadline: str | None) -> Life:
    life = _parked(watch, deadline)
    life.reply()
    return life


def _refused_reply(watch: str, deadline: str | None) -> Life:
    life = _replied(watch, deadline)
    life.refuse_reply(watch=WATCHES[watch])
    return life


def _woken(watch: str, deadline: str | None) -> Life:
    life = _parked(watch, deadline)
    life.get(task("WORKING", remote_at=remote(3)))
    return life


def _resolved(watch: str, deadline: str | None) -> Life:
    life = _parked(watch, deadline)
    life.get(task("COMPLETED", "12", remote_at=remote(3)))
    return life


def _revoked(life: Life, outcome: str, remote_task_id: str = "") -> Life:
    life.revoke(outcome, remote_task_id=remote_task_id)
    return life


def _rewatched(deadline: str | None) -> Life:
    life = _parked("push", deadline)
    life.rewatch(push(2))
    return life


def _moved(watch: str, state: str, deadline: str | None) -> Life:
    """Answered a reply under another task id, with a push config left on the old task."""
    life = _replied("push", deadline)
    moved = task(state, "And?", remote_task_id="t2", remote_at=remote(3))
    life.hear(moved, "send", moved=True, watch=WATCHES[watch])
    return life


Make = Callable[[str | None], Life]
SHAPES: dict[str, Make] = {
    "created": lambda deadline: Life(deadline=deadline),
    "linked, SUBMITTED": lambda deadline: _linked("SUBMITTED", deadline),
    "linked, WORKING": lambda deadline: _linked("WORKING", deadline),
    "AUTH_REQUIRED, push": lambda deadline: _parked("push", deadline, "AUTH_REQUIRED"),
    "parked, push refused": lambda deadline: _revoked(_parked("push", deadline), "refused"),
    "parked, watched anew": _rewatched,
    "ended while working": lambda deadline: _ended(_linked("WORKING", deadline)),
    "ended, config deleted": lambda deadline: _revoked(_resolved("push", deadline), "deleted"),
    "ended, deletion failed": lambda deadline: _revoked(_resolved("push", deadline), "failed"),
    "moved, WORKING, old config deleted": lambda deadline: _revoked(
        _moved("push", "WORKING", deadline), "deleted", "t1"
    ),
    "moved, parked, push, old config deleted": lambda deadline: _revoked(
        _moved("push", "INPUT_REQUIRED", deadline), "deleted", "t1"
    ),
    "moved, ended, old config deleted": lambda deadline: _revoked(
        _ended(_moved("push", "INPUT_REQUIRED", deadline)), "deleted", "t1"
    ),
}


def _ended(life: Life) -> Life:
    life.cancel()
    return life


def _with(make: Callable[..., Life], *arguments: str) -> Make:
    return lambda deadline: make(*arguments, deadline)


for _watch in WATCHES:
    SHAPES[f"parked, {_watch}"] = _with(_parked, _watch)
    SHAPES[f"replied, was {_watch}"] = _with(_replied, _watch)
    SHAPES[f"reply refused, {_watch}"] = _with(_refused_reply, _watch)
    SHAPES[f"went on by itself, was {_watch}"] = _with(_woken, _watch)
    SHAPES[f"ended, was {_watch}"] = _with(_resolved, _watch)
    SHAPES[f"moved, parked, {_watch}"] = _with(_moved, _watch, "INPUT_REQUIRED")
for _state in ("WORKING", "COMPLETED"):
    SHAPES[f"moved, {_state}"] = _with(_moved, "push", _state)

RESTART = "nothing (a restart)"
KNOWN = {
    RESTART: Known(),
    "the brief has not left": Known(unsent="m1"),
    "the reply has not left": Known(unsent="r1"),
    "the reply has arrived": Known(delivered="r1"),
    "the digest is registered": Known(registered=push(1).token_digest or ""),
    "another digest is registered": Known(registered=push(9).token_digest or ""),
    "somebody wants the end": Known(cancelling=True),
}
TRAITS = {"streaming": Traits(), "no streaming": Traits(streaming=False)}


def _action(shape: str, deadline: str, known: str) -> str:
    """The action; both where it differs between agents with and without streaming."""
    sub_task = SHAPES[shape](DEADLINES[deadline]).sub_task
    found = {
        name: msgspec.json.encode(
            next_action(sub_task, NOW, traits=traits, known=KNOWN[known])
        ).decode()
        for name, traits in TRAITS.items()
    }
    if len(set(found.values())) == 1:
        return found["streaming"]
    return " · ".join(f"{name}: {action}" for name, action in found.items())


def _actions(shape: str, deadline: str) -> dict[str, str]:
    """The action after a restart, and each that differs because this process knows more."""
    actions = {known: _action(shape, deadline, known) for known in KNOWN}
    return {
        known: action
        for known, action in actions.items()
        if known == RESTART or action != actions[RESTART]
    }


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_next_action(shape: str, snapshot: SnapshotAssertion) -> None:
    """I1, H4: the next action of a shape, by deadline, by what this process knows, by the agent."""
    table = {deadline: _actions(shape, deadline) for deadline in DEADLINES}
    # A deadline that is ahead is none yet.
    assert table.pop("deadline ahead") == table["no deadline"]
    assert table == snapshot
