"""When a message leaves: from then on the agent's silence counts, and no moment before (C7).

It may have to wait for its place among the agent's calls first (J4), for as long as that takes.
"""

import asyncio
from typing import TypeVar

from locum.core.policy import Send, SendReply, next_action

from ..pump import Pump
from .desk import Desk

__all__ = ["Departure", "is_send_wanted"]

T = TypeVar("T")


class Departure:
    """The leaving of one message, which may go out several times, one after another."""

    def __init__(self, desk: Desk, patience: float) -> None:
        """`patience`: seconds that the agent has for its first word."""
        self._desk = desk
        self._patience = patience
        self._clock: asyncio.Timeout | None = None
        self._since = 0.0
        self.waited = 0.0
        """Seconds that the latest copy waited here before it left; 0 for one that did not leave."""

    def leave(self) -> None:
        """Its bytes are about to leave."""
        self._desk.mark_sent()
        self._desk.is_sending = True
        now = asyncio.get_running_loop().time()
        self.waited = now - self._since
        if self._clock is not None:
            self._clock.reschedule(now + self._patience)

    def over(self) -> None:
        """What it leads to has been heard, or nothing more will be."""
        self._desk.is_sending = False

    async def first(self, pump: Pump[T]) -> T:
        """The first thing that the agent answers.

        Raises TimeoutError when there is none in time, and whatever `Pump.next` does.
        """
        self._since, self.waited = asyncio.get_running_loop().time(), 0.0
        try:
            async with asyncio.timeout(None) as self._clock:
                return await pump.next()
        finally:
            self._clock = None


async def is_send_wanted(desk: Desk) -> bool:
    """False once the policy wants an end: what was under way has a moment left, no more is sent (F2)."""
    now = desk.office.now()
    wanted = next_action(await desk.load(), now, traits=desk.traits, known=desk.known)
    return isinstance(wanted, Send | SendReply)
