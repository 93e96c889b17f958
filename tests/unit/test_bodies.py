"""Reading bodies piece by piece, and who gets a turn meanwhile."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx

from locum.adapters.a2a.wire.bodies import Pieces
from locum.adapters.a2a.wire.notes import CallNotes

STEPS = 100


class _OnePiece(httpx.AsyncByteStream):
    """A body that comes in one piece, with nothing to wait for."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


async def test_what_unpacks_a_thousandfold_takes_turns() -> None:
    """J4: a few KB that unpack to megabytes are read in steps, and others go on between any two.

    All of it was read in one go, and nothing else was done for 20 seconds.
    """
    body = _OnePiece(gzip.compress(bytes(STEPS << 16)))
    response = httpx.Response(200, headers={"content-encoding": "gzip"}, stream=body)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(others())
    size = sum([len(step) async for step in Pieces(response, CallNotes("SubscribeToTask"))])
    task.cancel()
    assert size == STEPS << 16
    assert turns >= STEPS - 1
