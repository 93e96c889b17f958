"""uvicorn's HTTP protocol with the limits that it lacks: heads, and what follows a refusal (J3).

uvicorn on httptools takes a head of any length, as slowly as it comes, and reads on after a body
was refused. It touches bytes and clocks only; what a request says is read elsewhere.
"""

import asyncio
from http import HTTPStatus

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..settings import LimitSettings
from .problems import MEDIA_TYPE, Problem

__all__ = ["guarded_http"]

_HEAD_TIMEOUT = 10.0
"""Seconds for a head, from its first byte, or from the connection for the first one."""
_LEFTOVER_TIMEOUT = 5.0
"""Seconds that a client may go on sending what was refused, so that it gets to read why."""

_LINES = 4
"""A whole head may be as long as this many of its longest lines."""


class _GuardedHttp(HttpToolsProtocol):
    limits: LimitSettings

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        super().connection_made(transport)
        self._head_size = 0
        self._is_in_head = True
        self._leftover: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._close_after(_HEAD_TIMEOUT)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_size += len(data)
            if self._timer is None:
                self._close_after(_HEAD_TIMEOUT)
        super().data_received(data)
        # An endless line never gets to `on_header`, so bytes are counted. Those in which a head
        # ended are not: there may be a body among them.
        is_long = self._head_size > self.limits.header_limit * _LINES
        if self._is_in_head and is_long and not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        line = self.limits.header_limit
        sizes = [len(name) + len(value) for name, value in self.headers]
        if (
            max([len(self.url), *sizes]) > line
            or sum(sizes) > line * _LINES
            or len(sizes) > self.limits.header_count
        ):
            self._refuse()
            return
        self._is_in_head = False
        self._head_size = 0
        self._leftover = None
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._leftover is not None:
            self._leftover += len(body)
            if self._leftover > self.limits.body_limit:
                self.transport.close()
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.transport.is_closing():
            return
        self._leftover = None
        self._stop_timer()
        super().on_message_complete()
        self._is_in_head = True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        is_open = not (self._is_in_head or self.transport.is_closing())
        if is_open and self.cycle.response_complete:
            # The answer came before the request was through: a refusal. (A request that was
            # pipelined behind the answered one is not meant: it has no answer yet.)
            self._leftover = 0
            self._close_after(_LEFTOVER_TIMEOUT)

    def send_400_response(self, msg: str) -> None:
        self._answer(400, "request.invalid", "This is no HTTP request that can be read.")

    def _refuse(self) -> None:
        said = "The head is larger than limits.header_limit and header_count allow; send less."
        self._answer(431, "request.head_too_large", said)

    def _answer(self, status: int, code: str, title: str) -> None:
        """Answer where there is no request yet, and hang up."""
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
