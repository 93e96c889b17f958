"""Unpacking compressed bodies in bounded steps, so that a small body cannot become a huge one (J3).

locum asks for no compression; some gateways compress all the same.
"""

import zlib
from collections.abc import Iterator
from typing import Final

import httpx

__all__ = ["Inflater"]

_STEP: Final = 64 << 10
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


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
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The piece unpacked, in steps of at most 64 KiB. Raises httpx.DecodingError."""
        if not self.packed:
            yield piece
            return
        while piece:
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
            if step:
                yield step
            piece = self._unpack.unconsumed_tail
            if self._unpack.eof:
                return
