"""Starting the agent `self`, where the settings say that there is one (A9). Serves nothing itself."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from ...settings import Settings

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor

    from .lasting_tasks import TaskShelf
    from .server import SelfAgent

__all__ = ["open_self"]

CLOSING_SHARE = 0.2
"""Part of `server.shutdown_timeout` that the executor gets to end by itself (F4)."""


async def open_self(
    settings: Settings,
    executor: "AgentExecutor | None",
    shelf: "TaskShelf",
    stack: AsyncExitStack,
) -> "SelfAgent | None":
    """The agent `self`, entered on `stack`; None without `[card]` or an executor.

    Its tasks are kept on `shelf`, unless the store is in memory and gone with the process as well.
    """
    card = settings.card
    if card is None or not (executor or card.executor):
        return None
    from .executors import load_executor  # noqa: PLC0415 - only who serves an agent loads it
    from .server import SelfAgent  # noqa: PLC0415 - only who serves an agent loads the SDK's server

    agent = SelfAgent(
        card,
        base_url=settings.server.own_url,
        executor=executor or load_executor(card.executor),
        limits=settings.limits,
        shelf=None if settings.store.path is None else shelf,
        patience=settings.server.shutdown_timeout * CLOSING_SHARE,
    )
    return await stack.enter_async_context(agent)
