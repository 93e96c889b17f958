"""The machine: its table against the library's own machine, and what is illegal."""

import itertools
from collections.abc import Callable

import pytest
from statemachine.exceptions import TransitionNotAllowed

from locum.core.errors import IllegalTransitionError
from locum.core.lifecycle import (
    PARKED,
    TABLE,
    TERMINAL,
    A2AState,
    Lifecycle,
    Trigger,
    target_of,
)
from tests.lives import FOLLOW, START, Life, message, status, task

PAIRS = list(itertools.product(A2AState, Trigger))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_table_is_the_machine(pair: tuple[A2AState, Trigger]) -> None:
    """H2: the compiled table says for every pair what the library's machine does."""
    state, trigger = pair
    machine = Lifecycle(start_value=state)
    try:
        machine.send(trigger)
    except TransitionNotAllowed:
        assert pair not in TABLE
        assert machine.current_state_value == state
    else:
        assert TABLE[pair] == machine.current_state_value


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_illegal_pairs_raise(pair: tuple[A2AState, Trigger]) -> None:
    """H2: a legal pair has one target; an illegal one raises with from, event and to."""
    state, trigger = pair
    if pair in TABLE:
        assert target_of(state, trigger) is TABLE[pair]
        return
    with pytest.raises(IllegalTransitionError) as caught:
        target_of(state, trigger)
    assert caught.value.detail == {"from": state, "event": trigger, "to": None}
    assert state in caught.value.message
    assert trigger in caught.value.message


@pytest.mark.parametrize("state", [A2AState.SUBMITTED, A2AState.WORKING])
def test_illegal_command_records_nothing(state: A2AState) -> None:
    """H2: a command that the machine does not allow raises, and nothing is recorded."""
    life = Life.linked()
    before = life.sub_task, life.events
    with pytest.raises(IllegalTransitionError):
        life.fail(state=state)
    assert (life.sub_task, life.events) == before


def _moved(life: Life) -> object:
    return life.hear(task("WORKING", remote_task_id="t2"), "send", moved=True)


Step = Callable[[Life], object]
STEPS: list[tuple[Callable[[], Life], Step, tuple[str, str]]] = [
    (Life, lambda life: life.hear(task("WORKING"), "send"), ("SUBMITTED", "work")),
    (Life, lambda life: life.hear(task("FAILED"), "send"), ("SUBMITTED", "fail")),
    (Life, lambda life: life.hear(message("12"), "send"), ("SUBMITTED", "complete")),
    (Life.linked, lambda life: life.hear(status("WORKING", "counting")), ("WORKING", "work")),
    (Life.linked, lambda life: life.get(task("INPUT_REQUIRED", "?")), ("WORKING", "ask")),
    (Life.linked, lambda life: life.get(task("AUTH_REQUIRED", "?")), ("WORKING", "need_auth")),
    (Life.linked, lambda life: life.get(task("COMPLETED")), ("WORKING", "complete")),
    (Life.linked, lambda life: life.get(task("REJECTED")), ("WORKING", "reject")),
    (Life.linked, lambda life: life.cancel(), ("WORKING", "cancel")),
    (Life.linked, lambda life: life.fail(), ("WORKING", "fail")),
    (lambda: Life.linked(deadline=START), lambda life: life.expire(), ("WORKING", "fail")),
    (Life.parked, lambda life: life.get(task("WORKING")), ("INPUT_REQUIRED", "work")),
    (Life.parked, lambda life: life.get(task("INPUT_REQUIRED", "And?")), ("INPUT_REQUIRED", "ask")),
    (Life.parked, lambda life: life.rewatch(FOLLOW), ("INPUT_REQUIRED", "ask")),
    (Life.parked, lambda life: life.reply(), ("INPUT_REQUIRED", "reply")),
    (Life.parked, _moved, ("INPUT_REQUIRED", "work")),
    (Life.replied, lambda life: life.refuse_reply(), ("WORKING", "ask")),
]


@pytest.mark.parametrize("index", range(len(STEPS)))
def test_every_change_asks_the_machine(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """H2: were a transition not in the machine, no command could make it, and nothing be recorded."""
    make, step, (state, trigger) = STEPS[index]
    assert step(make())
    life = make()
    before = life.sub_task, life.events
    monkeypatch.delitem(TABLE, (A2AState(state), Trigger(trigger)))
    with pytest.raises(IllegalTransitionError) as caught:
        step(life)
    assert caught.value.detail["from"] == state
    assert caught.value.detail["event"] == trigger
    assert (life.sub_task, life.events) == before


def test_every_trigger_moves_something() -> None:
    """H2: no trigger is dead, and every state but the ends is left by some trigger."""
    assert {trigger for _, trigger in TABLE} == set(Trigger)
    assert {state for state, _ in TABLE} == set(A2AState) - TERMINAL
    assert set(TABLE.values()) == set(A2AState)


def test_heard_states_have_one_trigger_each() -> None:
    """H2: hearing a state pulls a trigger of its own, which leads to that state wherever it may."""
    triggers = {state: Trigger.for_state(state) for state in A2AState}
    assert len(set(triggers.values())) == len(A2AState)
    for state, trigger in triggers.items():
        targets = {target for (_, pulled), target in TABLE.items() if pulled is trigger}
        assert targets == {state}


def test_kinds_of_states() -> None:
    """H2: a state is terminal, parked or neither; settled is either of the two."""
    assert {state for state in A2AState if state.is_terminal} == TERMINAL
    assert {state for state in A2AState if state.is_parked} == PARKED
    assert {state for state in A2AState if state.is_settled} == TERMINAL | PARKED
    assert not TERMINAL & PARKED


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_ends_are_final(state: A2AState, trigger: Trigger) -> None:
    """F3, H2: nothing leaves an end."""
    assert (state, trigger) not in TABLE
