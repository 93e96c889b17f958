"""Waking who waits for a sub-task or a parent to change. Holds no state but the waiters."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Signals"]


class Signals:
    """Waiters by key. A waiter subscribes, reads what it waits for, and only then waits."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def subscribed(self, key: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever `key` changes, until the block is left."""
        event = asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            waiting = self._waiting[key]
            waiting.discard(event)
            if not waiting:
                del self._waiting[key]

    def send(self, key: str) -> None:
        """`key` has changed."""
        for event in self._waiting.get(key, ()):
            event.set()

    def send_all(self) -> None:
        """Everything may have changed: a shutdown."""
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
