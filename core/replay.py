"""A sub-task as it was, at any version or time (H4), and the re-walk of its machine (H3)."""

from collections.abc import Iterable, Sequence

from .errors import HistoryError, IllegalTransitionError
from .events import Created, Event, Linked, Parked, PushRevoked, Resolved, Woken
from .lifecycle import A2AState, Trigger, target_of
from .subtask import SubTask, evolve
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
    until = tuple(event for event in events if parse_time(event.at) <= moment)
    if not until:
        raise HistoryError(
            f"Nothing was recorded by {at}; the history begins at {events[0].at}.",
            code="history.no_version",
            detail={"at": at, "first": events[0].at},
        )
    return until


def illegal_steps(events: Iterable[Event]) -> list[tuple[int, str]]:
    """Every event that the machine does not allow where it stands: (version, why) in order (H3)."""
    faults: list[tuple[int, str]] = []
    sub_task: SubTask | None = None
    for event in events:
        try:
            fault = _fault(sub_task, event)
            sub_task = evolve(sub_task, event)
        except (HistoryError, IllegalTransitionError) as error:
            fault = error.message
        if fault:
            faults.append((event.version, f"illegal: {fault}"))
    return faults


def _fault(sub_task: SubTask | None, event: Event) -> str:
    if sub_task is None or isinstance(event, Created):
        return ""
    if isinstance(event, PushRevoked):
        return ""
    if sub_task.is_resolved:
        return f"{type(event).__name__} after Resolved"
    if isinstance(event, Linked) and event.state is sub_task.state:
        return ""
    target_of(sub_task.state, _trigger(event))
    return ""


def _trigger(event: Linked | Parked | Woken | Resolved) -> Trigger:
    if isinstance(event, Woken):
        return Trigger.REPLY if event.message_id is not None else Trigger.WORK
    return Trigger.for_state(A2AState(event.state))
