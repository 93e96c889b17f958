"""The notification feed as server-sent events (E3). It frames and sends; what is told comes in.

A stream ends when the client goes away, when the harness closes, or at once when the server stops;
each time the feed behind it is closed. A client that keeps its cursor goes on with `Last-Event-ID`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator

import msgspec
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from locum.projections import Notification, note_to_json

from ..pump import Pump, StreamEndedError, pumped
from .racing import first_of, hung_up

__all__ = ["KEEP_ALIVE", "EventStream"]

logger = logging.getLogger("locum.web")

KEEP_ALIVE = 15.0
"""Seconds without a notification, after which a comment keeps proxies from hanging up."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


_LINE_ENDS = [(sign.encode(), b"\\u%04x" % ord(sign)) for sign in "\u0085\u2028\u2029"]


class EventStream(ASGIResponse):
    """The response that sends a feed until somebody has enough of it."""

    def __init__(
        self,
        notes: AsyncGenerator[Notification, None],
        *,
        stopping: asyncio.Event,
        keep_alive: float = KEEP_ALIVE,
    ) -> None:
        super().__init__(media_type="text/event-stream", status_code=200)
        self._notes = notes
        self._stopping = stopping
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; returns when it has ended and everything behind it is closed."""
        async with pumped(self._notes) as pump:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            # What comes first need not be news, so that the client knows that it is connected.
            await _say(send, b": connected\n\n")
            await first_of(self._tell(pump, send), hung_up(receive), self._stopping.wait())
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, pump: Pump[Notification], send: Send) -> None:
        while True:
            try:
                note = await pump.next(self._keep_alive)
            except TimeoutError:
                await _say(send, b": keep-alive\n\n")
            except StreamEndedError:
                return
            except Exception:
                # The head is out, so no problem document can follow; the client connects again
                # where it was and is told then.
                logger.exception("a notification stream broke")
                return
            else:
                data = _one_line(msgspec.json.encode(note_to_json(note)))
                await _say(send, b"id: %d\nevent: notification\ndata: %s\n\n" % (note.cursor, data))


def _one_line(data: bytes) -> bytes:
    """JSON without the characters that some clients, wrongly, take for the end of a line (K1)."""
    for found, escaped in _LINE_ENDS:
        data = data.replace(found, escaped)
    return data


async def _say(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
