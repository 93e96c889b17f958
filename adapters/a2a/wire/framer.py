"""The answer to a call that streams, made into clean events for the SDK. Opens and closes nothing.

Bytes in, bytes out: whatever the agent's body is (events, one JSON answer, a page of HTML), what
comes out is `data: {…}` on one line and a blank line, in the shape of A2A 1.0.
"""

from collections.abc import Iterator
from typing import Any, Final, Never

import httpx

from ...json_measure import is_crowded
from .answers import NoResultError, enveloped, error_in, result_in
from .asked import Asked, malformed
from .faults import TooLargeError
from .json_text import NotJsonError, as_line, dumped, read_json, reencoded
from .notes import CallNotes, WireLimits
from .repair import Json, mend_frame
from .shapes import TERMINAL_STATES, look
from .sse import Event, Kind, SseParser, sniff
from .words import one_line

__all__ = ["Framer"]

_METHOD: Final = "SubscribeToTask"  # every stream brings the same frames
_TERMINAL: Final = TERMINAL_STATES | {3, 4, 5, 7}  # ProtoJSON takes an enum's number too
_USER: Final = ("ROLE_USER", 1)
_ERROR_WORDS: Final = 1000
_TOGETHER: Final = 16 << 10
"""Bytes of events that are handed on as one: what the SDK then holds is read even by who leaves."""


class Framer:
    """Takes the pieces of one body. `over` tells that nothing after this counts (K5)."""

    def __init__(self, notes: CallNotes, asked: Asked, declared: Kind, limits: WireLimits) -> None:
        self.over = False
        self.kind: Kind | None = None
        """What the body turned out to be; None as long as that is not clear."""
        self._notes = notes
        self._asked = asked
        self._declared: Kind = declared
        self._limits = limits
        self._parser = SseParser(limits.event_limit)
        self._body = bytearray()

    @property
    def held(self) -> int:
        """Bytes of an event or answer that has not ended yet."""
        return len(self._body) + self._parser.held

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The frames that the piece completes, several of them as one where nothing is odd.

        Raises TooLargeError, MalformedError when the body is neither events nor JSON, and
        httpx.RemoteProtocolError at an error that the agent says.
        """
        if self.kind is None:
            self._body += piece
            self.kind = sniff(bytes(self._body[:64]), self._declared)
            if self.kind is None and len(self._body) > self._limits.error_limit:
                self.kind = "words"
            if self.kind is None:
                return
            if self.kind not in ("words", self._declared):
                self._notes.note(["http.content_type"])
            piece = bytes(self._body)
            self._body.clear()
        if self.kind == "sse":
            yield from self._events(self._parser.feed(piece))
            return
        self._body += piece
        if self.kind == "words" and len(self._body) >= self._limits.error_limit:
            self._refuse_words()
        if len(self._body) > self._limits.event_limit:
            raise TooLargeError("the answer", self._limits.event_limit)

    def finish(self) -> Iterator[bytes]:
        """The frames that the end of the body completes.

        Raises MalformedError when the body was neither events nor JSON.
        """
        if self.kind == "sse":
            last = self._parser.finish()
            yield from self._events(iter(() if last is None else (last,)))
        elif self.kind == "json":
            yield from self._one_answer(bytes(self._body))
        elif self._body.strip():
            self._refuse_words()

    def _events(self, events: Iterator[Event]) -> Iterator[bytes]:
        frames: list[bytes] = []
        for event in events:
            if self._parser.bom:
                self._parser.bom = False
                self._notes.note(["sse.bom"])
            odd: list[str] = []
            try:
                frame = self._frame(event, odd)
            except httpx.RemoteProtocolError:
                yield from _together(frames)
                raise
            if odd:
                # What is odd about this event must not be taken to be about one before it.
                yield from _together(frames)
                self._notes.note(odd)
            if frame is not None:
                if sum(map(len, frames)) + len(frame) > _TOGETHER:
                    yield from _together(frames)
                frames.append(frame)
                if odd:
                    yield from _together(frames)
            if self.over:
                break
        yield from _together(frames)

    def _frame(self, event: Event, odd: list[str]) -> bytes | None:
        data = event.data.strip()
        if not data:
            return None
        self._check_values("an event", data)
        data = self._asked.veiled(data, odd)
        is_error = event.name == b"error"
        if not is_error:
            seen = look(data, _METHOD, rpc=self._asked.rpc)
            if seen is not None:
                if not event.finished:
                    odd.append("sse.unfinished_event")
                self._count(last=seen.is_last, ended=seen.state in TERMINAL_STATES)
                # Over HTTP+JSON the SDK would stumble over a name that stands twice in an object.
                return _event(as_line(data if self._asked.rpc else reencoded(data)))
        try:
            value, met = read_json(data)
        except NotJsonError:
            if is_error:
                # Masked before it is cut: no secret in halves.
                said = self._asked.masked(data.decode("utf-8", "replace"))
                self._fail({"message": one_line(said, _ERROR_WORDS)})
            odd.append("sse.not_json" if event.finished else "sse.cut_event")
            return None
        frame = self._mended(value, met, is_error=is_error)
        odd += ["sse.no_payload"] if frame is None else met
        if frame is not None and not event.finished:
            odd.append("sse.unfinished_event")
        return frame

    def _mended(self, value: Any, odd: list[str], *, is_error: bool) -> bytes | None:
        error = error_in(value, failed=is_error, rpc=self._asked.rpc)
        if error is not None:
            self._fail(error)
        try:
            frame = mend_frame(result_in(value, rpc=self._asked.rpc, odd=odd), odd)
        except NoResultError:
            return None
        if frame is None:
            return None
        ((name, payload),) = frame.items()
        status = payload.get("status") if name in ("task", "statusUpdate") else None
        ended = isinstance(status, dict) and status.get("state") in _TERMINAL
        is_answer = name == "message" and payload.get("role") not in _USER
        self._count(last=ended or is_answer, ended=ended)
        return _event(dumped(enveloped(frame, rpc=self._asked.rpc)))

    def _count(self, *, last: bool, ended: bool) -> None:
        self._notes.events += 1
        self._notes.ended = self._notes.ended or ended
        self.over = last

    def _fail(self, error: Json) -> Never:
        """End the stream with the error that the agent said; the notes keep it.

        It is raised here, below the SDK: handed on as an event it would be raised halfway up the
        SDK's generators, and the inner ones would be left unclosed (D11).
        """
        self._notes.error = self._asked.without_secrets(error)
        self.over = True
        raise httpx.RemoteProtocolError("the agent ended the stream with an error")

    def _one_answer(self, body: bytes) -> Iterator[bytes]:
        odd: list[str] = []
        self._check_values("the answer", body)
        body = self._asked.veiled(body, odd)
        try:
            value, met = read_json(body)
        except NotJsonError:
            self._refuse_words()
        odd += met
        frame = self._mended(value, odd, is_error=False)
        self._notes.note(odd)
        if frame is None:
            self._refuse_words()
        self._notes.note(["http.json_for_stream"])
        self.over = True
        yield frame

    def _check_values(self, what: str, data: bytes) -> None:
        if is_crowded(data, self._limits.value_limit):
            raise TooLargeError(what, self._limits.value_limit, "values")

    def _refuse_words(self) -> Never:
        raise malformed(bytes(self._body), self._notes, self._asked)


def _event(line: bytes) -> bytes:
    return b"data: " + line + b"\n\n"


def _together(frames: list[bytes]) -> Iterator[bytes]:
    if frames:
        yield b"".join(frames)
        frames.clear()
