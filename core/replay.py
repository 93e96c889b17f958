"""A sub-task as it was, at any version or time (H4), and the re-walk of its machine (H3)."""

from collections.abc import Iterable, Sequence

from .errors import HistoryError, IllegalTransitionError
from .events import Created, Event, Linked, Parked, PushRevoked, Resolved, Woken
from .lifecycle import PARKED, TERMINAL, A2AState, Trigger, target_of
from .subtask import PushConfig, SubTask, evolve
from .times import parse_time

__all__ = ["as_of_time", "as_of_version", "illegal_steps"]


def as_of_version(events: Sequence[Event], version: int) -> tuple[Event, ...]:
    """The events up to and with `version`. Raises HistoryError when there is no such version."""
    if not 1 <= version <= len(events):
        raise HistoryError(
            f"There is no version {version}; this history has 1 to {len(events)}.",
            code="history.no_version",
            detail={"version": version, "latest": len(events)},
        )
    return tuple(events[:version])


def as_of_time(events: Sequence[Event], at: str) -> tuple[Event, ...]:
    """The events recorded up to `at` (RFC 3339). Raises HistoryError when there are none."""
    try:
        moment = parse_time(at)
    except ValueError as error:
        raise HistoryError(
            f"{at!r} is no time; write it like 2026-01-31T12:00:00Z.", code="history.no_time"
        ) from error
    # Up to the last such event: a clock that was set back must leave none out of the middle.
    for count in range(len(events), 0, -1):
        if parse_time(events[count - 1].at) <= moment:
            return tuple(events[:count])
    first = events[0].at if events else None
    raise HistoryError(
        f"Nothing was recorded by {at}; the history begins at {first}.",
        code="history.no_version",
        detail={"at": at, "first": first},
    )


def illegal_steps(events: Iterable[Event]) -> list[tuple[int, str]]:
    """Every event that could not come where it stands: (version, why) in order (H3)."""
    faults: list[tuple[int, str]] = []
    sub_task: SubTask | None = None
    for event in events:
        try:
            fault = _fault(sub_task, event)
            # What could not happen has changed nothing: the next one is held against the last legal.
            sub_task = sub_task if fault else evolve(sub_task, event)
        except (HistoryError, IllegalTransitionError) as error:
            fault = error.message
        if fault:
            faults.append((event.version, f"illegal: {fault}"))
    return faults


def _fault(sub_task: SubTask | None, event: Event) -> str:
    if sub_task is None or isinstance(event, Created):
        # `evolve` says whether there may be one.
        return ""
    if isinstance(event, PushRevoked):
        config = PushConfig(config_id=event.config_id, remote_task_id=event.remote_task_id)
        return "" if config in sub_task.push_configs else "PushRevoked without that push config"
    if sub_task.is_resolved:
        return f"{type(event).__name__} after Resolved"
    if not isinstance(event, Woken) and event.state not in _STATES[type(event)]:
        return f"{type(event).__name__} as {event.state}"
    if isinstance(event, Linked) and event.replaces != (sub_task.remote_task_id or None):
        return "Linked to another remote task than the one it replaces"
    target_of(sub_task.state, _trigger(event))
    return _question_fault(sub_task, event)


_STATES: dict[type[Event], frozenset[A2AState]] = {
    Linked: frozenset({A2AState.SUBMITTED, A2AState.WORKING}),
    Parked: PARKED,
    Resolved: TERMINAL,
}
"""What each event that names a state may name."""


def _question_fault(sub_task: SubTask, event: Event) -> str:
    """Questions are opened by a Parked of their own, and answered while they are open (C12)."""
    pending = sub_task.reply
    match event:
        case Parked(question=question) if question != event.version:
            is_open = question in (sub_task.question, pending and pending.question)
            return "" if is_open else f"Parked under question {question}, which is not open"
        case Woken(message_id=str(), question=question):
            is_open = question == sub_task.question
            return "" if is_open else f"a reply to question {question}, which is not open"
        case _:
            return ""


def _trigger(event: Linked | Parked | Woken | Resolved) -> Trigger:
    if isinstance(event, Woken):
        return Trigger.REPLY if event.message_id is not None else Trigger.WORK
    return Trigger.for_state(event.state)
