"""The tasks of `self`, in memory, and no more of them than a limit (J3). Forgets the stalest."""

from collections import OrderedDict
from collections.abc import Collection

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import resolve_user_scope
from a2a.server.tasks import InMemoryTaskStore, PushNotificationConfigStore
from a2a.types.a2a_pb2 import Task

__all__ = ["ROOM", "RecentTasks"]

ROOM = 256 << 20
"""Bytes."""


class RecentTasks(InMemoryTaskStore):
    """At most `limit` tasks, and hardly more than `room` bytes of them all together.

    The one that changed longest ago goes first, its push configs too.
    """

    def __init__(
        self, limit: int, push_configs: PushNotificationConfigStore, *, room: int = ROOM
    ) -> None:
        super().__init__()
        self._limit = limit
        self._room = room
        self._sizes: dict[str, int] = {}
        self._taken = 0
        """The bytes of all tasks together."""
        self._push_configs = push_configs
        self._owners: OrderedDict[str, str] = OrderedDict()
        """Whose each task is, the stalest task first."""

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Save, and forget the stalest task if that makes one too many."""
        surplus = self.surplus({task.id})
        await self.remember(task, resolve_user_scope(context))
        for stalest in surplus:
            await self.forget(stalest)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one task."""
        if self._owners.get(task_id) == resolve_user_scope(context):
            await self.forget(task_id)

    def surplus(self, coming: Collection[str]) -> list[str]:
        """The tasks that there are too many once these are saved, the stalest first.

        Of what is coming the size is not known before it is there.
        """
        many = len(self._owners) + sum(one not in self._owners for one in coming) - self._limit
        much = self._taken - self._room
        found: list[str] = []
        for one in self._owners:
            if many <= 0 and much <= 0:
                break
            if one not in coming:
                found.append(one)
                many -= 1
                much -= self._sizes[one]
        return found

    async def remember(self, task: Task, owner: str) -> None:
        """Have this task, as the one that changed last, whatever the limit is."""
        await super().save(task, _call_of(owner))
        self._owners[task.id] = owner
        self._owners.move_to_end(task.id)
        size = task.ByteSize()
        self._taken += size - self._sizes.get(task.id, 0)
        self._sizes[task.id] = size

    async def known(self, task_id: str) -> Task | None:
        """The task, whoever it belongs to."""
        owner = self._owners.get(task_id)
        return None if owner is None else await self.get(task_id, _call_of(owner))

    async def forget(self, task_id: str) -> None:
        """Have this task no more, nor its push configs."""
        owner = self._owners.pop(task_id, None)
        if owner is None:
            return
        self._taken -= self._sizes.pop(task_id)
        call = _call_of(owner)
        await super().delete(task_id, call)
        if await self._push_configs.get_info(task_id, call):
            await self._push_configs.delete_info(task_id, call)


def _call_of(owner: str) -> ServerCallContext:
    """A call as the owner of a task would make it. What else was in theirs is not kept."""
    return ServerCallContext(user=_Owner(owner))


class _Owner(User):
    """Somebody who owns tasks, known by name alone."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return bool(self._name)

    @property
    def user_name(self) -> str:
        return self._name
