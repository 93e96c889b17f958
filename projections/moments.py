"""A sub-task as it was at a moment of its history: all that could be seen of it then (H4). Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from locum.core.events import Event
from locum.core.policy import Action, Traits, next_action
from locum.core.replay import as_of_time, as_of_version
from locum.core.subtask import SubTask, evolve

from .notifications import Notification, note_for, note_to_json
from .rows import SubTaskRow, row_after, row_to_json

__all__ = ["Moment", "moment_at", "moment_to_json", "moments_of"]


class Moment(Struct, frozen=True, kw_only=True):
    """What there was after one event of a history: `event` is that event."""

    event: Event
    sub_task: SubTask
    row: SubTaskRow
    notifications: tuple[Notification, ...]
    """All that the model had been told of the sub-task."""
    traits: Traits
    """What the agent could do, as far as the record tells."""
    next_action: Action
    """What a stand-in that was started then would do next, going by the record alone."""


def moments_of(
    events: Sequence[Event], *, notes: Sequence[Notification] | None = None
) -> tuple[Moment, ...]:
    """Every moment of a sub-task's whole history, in order; none for an empty one.

    `notes` are what its model was told, as the store has them. Without any they are made from the
    events, with the sub-task's version for a cursor: where an event lay in its log, a history alone
    does not say. Raises HistoryError `history.illegal` for events that are no history.
    """
    moments: list[Moment] = []
    sub_task: SubTask | None = None
    row: SubTaskRow | None = None
    told: list[Notification] = []
    traits = Traits()
    for event in events:
        sub_task, row = evolve(sub_task, event), row_after(row, event)
        if notes is None:
            note = note_for(row, event, event.version)
            told += [note] if note else []
        else:
            told = [note for note in notes if note.version <= event.version]
        traits = _traits(sub_task, traits)
        moments.append(
            Moment(
                event=event,
                sub_task=sub_task,
                row=row,
                notifications=tuple(told),
                traits=traits,
                next_action=next_action(sub_task, event.at, traits=traits),
            )
        )
    return tuple(moments)


def moment_at(
    events: Sequence[Event],
    *,
    version: int | None = None,
    at: str | None = None,
    notes: Sequence[Notification] | None = None,
) -> Moment:
    """The moment of a version, of a time (RFC 3339), or the latest.

    At a time, the next action is the one of that very time: a deadline may have passed since the
    event before it. Raises HistoryError `history.no_version`, `history.no_time`, `history.illegal`.
    """
    if version is not None:
        events = as_of_version(events, version)
    if at is not None:
        events = as_of_time(events, at)
    latest = moments_of(events, notes=notes)[-1]
    if at is None:
        return latest
    action = next_action(latest.sub_task, at, traits=latest.traits)
    return msgspec.structs.replace(latest, next_action=action)


def _traits(sub_task: SubTask, before: Traits) -> Traits:
    """What the record tells of the agent: one that was polled, or would have been, has no streams."""
    watch = sub_task.watch
    if watch is None or watch.mode == "off":
        return before
    return Traits(streaming="poll" not in (watch.mode, watch.fallback))


def moment_to_json(moment: Moment) -> dict[str, Any]:
    """A moment as JSON values, keys as the API names them."""
    return {
        "sub_task": msgspec.to_builtins(moment.sub_task),
        "row": row_to_json(moment.row),
        "notifications": [note_to_json(note) for note in moment.notifications],
        "next_action": msgspec.to_builtins(moment.next_action),
    }
