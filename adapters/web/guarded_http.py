"""uvicorn's HTTP protocol with the limits that it lacks: heads, trailers, what follows a refusal (J3).

uvicorn on httptools takes heads and trailers of any length, as slowly as they come, and reads on
after a body was refused. It touches bytes and clocks only; what a request says is read elsewhere.
"""

import asyncio
from enum import Enum, auto
from http import HTTPStatus
from typing import cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ..problem import Problem
from ..settings import LimitSettings
from .problems import MEDIA_TYPE

__all__ = ["guarded_http"]

_HEAD_TIMEOUT = 10.0
"""Seconds from the connection to its first request, and for a head from its first byte."""
_LEFTOVER_TIMEOUT = 5.0
"""Seconds that a client may go on sending what was refused, so that it gets to read why."""

_LINES = 4
"""A whole head may be as long as this many of its longest lines, and so may all trailers."""


class _Place(Enum):
    """Where in a connection's bytes the parser is."""

    BETWEEN = auto()
    """Before a request line; empty lines may come (RFC 9112, section 2.2)."""
    HEAD = auto()
    REST = auto()
    """Behind a head: in the body, or in the trailers after it."""


class _GuardedHttp(HttpToolsProtocol):
    limits: LimitSettings

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        super().connection_made(transport)
        self._place = _Place.BETWEEN
        self._unread = 0
        """Bytes since the last ones that ended a head, a piece of a body or a request."""
        self._trailers: list[int] = []
        self._leftover: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._close_after(_HEAD_TIMEOUT)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unread += len(data)
        if self._leftover is not None:
            self._leftover += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        # An endless line never gets to `on_header`, so bytes are counted.
        if self._unread > self.limits.header_limit * _LINES:
            self._refuse()
        elif self._leftover is not None and self._leftover > self.limits.body_limit:
            self.transport.close()
        elif self._timer is None and self._place is not _Place.REST and not self._is_answering():
            # uvicorn's timer for idle connections ended with the first of these bytes, though
            # they be an empty line, or the end of a body that was answered long ago.
            self._close_after(_HEAD_TIMEOUT)

    def on_message_begin(self) -> None:
        self._place = _Place.HEAD
        if not self._is_answering():
            self._close_after(_HEAD_TIMEOUT)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._place is not _Place.REST:
            super().on_header(name, value)
            return
        # A trailer is counted and dropped: the headers were judged without it, and nobody here
        # has a use for one (RFC 9110, section 6.5.1).
        self._trailers.append(len(name) + len(value))
        if self._are_too_large(self._trailers):
            self._refuse()

    def on_headers_complete(self) -> None:
        if self.transport.is_closing():
            return
        sizes = [len(name) + len(value) for name, value in self.headers]
        if len(self.url) > self.limits.header_limit or self._are_too_large(sizes):
            self._refuse()
            return
        self._place = _Place.REST
        self._unread = 0
        self._trailers = []
        self._leftover = None
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.transport.is_closing():
            return
        self._unread = 0
        self._leftover = None
        self._stop_timer()
        super().on_message_complete()
        self._place = _Place.BETWEEN

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self._is_answering():
            return
        if self._place is _Place.REST:
            # The answer came before the request was through: a refusal. (A request that was
            # pipelined behind the answered one is not meant: it has no answer yet.)
            self._leftover = 0
            self._close_after(_LEFTOVER_TIMEOUT)
        elif self._place is _Place.HEAD:
            # The next head began during this answer, and its time begins now.
            self._unset_keepalive_if_required()
            self._close_after(_HEAD_TIMEOUT)

    def send_400_response(self, msg: str) -> None:
        self._answer(400, "request.invalid", "This is no HTTP request that can be read.")

    def _are_too_large(self, sizes: list[int]) -> bool:
        """Whether headers of these sizes, or trailers, are more than one request may have."""
        line = self.limits.header_limit
        return (
            max(sizes, default=0) > line
            or sum(sizes) > line * _LINES
            or len(sizes) > self.limits.header_count
        )

    def _refuse(self) -> None:
        what = "trailers are" if self._place is _Place.REST else "head is"
        said = f"The {what} larger than limits.header_limit and header_count allow; send less."
        self._answer(431, "request.head_too_large", said)

    def _is_answering(self) -> bool:
        """Whether a request that was let through has not been answered to its end."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # uvicorn's word is too good
        return cycle is not None and not cycle.response_complete

    def _is_next(self) -> bool:
        """Whether an answer to what is read now is what the client has to get next."""
        if self._place is _Place.REST:
            return not (self.cycle.response_started or self.pipeline)
        return not self._is_answering()

    def _answer(self, status: int, code: str, title: str) -> None:
        """Answer in the application's place where that breaks into no other answer; hang up."""
        if self._is_next():
            body = msgspec.json.encode(Problem(title=title, status=status, code=code))
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def guarded_http(limits: LimitSettings) -> type[asyncio.Protocol]:
    """The protocol class for `uvicorn.Config(http=…)`, bound to `limits`."""
    return type("GuardedHttp", (_GuardedHttp,), {"limits": limits})
