"""How much of one agent may be used at a time, and how much it may use (J4). Opens no connection.

Four rooms, so that none can starve another: calls, sends that stream (short, they end when the
agent has the task), streams that are held, and cancels, which have to go out whatever hangs, and
beside which is looked for the end (F2).
"""

import asyncio

import httpx

from ...loop_share import LoopShare
from .notes import CallNotes

__all__ = ["Budget", "Place"]

_SENDS = frozenset({"SendMessage", "SendStreamingMessage"})


class Place:
    """One taken place; `leave` gives it back, once, however often it is called."""

    __slots__ = ("_room",)

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room: asyncio.Semaphore | None = room

    def leave(self) -> None:
        """Give the place back."""
        if self._room is not None:
            room, self._room = self._room, None
            room.release()


class Budget:
    """The places at one agent: `max_calls` calls, as many streaming sends and as many cancels,
    `max_streams` streams. `share` is its share of the event loop, for all that it answers; without
    one it may use what there is.
    """

    def __init__(
        self, max_calls: int = 32, max_streams: int = 1000, share: LoopShare | None = None
    ) -> None:
        self.share = share
        self._calls = asyncio.Semaphore(max_calls)
        self._sends = asyncio.Semaphore(max_calls)
        self._cancels = asyncio.Semaphore(max_calls)
        self._streams = asyncio.Semaphore(max_streams)

    async def place(self, notes: CallNotes, timeout: float | None = None) -> Place:
        """A place for the call; the caller gives it back.

        Raises httpx.PoolTimeout when there is none within `timeout` seconds (None: waits).
        """
        room = self._room(notes)
        if not room.locked():
            await room.acquire()
            return Place(room)
        try:
            async with asyncio.timeout(timeout):
                await room.acquire()
        except TimeoutError as late:
            raise httpx.PoolTimeout("too much is under way with this agent already") from late
        return Place(room)

    def _room(self, notes: CallNotes) -> asyncio.Semaphore:
        if not notes.streaming:
            return self._cancels if notes.method == "CancelTask" else self._calls
        return self._sends if notes.method in _SENDS else self._streams
