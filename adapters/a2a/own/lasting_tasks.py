"""The tasks of `self`, which outlive its process: on disk as they first appear, park and end (I1).

In between they are in memory only, so that a task that streams costs no more writes than another.
What an executor had under way dies with the process, and at the next start such a task has failed.
"""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import resolve_user_scope
from a2a.server.tasks import PushNotificationConfigStore
from a2a.types.a2a_pb2 import Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils.errors import InternalError
from google.protobuf.message import DecodeError

from locum.core.errors import LocumError

from .recent_tasks import ROOM, RecentTasks

__all__ = ["LastingTasks", "TaskShelf"]

logger = logging.getLogger("locum.self")

PAGE = 100
"""How many tasks are read at a time when `self` starts."""

_ENDED = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
_PARKED = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})

_LEFT = "The process that worked on this task has ended, and its work with it."
_UNKEPT = "The agent could not keep what became of this task. Its log has the reason."


class TaskShelf(Protocol):
    """Where tasks outlive the process. Each has an id, an owner and its bytes."""

    async def keep_tasks(
        self, tasks: Sequence[tuple[str, str, bytes]], forgotten: Sequence[str]
    ) -> None:
        """Keep these, each instead of what was kept of it, and no longer the forgotten ones."""
        ...

    async def kept_tasks(self, after: int, limit: int) -> Sequence[tuple[int, str, str, bytes]]:
        """The next ones after a place, each with its place; the one kept longest ago first."""
        ...


@dataclass(slots=True)
class _Save:
    """A task to be kept, as it was when it was to be kept, and who waits for that."""

    task: Task
    owner: str
    future: "asyncio.Future[None] | None" = None


class _Mark(NamedTuple):
    """What there was to see of a task's status when it was last given to the shelf."""

    state: int
    at: int
    words: int

    @classmethod
    def of(cls, task: Task) -> "_Mark":
        status = task.status
        words = status.message.SerializeToString() if status.HasField("message") else b""
        return cls(status.state, status.timestamp.ToNanoseconds(), hash(words))


_NO_WORDS = hash(b"")


class LastingTasks(RecentTasks):
    """`async with` it: what was kept is there again, and what is left to keep is kept at the end.

    A task is on disk before anybody sees it so. One write is under way at a time, and takes all
    tasks along that wait for it: whoever calls `self` does not crowd out the journal (J4).
    """

    def __init__(
        self,
        limit: int,
        push_configs: PushNotificationConfigStore,
        shelf: TaskShelf,
        *,
        room: int = ROOM,
    ) -> None:
        super().__init__(limit, push_configs, room=room)
        self._shelf = shelf
        self._marks: dict[str, _Mark] = {}
        self._behind: set[str] = set()
        """Tasks of which the shelf has less than is in memory."""
        self._unkept: set[str] = set()
        """Tasks that have failed since a write did."""
        self._waiting: list[_Save] = []
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        left: list[_Save] = []
        place = 0
        while page := await self._shelf.kept_tasks(place, PAGE):
            place = page[-1][0]
            for _, task_id, owner, state in page:
                try:
                    task = Task.FromString(state)
                except DecodeError:
                    logger.exception("task %s of self cannot be read, and is gone", task_id)
                    continue
                if _is_under_way(task.status.state):
                    left.append(_Save(_failed(task, _LEFT), owner))
                else:
                    self._marks[task.id] = _Mark.of(task)
                    await self.remember(task, owner)
        if left or self.surplus(()):
            await self._keep(left)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writing is not None:
            await asyncio.wait({self._writing})
        left: list[_Save] = []
        for task_id in tuple(self._behind):
            task = await self.known(task_id)
            assert task is not None, "what is forgotten is not behind"
            left.append(_Save(task, self._owners[task_id]))
        try:
            if left:
                await self._keep(left)
        except LocumError as failed:
            told = "how far %d tasks of self had come could not be kept: %s"
            logger.warning(told, len(left), failed.message)

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Save, on disk where that is due. Raises InternalError when it cannot be kept."""
        owner = resolve_user_scope(context)
        if task.id in self._unkept:
            # The SDK ends as failed, without a word, what raises here: that it has by now.
            task = _failed(task, _UNKEPT)
        if not self._is_due(task):
            if _is_under_way(task.status.state):
                self._behind.add(task.id)
            await self.remember(task, owner)
            return
        copy = Task()
        copy.CopyFrom(task)
        await self._kept(_Save(copy, owner))

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one task, on disk too."""
        if self._owners.get(task_id) == resolve_user_scope(context):
            await self._shelf.keep_tasks((), (task_id,))
            await self.forget(task_id)

    async def forget(self, task_id: str) -> None:
        """Have this task no more, nor anything that is known of it."""
        await super().forget(task_id)
        self._marks.pop(task_id, None)
        self._behind.discard(task_id)
        self._unkept.discard(task_id)

    def _is_due(self, task: Task) -> bool:
        """True when the shelf has to have the task as it is now."""
        kept, now = self._marks.get(task.id), _Mark.of(task)
        if kept is None or now.state in _ENDED:
            return True
        if _is_under_way(now.state):
            return not _is_under_way(kept.state)
        # The SDK takes the question out of the status when a reply has come, before the executor
        # has done anything about it. Killed now, the task is to be found asking: the reply is not
        # in its history, and whoever sent it sends it again (I3).
        is_asked_as_before = (kept.state, kept.at) == (now.state, now.at)
        return now != kept and not (is_asked_as_before and now.words == _NO_WORDS)

    async def _kept(self, save: _Save) -> None:
        """Return once it is kept. Whoever stops waiting does not take that back."""
        save.future = asyncio.get_running_loop().create_future()
        self._waiting.append(save)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="locum-self-tasks")
        await save.future

    async def _write(self) -> None:
        """Keep what waits until nothing does."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._try(batch)
        finally:
            self._writing = None

    async def _try(self, batch: Sequence[_Save]) -> None:
        """Keep these, and tell those who wait."""
        try:
            await self._keep(batch)
        except Exception as error:
            if len(batch) == 1:
                logger.exception("task %s of self could not be kept", batch[0].task.id)
                await self._fail(batch[0], error)
                return
            # One that cannot be kept keeps no other from it.
            for save in batch:
                await self._try([save])
        else:
            for save in batch:
                if save.future is not None and not save.future.done():
                    save.future.set_result(None)

    async def _keep(self, batch: Sequence[_Save]) -> None:
        """On disk first, then to be seen. Raises what the shelf does, with nothing done."""
        latest = {save.task.id: save for save in batch}
        surplus = self.surplus(latest)
        rows = [(key, save.owner, save.task.SerializeToString()) for key, save in latest.items()]
        await self._shelf.keep_tasks(rows, surplus)
        for stalest in surplus:
            await self.forget(stalest)
        for save in batch:
            self._marks[save.task.id] = _Mark.of(save.task)
            self._behind.discard(save.task.id)
            await self.remember(save.task, save.owner)

    async def _fail(self, save: _Save, error: Exception) -> None:
        """A task that was never kept is not there; one that had not ended has failed (I4).

        Nobody works on it any more, for the SDK lets go of a task that it could not save.
        """
        key = save.task.id
        kept = self._marks.get(key)
        if kept is not None and kept.state not in _ENDED:
            self._unkept.add(key)
            self._behind.add(key)
            await self.remember(_failed(save.task, _UNKEPT), save.owner)
        if save.future is not None and not save.future.done():
            told = InternalError(message=_UNKEPT)
            told.__cause__ = error
            save.future.set_exception(told)


def _is_under_way(state: int) -> bool:
    return state not in _ENDED and state not in _PARKED


def _failed(task: Task, words: str) -> Task:
    """The task as one that has failed, in these words; what it said before goes to its history."""
    failed = Task()
    failed.CopyFrom(task)
    if failed.status.HasField("message"):
        failed.history.append(failed.status.message)
    said = Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_AGENT,
        task_id=task.id,
        context_id=task.context_id,
        parts=[Part(text=words)],
    )
    failed.status.CopyFrom(TaskStatus(state=TaskState.TASK_STATE_FAILED, message=said))
    failed.status.timestamp.GetCurrentTime()
    return failed
