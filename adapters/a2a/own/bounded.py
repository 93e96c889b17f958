"""What one task of `self` may come to: whoever reaches `self` can go on with one for ever (J3)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from a2a.server.agent_execution import AgentExecutor
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.types.a2a_pb2 import (
    AgentCard,
    Message,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError

from .recent_tasks import RecentTasks

__all__ = ["BoundedHandler", "FewConfigs"]

CONFIGS_KEPT = 20
"""Push configs of one task."""


class BoundedHandler(DefaultRequestHandlerV2):
    """The SDK's handler; a task that holds `limit` bytes takes no more messages."""

    def __init__(
        self,
        executor: AgentExecutor,
        tasks: RecentTasks,
        card: AgentCard,
        *,
        limit: int,
        **options: Any,
    ) -> None:
        super().__init__(executor, tasks, card, **options)
        self._tasks = tasks
        self._task_limit = limit

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Message | Task:
        """As the SDK does. Raises InvalidParamsError for a task that is full."""
        await self._check(params.message)
        answer: Message | Task = await super().on_message_send(params, context)
        return answer

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """The same, as a stream."""
        await self._check(params.message)
        async with aclosing(super().on_message_send_stream(params, context)) as events:
            async for event in events:
                yield event

    async def _check(self, message: Message) -> None:
        task = await self._tasks.known(message.task_id) if message.task_id else None
        if task is not None and task.ByteSize() + message.ByteSize() > self._task_limit:
            raise InvalidParamsError(
                message=f"This task would hold more than {self._task_limit} bytes."
                " Begin another one in its context."
            )


class FewConfigs(InMemoryPushNotificationConfigStore):
    """The SDK's store in memory; a task has no more than so many configs."""

    async def set_info(
        self,
        task_id: str,
        notification_config: TaskPushNotificationConfig,
        context: ServerCallContext,
    ) -> TaskPushNotificationConfig:
        """Keep it. Raises InvalidParamsError when there are too many others."""
        others = await self.get_info(task_id, context)
        if len([one for one in others if one.id != notification_config.id]) >= CONFIGS_KEPT:
            raise InvalidParamsError(
                message=f"A task has {CONFIGS_KEPT} push configs at the most. Delete one first."
            )
        return await super().set_info(task_id, notification_config, context)
