"""Work beside other work, as a task that is over when its block is left. Nothing is decided here."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["running"]

logger = logging.getLogger("locum.standin")


@asynccontextmanager
async def running(work: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """`work` as a task; leaving the block cancels it and awaits that.

    What it raises then is logged, unless that is why the block is left.
    """
    task = asyncio.create_task(work)
    raised: BaseException | None = None
    try:
        yield task
    except BaseException as error:
        raised = error
        raise
    finally:
        task.cancel()
        await asyncio.wait({task})
        failed = None if task.cancelled() else task.exception()
        if failed is not None and failed is not raised:
            logger.warning("what was let go of has failed", exc_info=failed)
