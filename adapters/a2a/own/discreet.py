"""An executor whose failures stay in the log: callers of `self` get one fixed sentence (J2).

The SDK's server tells everybody the text of what an executor raises. What an executor raises to be
told, an A2AError, is told.
"""

import logging
from collections.abc import Awaitable

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.utils.errors import A2AError, InternalError

__all__ = ["DiscreetExecutor"]

logger = logging.getLogger("locum.self")

_SAID = "The agent failed at this. Its log has the reason."


class DiscreetExecutor(AgentExecutor):
    """Does what `inner` does, and keeps to itself why it failed."""

    def __init__(self, inner: AgentExecutor) -> None:
        self._inner = inner

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work. Raises A2AError, and nothing else but a cancellation."""
        await _discreetly(self._inner.execute(context, event_queue), context)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop working. Raises like `execute`."""
        await _discreetly(self._inner.cancel(context, event_queue), context)


async def _discreetly(work: Awaitable[None], context: RequestContext) -> None:
    try:
        await work
    except A2AError:
        raise
    except Exception:
        logger.exception("the executor of self failed at task %s", context.task_id)
        raise InternalError(message=_SAID) from None
