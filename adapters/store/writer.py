"""Deciding commands in order and recording what they decide, many in one transaction. Blocking.

It runs in one thread, and is the only one to write events in this process. What it remembers of a
sub-task is always what is on disk.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from eventsourcing.persistence import RecordConflictError, StoredEvent

from locum.core.chain import decode
from locum.core.commands import Command, Spawn
from locum.core.decide import decide
from locum.core.errors import StoreError
from locum.core.events import Event
from locum.core.subtask import SubTask, replay
from locum.projections.recent import Recent

from .ledger import Ledger
from .sqlite import store_errors

__all__ = ["Outcome", "Recorded", "Writer"]


class Recorded(NamedTuple):
    """What a command did: the sub-task after it, its events, and where they are in the log.

    `position` is that of its last event; of a command that recorded nothing, one at which the
    log had all that the sub-task is made of.
    """

    sub_task: SubTask
    events: tuple[Event, ...]
    position: int


Outcome: TypeAlias = Recorded | Exception
"""What a caller gets: the record of its command, or the exception to raise."""


class _Waiting(NamedTuple):
    """A command whose outcome hangs on the commit of the batch that it is in."""

    place: int
    command: Command
    decided: SubTask | Exception
    events: tuple[Event, ...]


class _Batch:
    """What is to be committed together: drafts of sub-tasks, and the events that make them."""

    def __init__(self) -> None:
        self.drafts: dict[str, SubTask] = {}
        self.weights: dict[str, int] = {}
        self.waiting: list[_Waiting] = []
        self.events: list[Event] = []
        self.stored: list[StoredEvent] = []
        self.size = 0

    def add(self, sub_task: SubTask, events: tuple[Event, ...], stored: list[StoredEvent]) -> None:
        size = sum(len(one.state) for one in stored)
        self.drafts[sub_task.id] = sub_task
        self.weights[sub_task.id] = self.weights.get(sub_task.id, 0) + size
        self.events += events
        self.stored += stored
        self.size += size


class Writer:
    """Decides commands against the latest versions. `batch` is how many events go together."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        batch: int,
        batch_bytes: int = 8 * 1024 * 1024,
        kept: int = 4096,
        kept_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._ledger = ledger
        self._batch = batch
        self._batch_bytes = batch_bytes
        self._known: Recent[SubTask] = Recent(kept, kept_bytes)
        self.position = ledger.position
        """The latest position in the log that is known here."""
        self.recorded: list[tuple[int, Event]] = []
        """Events recorded since whoever projects them last emptied this, with their positions."""

    def handle(self, commands: Sequence[Command]) -> list[Outcome]:
        """Decide commands one after the other and record their events; an outcome for each.

        A command that raises records nothing and leaves the others as they are. When the store
        fails, every command that hung on that transaction gets a StoreError (I4).
        """
        outcomes: dict[int, Outcome] = {}
        try:
            with store_errors("to read where its log ends"):
                self._look()
        except StoreError as error:
            return [StoreError(error.message, code=error.code) for _ in commands]
        self._attempt(enumerate(commands), outcomes, is_last=False)
        return [outcomes[index] for index in range(len(commands))]

    def _look(self) -> None:
        """Forget what is remembered when another process has written since (case D5)."""
        position = self._ledger.position
        if position != self.position:
            self._known.clear()
            self.position = position

    def known(self, sub_task_id: str) -> SubTask | None:
        """The sub-task as last recorded or read here, None when it is not remembered.

        May be called in any thread.
        """
        return self._known.peek(sub_task_id)

    def _attempt(
        self,
        commands: Iterable[tuple[int, Command]],
        outcomes: dict[int, Outcome],
        *,
        is_last: bool,
    ) -> None:
        batch = _Batch()
        for index, command in commands:
            self._decide(index, command, batch, outcomes, is_last=is_last)
            if len(batch.stored) >= self._batch or batch.size >= self._batch_bytes:
                self._commit(batch, outcomes, is_last=is_last)
                batch = _Batch()
        if batch.stored:
            self._commit(batch, outcomes, is_last=is_last)

    def _decide(
        self,
        index: int,
        command: Command,
        batch: _Batch,
        outcomes: dict[int, Outcome],
        *,
        is_last: bool,
    ) -> None:
        key = command.sub_task_id
        events: tuple[Event, ...] = ()
        decided: SubTask | Exception
        try:
            before = batch.drafts.get(key) or self._latest(command, is_last=is_last)
            after, events = decide(before, command)
            assert after is not None
            decided = after
            if events:
                batch.add(after, events, self._ledger.to_stored(events))
        except Exception as error:  # noqa: BLE001 - it is the caller's, and the thread lives on
            decided, events = error, ()
        if key in batch.drafts:
            batch.waiting.append(_Waiting(index, command, decided, events))
        elif isinstance(decided, Exception):
            outcomes[index] = decided
        else:
            outcomes[index] = Recorded(decided, (), self.position)

    def _latest(self, command: Command, *, is_last: bool) -> SubTask | None:
        """The sub-task that a command is about, as far as known here; None when there is none."""
        key = command.sub_task_id
        known = self._known.get(key)
        if known is not None:
            return known
        if isinstance(command, Spawn) and command.idempotency_key is None and not is_last:
            # A fresh id: should it be there all the same, recording it conflicts.
            return None
        with store_errors("while reading a sub-task"):
            history = self._ledger.history(key)
            self._look()
        sub_task = replay(map(decode, history))
        if sub_task is not None:
            self._known.put(key, sub_task, sum(map(len, history)))
        return sub_task

    def _commit(self, batch: _Batch, outcomes: dict[int, Outcome], *, is_last: bool) -> None:
        try:
            positions = self._ledger.append(batch.stored)
        except RecordConflictError as conflict:
            self._forget(batch)
            if is_last:
                _fail(batch, outcomes, conflict, _CONFLICT, "store.conflict")
                return
            # Each sub-task on its own now, so that one that is fought over spoils no other.
            by_key: dict[str, list[tuple[int, Command]]] = {}
            for waiting in batch.waiting:
                key = waiting.command.sub_task_id
                by_key.setdefault(key, []).append((waiting.place, waiting.command))
            for commands in by_key.values():
                self._attempt(commands, outcomes, is_last=True)
        except Exception as error:  # noqa: BLE001 - each caller is told, and the thread lives on
            self._forget(batch)
            _fail(batch, outcomes, error, f"{_FAILED}: {error}.", "store.failed")
        else:
            self._settle(batch, positions, outcomes)

    def _forget(self, batch: _Batch) -> None:
        for key in batch.drafts:
            self._known.drop(key)

    def _settle(
        self, batch: _Batch, positions: Sequence[int], outcomes: dict[int, Outcome]
    ) -> None:
        if positions[0] != self.position + 1:
            self._known.clear()  # another process has written in between
        self.position = positions[-1]
        self.recorded += zip(positions, batch.events, strict=True)
        for key, sub_task in batch.drafts.items():
            self._known.put(key, sub_task, self._known.weight_of(key) + batch.weights[key])
        done = 0
        for place, _, decided, events in batch.waiting:
            done += len(events)
            if isinstance(decided, Exception):
                outcomes[place] = decided
            else:
                outcomes[place] = Recorded(decided, events, positions[max(done, 1) - 1])


_CONFLICT = (
    "Another process is writing to this sub-task: the command was decided twice and met its writes"
    " both times. Nothing of it was recorded; read the sub-task and try again."
)
_FAILED = "The store could not write, and nothing of this command was recorded"


def _fail(
    batch: _Batch,
    outcomes: dict[int, Outcome],
    error: Exception,
    words: str,
    code: str,
) -> None:
    for waiting in batch.waiting:
        outcome = StoreError(words, code=code)
        outcome.__cause__ = error
        outcomes[waiting.place] = outcome
