"""Pumping a generator: its items, its end, and leaving it whatever closing it does."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from locum.adapters.pump import DEPTH, StreamEndedError, pumped


class _Source:
    """Yields numbers for ever. Being closed, it raises, ends, or goes on once more."""

    def __init__(self, closing: str) -> None:
        self._closing = closing
        self.full = asyncio.Event()
        self.closed = False

    async def numbers(self) -> AsyncGenerator[int, None]:
        """The numbers; `full` is set when as many wait as may."""
        number = 0
        try:
            while True:
                if number == DEPTH:
                    # Not yet handed over: this is where the reader's leaving is met.
                    self.full.set()
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        if self._closing == "ends":
                            return
                        if self._closing != "goes on":
                            raise
                yield number
                number += 1
        finally:
            self.closed = True
            if self._closing == "raises":
                raise ConnectionError("the line broke")


async def test_what_is_pumped() -> None:
    """D11: items in order, then the end; what the generator raises is raised to the reader."""

    async def two() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    async def fails() -> AsyncGenerator[int, None]:
        yield 1
        raise ConnectionError("the line broke")

    async with pumped(two()) as pump:
        assert [await pump.next(), await pump.next()] == [1, 2]
        with pytest.raises(StreamEndedError):
            await pump.next()
    async with pumped(fails()) as pump:
        assert await pump.next() == 1
        with pytest.raises(ConnectionError):
            await pump.next()


@pytest.mark.parametrize("closing", ["raises", "ends", "goes on", "is cancelled"])
async def test_leaving_while_the_queue_is_full(
    closing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """D11: leaving closes the generator and comes back, whatever that does; an error is logged.

    What closing raised was put into the full queue, with nobody left to make room.
    """
    source = _Source(closing)
    async with asyncio.timeout(10):
        with caplog.at_level(logging.INFO):
            async with pumped(source.numbers()):
                await source.full.wait()
    assert source.closed
    assert ("the line broke" in caplog.text) is (closing == "raises")


async def test_reading_on_while_something_is_under_way() -> None:
    """D8, J3: what comes meanwhile is looked at, a few items far, and stays to be read in order."""

    async def numbers() -> AsyncGenerator[int, None]:
        for number in range(DEPTH * 3):
            yield number
        raise ConnectionError("the line broke")

    never = asyncio.create_task(asyncio.Event().wait())
    soon = asyncio.create_task(asyncio.sleep(0))
    async with pumped(numbers()) as pump:
        assert await pump.meanwhile(never, lambda number: number == 2) is True
        assert [await pump.next() for _ in range(3)] == [0, 1, 2]
        await asyncio.wait({soon})
        assert await pump.meanwhile(soon, lambda _: True) is False
        reading = asyncio.create_task(pump.meanwhile(never, lambda number: number > DEPTH + 3))
        never.cancel()
        assert await reading is False
        assert [await pump.next() for _ in range(DEPTH * 3 - 3)] == list(range(3, DEPTH * 3))
        with pytest.raises(ConnectionError):
            await pump.next()


async def test_the_end_of_a_stream_that_is_read_on() -> None:
    """D8: an end that comes meanwhile is raised when its turn comes."""

    async def one() -> AsyncGenerator[int, None]:
        yield 1

    done = asyncio.Event()
    work = asyncio.create_task(done.wait())
    async with pumped(one()) as pump:
        reading = asyncio.create_task(pump.meanwhile(work, lambda _: False))
        await asyncio.sleep(0)
        done.set()
        assert await reading is False
        assert await pump.next() == 1
        with pytest.raises(StreamEndedError):
            await pump.next()
