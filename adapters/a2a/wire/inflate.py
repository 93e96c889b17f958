"""Unpacking compressed bodies in bounded steps, so that a small body cannot become a huge one (J3).

locum asks for no compression; some gateways compress all the same.
"""

import zlib
from collections.abc import Iterator
from typing import Final

import httpx

__all__ = ["Inflater"]

_STEP: Final = 64 << 10
_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_MARK: Final = b"\x1f\x8b"
"""What a member of a gzip body begins with."""


class Inflater:
    """Unpacks the pieces of one body, packed with `encoding` (gzip, deflate, or identity)."""

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        self.packed = encoding not in ("", "identity")
        if self.packed and encoding not in ("gzip", "x-gzip", "deflate"):
            raise httpx.DecodingError("the answer is packed in a way that was not asked for")
        if self.packed:
            # Kilobytes, which a held stream that is not packed does without.
            self._unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
        self.over = False
        """The packed body has ended, and what came after it is no part of it."""
        self._has_members = encoding in ("gzip", "x-gzip")
        self._head = b""
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The piece unpacked, in steps of at most 64 KiB, some of them empty; none once it is over.

        Raises httpx.DecodingError.
        """
        if not self.packed:
            yield piece
            return
        more = bool(piece)
        while more and not self.over:
            if self._unpack.eof and not (piece := self._next_member(piece)):
                return
            try:
                step = self._unpack.decompress(piece, _STEP)
            except zlib.error as broken:
                if self._begun:
                    raise httpx.DecodingError("the answer cannot be unpacked") from broken
                # `deflate` means zlib, but some servers send it without zlib's head.
                self._begun = True
                self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
                continue
            self._begun = True
            # An empty one too: a piece may hold thousands of members with nothing in them, and
            # whoever reads gives others a turn between any two steps (J4).
            yield step
            piece = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            # All of the piece may be read and some of what it unpacks to not be given yet.
            more = bool(piece) or (len(step) == _STEP and not self._unpack.eof)

    def finish(self) -> None:
        """There is no more of the body. Raises httpx.RemoteProtocolError when it was cut off.

        A packing says itself where it ends, so a connection that closes before has lost something,
        however well what came reads. A body with nothing in it at all is no packed one.
        """
        if self._begun and not self._unpack.eof:
            raise httpx.RemoteProtocolError("the packed answer was cut off before its end")

    def _next_member(self, piece: bytes) -> bytes:
        """What to unpack of the bytes after an end; nothing while that is not clear, or for ever.

        A gzip body is one member or several, one right after the other (RFC 1952, 2.2). Whatever
        else comes is not looked at, and must not reach `zlib`, which would keep all of it.
        """
        head = self._head + piece
        self._head = b""
        if self._has_members and head.startswith(_MARK):
            self._unpack = zlib.decompressobj(_GZIP)
            return head
        if self._has_members and _MARK.startswith(head):
            self._head = head
        else:
            self.over = True
        return b""
