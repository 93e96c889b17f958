"""The explicit A2A state machine of a sub-task (H2), and the table compiled from it.

`Lifecycle` is the one place that says which state may follow which. It is declared with
python-statemachine, so that the diagram and the documentation come from it; commands look up
`TABLE`, which is compiled from it at import because one step of the library's machine costs
hundreds of microseconds (docs/adr/0003). Replaying a history looks at neither.
"""

from enum import StrEnum

from statemachine import State, StateMachine

from .errors import IllegalTransitionError

__all__ = ["PARKED", "TABLE", "TERMINAL", "A2AState", "Lifecycle", "Trigger", "target_of"]


class A2AState(StrEnum):
    """An A2A 1.0 task state, without its `TASK_STATE_` prefix (A2A section 4.1.3)."""

    SUBMITTED = "SUBMITTED"
    WORKING = "WORKING"
    INPUT_REQUIRED = "INPUT_REQUIRED"
    AUTH_REQUIRED = "AUTH_REQUIRED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    REJECTED = "REJECTED"

    @property
    def is_terminal(self) -> bool:
        """True for a state that nothing follows."""
        return self in TERMINAL

    @property
    def is_parked(self) -> bool:
        """True for a state that waits for somebody outside the agent."""
        return self in PARKED

    @property
    def is_settled(self) -> bool:
        """True when parked or terminal."""
        return self in PARKED or self in TERMINAL


TERMINAL = frozenset({A2AState.COMPLETED, A2AState.FAILED, A2AState.CANCELED, A2AState.REJECTED})
PARKED = frozenset({A2AState.INPUT_REQUIRED, A2AState.AUTH_REQUIRED})


class Trigger(StrEnum):
    """What moves a sub-task: one trigger per state that an agent can be heard in, and the reply."""

    SUBMIT = "submit"
    WORK = "work"
    ASK = "ask"
    NEED_AUTH = "need_auth"
    REPLY = "reply"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    REJECT = "reject"

    @classmethod
    def for_state(cls, state: A2AState) -> "Trigger":
        """The trigger that hearing `state` pulls."""
        return _HEARD[state]


_HEARD = {
    A2AState.SUBMITTED: Trigger.SUBMIT,
    A2AState.WORKING: Trigger.WORK,
    A2AState.INPUT_REQUIRED: Trigger.ASK,
    A2AState.AUTH_REQUIRED: Trigger.NEED_AUTH,
    A2AState.COMPLETED: Trigger.COMPLETE,
    A2AState.FAILED: Trigger.FAIL,
    A2AState.CANCELED: Trigger.CANCEL,
    A2AState.REJECTED: Trigger.REJECT,
}


class Lifecycle(StateMachine):
    """The life of a sub-task, from the record of its brief to its end."""

    submitted = State(A2AState.SUBMITTED, value=A2AState.SUBMITTED, initial=True)
    working = State(A2AState.WORKING, value=A2AState.WORKING)
    input_required = State(A2AState.INPUT_REQUIRED, value=A2AState.INPUT_REQUIRED)
    auth_required = State(A2AState.AUTH_REQUIRED, value=A2AState.AUTH_REQUIRED)
    completed = State(A2AState.COMPLETED, value=A2AState.COMPLETED, final=True)
    failed = State(A2AState.FAILED, value=A2AState.FAILED, final=True)
    canceled = State(A2AState.CANCELED, value=A2AState.CANCELED, final=True)
    rejected = State(A2AState.REJECTED, value=A2AState.REJECTED, final=True)

    submit = submitted.to(submitted)
    work = working.from_(submitted, working, input_required, auth_required)
    ask = input_required.from_(submitted, working, input_required, auth_required)
    need_auth = auth_required.from_(submitted, working, input_required, auth_required)
    reply = working.from_(input_required, auth_required)
    complete = completed.from_(submitted, working, input_required, auth_required)
    fail = failed.from_(submitted, working, input_required, auth_required)
    cancel = canceled.from_(submitted, working, input_required, auth_required)
    reject = rejected.from_(submitted, working, input_required, auth_required)


def _compile() -> dict[tuple[A2AState, Trigger], A2AState]:
    table: dict[tuple[A2AState, Trigger], A2AState] = {}
    for state in Lifecycle.states:
        for transition in state.transitions:
            for name in str(transition.event).split():
                target = transition.target
                assert target is not None
                table[A2AState(state.value), Trigger(name)] = A2AState(target.value)
    return table


TABLE: dict[tuple[A2AState, Trigger], A2AState] = _compile()
"""Every legal (state, trigger) and the state after it; a pair that is absent is illegal."""


def target_of(state: A2AState, trigger: Trigger) -> A2AState:
    """The state after `trigger` in `state`.

    Raises IllegalTransitionError when the machine has no such transition (H2).
    """
    try:
        return TABLE[state, trigger]
    except KeyError:
        raise IllegalTransitionError(state, trigger) from None
