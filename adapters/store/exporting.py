"""Exporting histories: each event as it was stored, a line each (H5). Blocking; changes nothing."""

from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from locum.core.errors import SubTaskNotFoundError

from .sqlite import store_errors
from .store import Store

__all__ = ["Exported", "export"]

PAGE = 500


class Exported(NamedTuple):
    """What was written."""

    sub_tasks: int
    events: int


def export(
    url: str,
    write: Callable[[bytes], object],
    sub_task_id: str | None = None,
    *,
    busy_timeout: float = 5.0,
) -> Exported:
    """Write the events of one sub-task, or of all of a store in the order of its log.

    A line is the event's own bytes, hash and all, so that whoever reads it can tell whether it was
    altered since: `core.histories.read_histories` does. Raises SubTaskNotFoundError, and what
    opening a store raises.
    """
    store = Store(url, busy_timeout=busy_timeout)
    with closing(store), store_errors("to be exported"):
        store.open(create=False, project=False)
        if sub_task_id is not None:
            states = store.ledger.history(sub_task_id)
            if not states:
                raise SubTaskNotFoundError(sub_task_id)
            for state in states:
                write(state + b"\n")
            return Exported(1, len(states))
        position, events = 0, 0
        sub_tasks: set[str] = set()
        while page := store.ledger.page(position, PAGE):
            for stored in page:
                write(stored.state + b"\n")
                sub_tasks.add(stored.sub_task_id)
            position = page[-1].position
            events += len(page)
        return Exported(len(sub_tasks), events)
