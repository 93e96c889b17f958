"""Recording what a stand-in has heard or done: a store that fails for a while loses none of it (I4).

An answer comes once. Thrown away, a brief that the agent has would be one in doubt.
"""

import asyncio
import logging

from locum.core.commands import Command
from locum.core.errors import StoreError

from ..pause import Pause
from ..store.writer import Recorded
from .office import Office

__all__ = ["record"]

logger = logging.getLogger("locum.standin")

AGAIN_FIRST, AGAIN_MOST = 0.1, 5.0
"""Seconds between two tries: growing from the first to the most."""
_FOR_A_WHILE = frozenset({"store.failed", "store.conflict"})


async def record(office: Office, sub_task_id: str, command: Command) -> Recorded:
    """Decide and record a command, however long the store takes to be written again.

    Raises the core's error when the command is refused, and StoreError `store.closed`.
    """
    pause: Pause | None = None
    while True:
        try:
            recorded = await office.journal.handle(command)
        except StoreError as error:
            if error.code not in _FOR_A_WHILE:
                raise
            if pause is None:
                pause = Pause(AGAIN_FIRST, AGAIN_MOST, office.random)
                told = "sub-task %s: what it has heard is recorded as soon as it can be: %s (%s)"
                logger.warning(told, sub_task_id, error.message, error.code)
            await asyncio.sleep(pause.step())
        else:
            if pause is not None:
                logger.info("sub-task %s: what it has heard is recorded now", sub_task_id)
            return recorded
