"""Verifying a store: every chain and every step of the machine, walked again (H3). Blocking.

It reads, and changes nothing; not even the projections are brought up to date. What they know of a
sub-task's version tells whether its last events were removed, which no chain can.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from locum.core.chain import decode, verify_links
from locum.core.errors import HistoryError, SubTaskNotFoundError
from locum.core.events import Event
from locum.core.replay import illegal_steps

from .ledger import Ledger, Stored
from .sqlite import store_errors
from .store import Store

__all__ = ["Fault", "Verified", "verify"]

PAGE = 1000


class Fault(NamedTuple):
    """What is wrong with an event: its sub-task and version, or its place in the log (no sub-task,
    version 0).
    """

    sub_task_id: str
    version: int
    what: str


class Verified(NamedTuple):
    """What was walked, and the faults found, in the order of the log."""

    sub_tasks: int
    events: int
    faults: list[Fault]


def verify(url: str, sub_task_id: str | None = None, *, busy_timeout: float = 5.0) -> Verified:
    """Walk the history of one sub-task, or of all of a store, again.

    Raises SubTaskNotFoundError, and what opening a store raises; not for what is wrong in it.
    """
    store = Store(url, busy_timeout=busy_timeout)
    with closing(store), store_errors("to be verified"):
        store.open(create=False, project=False)
        known = store.tables.versions()
        if sub_task_id is not None:
            stored = store.ledger.stored(sub_task_id)
            if not stored and sub_task_id not in known:
                raise SubTaskNotFoundError(sub_task_id)
            faults = list(_faults(sub_task_id, stored, known.get(sub_task_id)))
            return Verified(1, len(stored), faults)
        walk = _Log(store.ledger)
        faults = walk.gaps
        ids = walk.ids | {key: None for key in known if key not in walk.ids}
        for key in ids:
            faults += _faults(key, store.ledger.stored(key), known.get(key))
        return Verified(len(ids), walk.events, faults)


class _Log:
    """The log from end to end: the sub-tasks in it, and the places where events are missing."""

    def __init__(self, ledger: Ledger) -> None:
        self.ids: dict[str, None] = {}
        self.gaps: list[Fault] = []
        self.events = 0
        position = 0
        while page := ledger.page(position, PAGE):
            for stored in page:
                if stored.position != position + 1:
                    self.gaps.append(_gap(position + 1, stored.position - 1))
                position = stored.position
                self.ids[stored.sub_task_id] = None
            self.events += len(page)


def _gap(first: int, last: int) -> Fault:
    where = f"position {first} is" if first == last else f"positions {first} to {last} are"
    return Fault("", 0, f"removed: {where} missing from the log")


def _faults(key: str, stored: list[Stored], latest: int | None) -> Iterator[Fault]:
    links = verify_links((one.state for one in stored), sub_task_id=key, latest=latest)
    events: list[Event] = []
    beside: list[tuple[int, str]] = []
    for one in stored:
        try:
            event = decode(one.state)
        except HistoryError:
            continue  # which the chain has told
        events.append(event)
        if (one.version, one.topic) != (event.version, event.TOPIC):
            what = f"altered: it lies there as {one.topic}, version {one.version}"
            beside.append((event.version, what))
    for version, what in sorted([*links, *beside, *illegal_steps(events)]):
        yield Fault(key, version, what)
