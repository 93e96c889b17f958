"""The tasks of `self`, in memory, and no more of them than a limit (J3). Forgets the stalest.

Not on disk: what an executor has under way dies with the process, and a task that nobody works on
any more is better unknown than for ever WORKING.
"""

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore, PushNotificationConfigStore
from a2a.types.a2a_pb2 import Task

__all__ = ["RecentTasks"]


class RecentTasks(InMemoryTaskStore):
    """At most `limit` tasks; the one that changed longest ago goes first, its push configs too."""

    def __init__(self, limit: int, push_configs: PushNotificationConfigStore) -> None:
        super().__init__()
        self._limit = limit
        self._push_configs = push_configs
        self._order: OrderedDict[str, ServerCallContext] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Save, and forget the stalest task if that makes one too many."""
        await super().save(task, context)
        self._order[task.id] = context
        self._order.move_to_end(task.id)
        while len(self._order) > self._limit:
            stalest, its_context = self._order.popitem(last=False)
            await super().delete(stalest, its_context)
            if await self._push_configs.get_info(stalest, its_context):
                await self._push_configs.delete_info(stalest, its_context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one task."""
        self._order.pop(task_id, None)
        await super().delete(task_id, context)
