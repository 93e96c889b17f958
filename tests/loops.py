"""What a test's event loop is asked to do, counted, whoever asks: to await it instead of sleeping.

Both are made inside the loop that they watch. Neither changes what the loop does.
"""

import asyncio
import socket
from collections import Counter
from typing import Any

import pytest

__all__ = ["Refusals", "Timers"]

LIMIT = 20.0
"""Seconds after which what is awaited here has not come."""


class Refusals:
    """Connections that nobody took, by port."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._connect = loop.sock_connect
        self._counts: Counter[int] = Counter()
        self._changed = asyncio.Condition()
        monkeypatch.setattr(loop, "sock_connect", self._count)

    async def _count(self, sock: socket.socket, address: Any) -> None:
        try:
            await self._connect(sock, address)
        except ConnectionRefusedError:
            async with self._changed:
                self._counts[address[1]] += 1
                self._changed.notify_all()
            raise

    async def seen(self, port: int, count: int) -> None:
        """Wait until so many were refused at a port."""
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: self._counts[port] >= count)


class Timers:
    """The timers of about so many seconds: pauses are spread, to a tenth less."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later
        self._set: list[asyncio.TimerHandle] = []
        self._more = asyncio.Semaphore(0)

        def counting(delay: float, *about: Any, **context: Any) -> asyncio.TimerHandle:
            handle = call_later(delay, *about, **context)
            if 0.9 * seconds <= delay <= seconds:
                self._set.append(handle)
                self._more.release()
            return handle

        monkeypatch.setattr(loop, "call_later", counting)

    async def one_more(self) -> None:
        """Wait until one more is set than at the last time."""
        async with asyncio.timeout(LIMIT):
            await self._more.acquire()

    def running(self) -> int:
        """How many of them are still to ring, as long as none has rung."""
        return sum(not handle.cancelled() for handle in self._set)
