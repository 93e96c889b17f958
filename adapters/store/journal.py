"""The journal: commands in, events on disk, callers told. The event loop never waits for a disk.

One thread, `locum-journal`, decides and commits whatever is waiting, and projects it right after.
Reads happen in a few threads of their own. Nothing here knows what a command means.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

from locum.core.commands import Command
from locum.core.errors import LocumError, StoreError
from locum.core.events import Event
from locum.core.subtask import SubTask, replay
from locum.projections.runner import PAGE

from .ledger import Stored
from .own_tasks import KeptTask
from .sqlite import store_errors
from .store import Store
from .threads import Readers, unhurried
from .views import Views
from .writer import Outcome, Recorded, Writer

__all__ = ["Journal", "OnEvents"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")

OnEvents: TypeAlias = Callable[[Sequence[tuple[int, Event]]], None]
"""Called in the event loop with events, each with its position, once the views show them."""


BUSY = 8
"""So many callers answered at once are busy ones: they come back, and their next events soon
change the same rows. Projecting the events of a few commits together then saves much of the work.
"""
LAG = 0.005
LINGER = 0.001
"""Seconds that the views may be behind busy callers, and that these are waited for."""
RETRY_FIRST = 0.25
RETRY_MOST = 8.0
"""Seconds until views that could not be brought up to date are tried again: at first, at the most."""


@dataclass(slots=True)
class _Asked:
    """A command, who waits for it, and what is done with the outcome whether they still wait."""

    command: Command
    future: "asyncio.Future[Recorded]"
    then: Callable[[Recorded], None] | None = None


@dataclass(slots=True)
class _Job:
    """Something else for the journal's thread to do between two commits."""

    do: Callable[[], Any]
    future: "asyncio.Future[Any]"


@dataclass(slots=True)
class _Reach:
    """Somebody waits for the views to reach a position."""

    position: int


_Item: TypeAlias = _Asked | _Job | _Reach | None
"""What lies in the queue; None is the last."""


class Journal:
    """The one writer of a process. `async with Journal.open(url) as journal`.

    `views` are the projections.
    """

    def __init__(
        self, store: Store, readers: Readers, *, on_events: OnEvents | None, batch: int
    ) -> None:
        self._store = store
        self._readers = readers
        self._on_events = on_events
        self._batch = batch
        self._writer = Writer(store.ledger, batch=batch)
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._is_closed = False
        self._told: int | None = None
        """Up to where `on_events` was told, while the views are behind; None when they are not."""
        self._pause = RETRY_FIRST
        self._retry_at = 0.0
        # A daemon: one that was never closed does not keep its process from ending.
        self._thread = threading.Thread(target=self._work, name="locum-journal", daemon=True)
        self.views = Views(store.tables, readers, store.projector.position, self._reach)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        on_events: OnEvents | None = None,
        create: bool = True,
        batch: int = 256,
        busy_timeout: float = 5.0,
        readers: int = 4,
    ) -> "AsyncIterator[Journal]":
        """Open the store at `url` for as long as the context lasts; leaving it writes what waits.

        `on_events` is called in this event loop. `create=False` wants a store that is there.
        `batch` is how many events are committed together at most, `busy_timeout` how many seconds
        a write waits for another process's, `readers` how many threads read.

        Raises StoreError (`store.no_folder`, `store.missing`, `store.foreign`, `store.failed`),
        HistoryError `history.newer` for a store of a later release, ConfigError for a bad URL.
        """
        store = Store(url, busy_timeout=busy_timeout)
        pool = Readers(readers)
        try:
            await pool.run(store.open, create=create)
            journal = cls(store, pool, on_events=on_events, batch=batch)
            journal._thread.start()
            try:
                yield journal
            finally:
                await journal._close()
        finally:
            await pool.close(store.close)

    @property
    def position(self) -> int:
        """The latest position in the log that this process knows of."""
        return self._writer.position

    async def handle(
        self, command: Command, then: Callable[[Recorded], None] | None = None
    ) -> Recorded:
        """Decide a command and record what it decides; what it did, once that is on disk.

        Commands for one sub-task are decided in the order of the calls. Cancelling the caller does
        not take the command back: `then` is called in this loop with what was done, before the
        caller goes on, and also when there is none any more. Raises the core's error when the
        command is refused (nothing is recorded); StoreError `store.failed` when the store cannot
        write, `store.conflict` when another process keeps writing the same sub-task,
        `store.closed` after closing.
        """
        self._check_open()
        future: asyncio.Future[Recorded] = self._loop.create_future()
        self._queue.put(_Asked(command, future, then))
        return await future

    async def load(self, sub_task_id: str) -> SubTask:
        """The sub-task as recorded. Raises SubTaskNotFoundError, HistoryError, StoreError."""
        known = self._writer.known(sub_task_id)
        if known is not None:
            return known
        sub_task = replay(await self.events(sub_task_id))
        assert sub_task is not None
        return sub_task

    async def events(self, sub_task_id: str) -> tuple[Event, ...]:
        """A sub-task's events. Raises SubTaskNotFoundError, HistoryError, StoreError."""
        return await self._readers.run(self._store.events, sub_task_id)

    async def stored(self, sub_task_id: str) -> tuple[bytes, ...]:
        """The bytes of a sub-task's events as they are stored. Raises SubTaskNotFoundError."""
        return await self._readers.run(self._store.stored, sub_task_id)

    async def page(self, after: int = 0, limit: int = 1000) -> Sequence[Stored]:
        """The next stored events of the whole log after a position: for export and verification."""
        return await self._readers.run(self._store.page, after, limit)

    async def rebuild(self) -> int:
        """Drop the projections and make them again from the log; the position they then show.

        Readers see the old ones until the new ones are whole. Commands wait meanwhile.
        """
        return await self._between_commits(self._store.rebuild)

    async def flush(self) -> None:
        """Return when all that was asked for so far is decided, and each `then` was called."""
        await self._between_commits(lambda: None)

    async def keep_unsent(self, messages: Mapping[str, str]) -> None:
        """Keep the ids of messages that have surely not left, by sub-task, for the next start (F4).

        Raises StoreError.
        """
        await self._between_commits(partial(self._store.keep_unsent, messages))

    async def take_unsent(self) -> dict[str, str]:
        """What was kept so; from now on it is kept no more. Raises StoreError."""
        return await self._between_commits(self._store.take_unsent)

    async def keep_tasks(
        self, tasks: Sequence[tuple[str, str, bytes]], forgotten: Sequence[str]
    ) -> None:
        """Keep tasks of `self` (id, owner, bytes), and the `forgotten` no longer (I1).

        They are on disk on return. Raises StoreError, with nothing of it done.
        """
        await self._between_commits(partial(self._store.keep_tasks, tasks, forgotten))

    async def kept_tasks(self, after: int, limit: int) -> Sequence[KeptTask]:
        """The next tasks kept so after a place, the one kept longest ago first."""
        return await self._readers.run(self._store.kept_tasks, after, limit)

    async def _between_commits(self, do: Callable[[], _T]) -> _T:
        self._check_open()
        future: asyncio.Future[_T] = self._loop.create_future()
        self._queue.put(_Job(do, future))
        return await future

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("The journal is closed and takes no more work.", code="store.closed")

    def _reach(self, position: int) -> None:
        self._check_open()
        self._queue.put(_Reach(position))

    async def _close(self) -> None:
        self._is_closed = True
        self._queue.put(None)
        try:
            await unhurried(asyncio.ensure_future(self._readers.run(self._thread.join)))
        finally:
            self.views.fail("The journal was closed before the views got there.", "store.closed")

    # From here on: what runs in the journal's own thread, and what it calls in the loop.

    def _work(self) -> None:
        is_last = False
        lags_until: float | None = None
        while not is_last:
            asked: list[_Asked] = []
            jobs: list[_Job] = []
            reach = 0
            for item in self._waiting(self._patience(lags_until)):
                if item is None:
                    is_last = True
                elif isinstance(item, _Asked):
                    asked.append(item)
                elif isinstance(item, _Job):
                    jobs.append(item)
                else:
                    reach = max(reach, item.position)
            if asked:
                self._record(asked)
            if len(asked) >= BUSY and not (reach or jobs or is_last):
                lags_until = lags_until or time.monotonic() + LAG
                if len(self._writer.recorded) < self._batch and time.monotonic() < lags_until:
                    continue
            lags_until = None
            self._project(reach, is_last=is_last)
            for job in jobs:
                self._do(job)

    def _patience(self, lags_until: float | None) -> float | None:
        """Seconds until there is something to do that nobody asks for; None for never."""
        if lags_until is not None:
            return LINGER
        return None if self._told is None else max(0.0, self._retry_at - time.monotonic())

    def _waiting(self, patience: float | None) -> list[_Item]:
        """What waits: a commit is made at once when nothing else is queued.

        Waits for a first item, so many seconds or for ever; there may be none.
        """
        try:
            items = [self._queue.get(timeout=patience)]
        except Empty:
            return []
        while items[-1] is not None and len(items) < self._batch:
            try:
                items.append(self._queue.get_nowait())
            except Empty:
                break
        return items

    def _record(self, asked: list[_Asked]) -> None:
        outcomes = self._writer.handle([one.command for one in asked])
        self._post(_tell_all, list(zip(asked, outcomes, strict=True)))

    def _project(self, reach: int, *, is_last: bool) -> None:
        events, self._writer.recorded = self._writer.recorded, []
        projector = self._store.projector
        told = self._told
        if told is not None and not reach and (is_last or time.monotonic() < self._retry_at):
            return
        try:
            with store_errors("to project events"):
                if told is not None:
                    projector.catch_up()
                    self._tell_missed(told, projector.position)
                    events = []
                else:
                    projector.take(events)
                    if projector.position < reach:
                        projector.catch_up()
        except Exception as error:  # noqa: BLE001 - it is logged and told, and the thread lives on
            self._fall_behind(error, events[0][0] - 1 if events else projector.position)
            return
        if events or reach or told is not None:
            self._post(self._announce, events, projector.position)

    def _fall_behind(self, error: Exception, told: int) -> None:
        """The events are on disk, and are projected and told from there when that works again."""
        if self._told is None:
            self._told, self._pause = told, RETRY_FIRST
            log.error("the projections could not be brought up to date", exc_info=error)
        else:
            self._pause = min(self._pause * 2, RETRY_MOST)
        self._retry_at = time.monotonic() + self._pause
        code = error.code if isinstance(error, LocumError) else "store.failed"
        self._post(self.views.fail, f"The views are behind the log: {error}", code)

    def _tell_missed(self, told: int, position: int) -> None:
        """Tell what is in the views by now, page by page: it may be much (J3)."""
        while page := self._store.ledger.events_after(told, min(PAGE, position - told)):
            told = self._told = page[-1][0]
            self._post(self._announce, page, told)
        self._told = None
        log.info("the projections are up to date again")

    def _do(self, job: _Job) -> None:
        try:
            result = job.do()
        except Exception as error:  # noqa: BLE001 - it is the caller's, and the thread lives on
            self._post(_tell, [(job.future, error)])
        else:
            self._retry_at = 0.0  # what was in the way may be gone
            self._post(_tell, [(job.future, result)])
            self._post(self._announce, [], self._store.projector.position)

    def _announce(self, events: Sequence[tuple[int, Event]], position: int) -> None:
        self.views.advance(position)
        if events and self._on_events is not None:
            self._on_events(events)

    def _post(self, callback: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            # The loop is closed: nobody is left to be told. What was recorded is on disk.
            log.warning("the event loop ended before the journal was closed")


def _tell_all(outcomes: list[tuple[_Asked, Outcome]]) -> None:
    # Who waits goes on in a later turn of the loop; nobody's `then` keeps the others from theirs.
    _tell([(asked.future, outcome) for asked, outcome in outcomes])
    for asked, outcome in outcomes:
        if asked.then is not None and isinstance(outcome, Recorded):
            try:
                asked.then(outcome)
            except Exception:
                log.exception("what was recorded could not be handed on")


def _tell(outcomes: "list[tuple[asyncio.Future[Any], Any]]") -> None:
    for future, outcome in outcomes:
        if future.done():
            continue  # its caller was cancelled meanwhile
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
