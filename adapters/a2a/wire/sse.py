"""Server-sent events from bytes, however they are cut into pieces (K1). Knows no JSON and no A2A.

After the HTML standard, 9.2.6, but on bytes: only LF, CR LF and CR end a line, so neither a split
UTF-8 character nor U+2028 inside of JSON can be taken for an end. What is held at any time is
bounded by the limit for one event.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from .faults import TooLargeError

__all__ = ["Event", "Kind", "SseParser", "sniff"]

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_LONGEST_FIELD: Final = 5

Kind = Literal["sse", "json", "words"]
"""What a body is: events, one JSON answer, or neither."""


class Event(NamedTuple):
    """One event that has data. `name` is empty when it is the standard's "message"."""

    name: bytes
    data: bytes
    finished: bool = True
    """False for a last event that had no blank line after it."""


class SseParser:
    """Takes the pieces of one stream and gives its events.

    `bom` tells whether a byte order mark was met.
    """

    __slots__ = ("_data", "_held", "_limit", "_name", "_started", "_swallow_lf", "bom")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()  # the beginning of a line whose end has not come yet
        self._swallow_lf = False
        self._started = False
        self._name = b""
        self._data: bytes | bytearray | None = None
        self.bom = False

    @property
    def held(self) -> int:
        """Bytes of an event that has not ended yet."""
        return len(self._held) + len(self._data or b"")

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that the piece completes.

        Raises TooLargeError when an event or a line goes over the limit.
        """
        if not self._started:
            piece = self._without_bom(piece)
        if not piece:
            return
        if self._swallow_lf and piece[0] == 10:
            piece = piece[1:]
        self._swallow_lf = False
        if b"\r" in piece:
            # A CR at the end ends its line now; should its LF come next, that is no other end.
            self._swallow_lf = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in piece:
            self._hold(piece)
            return
        lines = piece.split(b"\n")
        if self._held:
            self._hold(lines[0])
            lines[0] = self._let_go()
        rest = lines.pop()
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event
        if rest:
            self._hold(rest)

    def finish(self) -> Event | None:
        """The last event, when its blank line, or the end of its last line, was left out."""
        if self._held:
            self._line(self._let_go())
        event = self._line(b"")
        return None if event is None else event._replace(finished=False)

    def _line(self, line: bytes) -> Event | None:
        if not line:
            name, data = self._name, self._data
            self._name, self._data = b"", None
            return None if data is None else Event(name, bytes(data))
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            if self._data is None:
                self._data = value
            else:
                if not isinstance(self._data, bytearray):
                    self._data = bytearray(self._data)
                self._data += b"\n"
                self._data += value
            if len(self._data) > self._limit:
                raise TooLargeError("an event", self._limit)
        elif field == b"event":
            self._name = value
        return None  # comments, `id`, `retry` and unknown fields tell nothing that is wanted

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if len(self._held) > self._limit + _LONGEST_FIELD + len(b": "):
            raise TooLargeError("a line of a stream", self._limit)

    def _let_go(self) -> bytes:
        line = bytes(self._held)
        self._held = bytearray()
        return line

    def _without_bom(self, piece: bytes) -> bytes:
        head = self._let_go() + piece
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._held += head
            return b""
        self._started = True
        if head.startswith(_BOM):
            self.bom = True
            return head[len(_BOM) :]
        return head


def sniff(head: bytes, declared: Kind) -> Kind | None:
    """What a body is, from its first bytes and what its content type says; None: not clear yet.

    The bytes count more than the content type, which agents leave out or get wrong (K1).
    """
    is_cut_mark = head in (_BOM[:1], _BOM[:2])
    head = head.removeprefix(_BOM).lstrip(_BLANK)
    if not head or is_cut_mark:
        return "sse" if declared == "sse" else None
    if head[:1] in (b"{", b"["):
        return "json"
    if declared == "sse" or head[:1] == b":":
        return "sse"
    for field in _FIELDS:
        if head.startswith(field) and head[len(field) : len(field) + 1] in (b":", b"\n", b"\r"):
            return "sse"
        if field.startswith(head) or head == field:
            return None
    return "json" if declared == "json" else "words"
