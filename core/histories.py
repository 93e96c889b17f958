"""Histories that were exported, read back to be replayed elsewhere: in a test, on a desk (H5)."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from .chain import decode, verify_links
from .errors import HistoryError, SubTaskNotFoundError
from .events import Event

__all__ = ["History", "history_of", "read_histories"]


class History(Struct, frozen=True, kw_only=True):
    """One sub-task's events, in order and whole: nothing more can be added to them."""

    sub_task_id: str
    events: tuple[Event, ...]


def read_histories(lines: Iterable[bytes | str]) -> tuple[History, ...]:
    """The histories in an export, in the order in which their sub-tasks were created.

    A line is one event as it was stored; empty lines are passed over. Raises HistoryError: with
    `history.unreadable` or `history.newer` for a line that this release cannot read, and with
    `history.altered` where a chain does not hold (H3).
    """
    stored: dict[str, list[bytes]] = {}
    events: dict[str, list[Event]] = {}
    for number, line in enumerate(lines, start=1):
        state = (line.encode() if isinstance(line, str) else line).strip()
        if not state:
            continue
        try:
            event = decode(state)
        except HistoryError as error:
            raise HistoryError(
                f"Line {number}: {error.message}",
                code=error.code,
                detail={**error.detail, "line": number},
            ) from error
        stored.setdefault(event.sub_task_id, []).append(state)
        events.setdefault(event.sub_task_id, []).append(event)
    for sub_task_id, states in stored.items():
        for version, what in verify_links(states, sub_task_id=sub_task_id):
            raise HistoryError(
                f"The history of sub-task {sub_task_id} is not as it was recorded: version"
                f" {version} is {what}. Export it again.",
                code="history.altered",
                detail={"sub_task_id": sub_task_id, "version": version, "what": what},
            )
    return tuple(
        History(sub_task_id=sub_task_id, events=tuple(found))
        for sub_task_id, found in events.items()
    )


def history_of(histories: Sequence[History], sub_task_id: str | None) -> History:
    """The history of a sub-task; None takes the only one there is.

    Raises SubTaskNotFoundError, and HistoryError: `history.ambiguous` where one has to be named,
    `history.unreadable` where there is none at all.
    """
    if not histories:
        raise HistoryError("The export holds no event.", code="history.unreadable")
    if sub_task_id is None:
        if len(histories) != 1:
            raise HistoryError(
                f"There are {len(histories)} histories in the export: name the sub-task.",
                code="history.ambiguous",
                detail={"sub_tasks": [history.sub_task_id for history in histories][:100]},
            )
        return histories[0]
    for history in histories:
        if history.sub_task_id == sub_task_id:
            return history
    raise SubTaskNotFoundError(sub_task_id)
