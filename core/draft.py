"""The events that one command leads to, as they are decided: each sealed and applied in turn."""

from collections.abc import Callable
from typing import Any

import msgspec

from .chain import GENESIS, decode, encode, seal
from .commands import Cancel, Command, Reply, Spawn
from .errors import HistoryError, RequestError
from .events import Event
from .subtask import SubTask, evolve

__all__ = ["Draft"]


class Draft:
    """The events decided so far, each sealed and applied, so that the next is decided on it."""

    def __init__(self, sub_task: SubTask | None, command: Command) -> None:
        self.sub_task = sub_task
        self.events: list[Event] = []
        self._command = command

    @property
    def next_version(self) -> int:
        """The version that the next event will have."""
        return 1 if self.sub_task is None else self.sub_task.version + 1

    def add(self, make: Callable[..., Any], **fields: Any) -> None:
        """Decide on one more event, of the class `make`, with what is its own in `fields`.

        Raises RequestError when it holds what a caller handed in and would not be read back as it is.
        """
        command, before = self._command, self.sub_task
        correlation_id = command.correlation_id or (before.correlation_id if before else "")
        draft: Event = make(
            sub_task_id=command.sub_task_id,
            version=self.next_version,
            at=command.at,
            cause=command.cause,
            actor=command.actor,
            correlation_id=correlation_id,
            previous_hash=before.head if before else GENESIS,
            **fields,
        )
        if isinstance(command, Cancel):
            # Its reason is a caller's; what the agent had brought is not.
            _admit(msgspec.structs.replace(draft, artifacts=()))
        event = _admit(draft) if isinstance(command, Spawn | Reply) else seal(draft)
        self.sub_task = evolve(before, event)
        self.events.append(event)


def _admit(draft: Event) -> Event:
    """Seal what a caller handed in, when it will be read back as it is now.

    The last door: once recorded, a value that JSON does not hold would make the history unreadable.
    """
    try:
        event = seal(draft)
        read = decode(encode(event))
    except (HistoryError, ValueError, TypeError, RecursionError) as error:
        raise RequestError(f"It cannot be recorded: {error}") from error
    if read != event:
        raise RequestError(
            "It cannot be recorded as it is: data may hold JSON values only (texts, finite numbers,"
            " true, false, null, lists, and mappings with texts as keys)."
        )
    return event
