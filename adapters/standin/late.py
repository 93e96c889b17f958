"""A reply that its agent does not take, and goes on not taking: the log tells of it (I3)."""

import asyncio
import logging
import math

from locum.core.errors import RemoteCallError

from .desk import Desk

__all__ = ["Late"]

logger = logging.getLogger("locum.standin")


class Late:
    """One reply that is being sent. It is kept for as long as it takes; that is told once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._at = asyncio.get_running_loop().time() + desk.office.settings.send_timeout

    def note(self, error: RemoteCallError) -> None:
        """It was not taken, once more: past `send_timeout` that is worth a warning."""
        if asyncio.get_running_loop().time() < self._at:
            return
        self._at = math.inf
        told = (
            "sub-task %s: the agent does not take the reply, which is kept and sent again: %s (%s)"
        )
        logger.warning(told, self._desk.id, error.message, error.code)
