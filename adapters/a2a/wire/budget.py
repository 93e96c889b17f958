"""How much of one agent may be used at a time, and how much it may use (J4). Opens no connection.

Four rooms, so that none can starve another: calls, sends that stream (short, they end when the
agent has the task), streams that are held, and cancels, which have to go out whatever hangs, and
beside which is looked for the end (F2).
"""

import asyncio

import httpx

from ...loop_share import LoopShare
from .faults import TooLargeError
from .notes import CallNotes

__all__ = ["Budget", "Place"]

_SENDS = frozenset({"SendMessage", "SendStreamingMessage"})


class _Unfinished:
    """What all streams of one agent have begun and not ended, in bytes."""

    __slots__ = ("held", "limit", "share")

    def __init__(self, limit: int, streams: int) -> None:
        self.held = 0
        self.limit = limit
        self.share = limit // streams


class Place:
    """One taken place; `leave` gives it back, once, however often it is called."""

    __slots__ = ("_held", "_room", "_unfinished")

    def __init__(self, room: asyncio.Semaphore, unfinished: _Unfinished) -> None:
        self._room: asyncio.Semaphore | None = room
        self._unfinished = unfinished
        self._held = 0

    def hold(self, size: int) -> None:
        """So many bytes of an event or answer that has not ended are held here now (J3).

        Raises TooLargeError when all that the agent has begun is too much, and this no small part.
        """
        unfinished = self._unfinished
        unfinished.held += size - self._held
        self._held = size
        if unfinished.held > unfinished.limit and size > unfinished.share:
            raise TooLargeError(
                "what the agent's streams have begun and not ended", unfinished.limit
            )

    def leave(self) -> None:
        """Give the place back, with what is held there."""
        if self._room is not None:
            room, self._room = self._room, None
            self._unfinished.held -= self._held
            room.release()


class Budget:
    """The places at one agent: `max_calls` calls, as many streaming sends and as many cancels,
    `max_streams` streams. `share` is its share of the event loop, for all that it answers; without
    one it may use what there is. `unfinished` is how many bytes its streams may together have begun
    and not ended: what a stream holds of it evenly, it may hold in any case.
    """

    def __init__(
        self,
        max_calls: int = 32,
        max_streams: int = 1000,
        share: LoopShare | None = None,
        *,
        unfinished: int = 64 << 20,
    ) -> None:
        self.share = share
        self._unfinished = _Unfinished(unfinished, max_streams)
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
            return Place(room, self._unfinished)
        try:
            async with asyncio.timeout(timeout):
                await room.acquire()
        except TimeoutError as late:
            raise httpx.PoolTimeout("too much is under way with this agent already") from late
        return Place(room, self._unfinished)

    def _room(self, notes: CallNotes) -> asyncio.Semaphore:
        if not notes.streaming:
            return self._cancels if notes.method == "CancelTask" else self._calls
        return self._sends if notes.method in _SENDS else self._streams
