"""JSON as agents write it, read leniently and measured. Knows the grammar, and nothing of A2A."""

import json
import math
import re
from typing import Any, Final

import msgspec

from ...json_measure import DEPTH_LIMIT, STEP, depth_of

__all__ = [
    "TOO_DEEP",
    "NotJsonError",
    "as_line",
    "dumped",
    "read_json",
    "reencoded",
]

TOO_DEEP: Final = "\x00nested too deep\x00"
"""Stands for what was cut because it was nested deeper than `DEPTH_LIMIT`."""

_BOM: Final = b"\xef\xbb\xbf"
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_INT_DIGITS: Final = 300


class NotJsonError(ValueError):
    """The text is no JSON, however leniently read."""


def read_json(raw: bytes) -> tuple[Any, list[str]]:
    """The value, and the anomalies that were met on the way to it.

    What is nested too deep is `TOO_DEEP`, and a lone surrogate stays in its text, for whoever
    knows what to make of them. Raises NotJsonError.
    """
    anomalies: list[str] = []
    if raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
        anomalies.append("json.lenient")
    if depth_of(raw) > DEPTH_LIMIT:
        raw = _cut(raw)
        anomalies.append("json.too_deep")
    try:
        return msgspec.json.decode(raw), anomalies
    except (msgspec.DecodeError, RecursionError):
        pass  # It may still be JSON to a reader that is less strict.
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        anomalies.append("json.bad_utf8")
    lenient: list[str] = []
    reader = json.JSONDecoder(
        strict=False,  # control characters in texts
        parse_int=lambda digits: _whole(digits, lenient),
        parse_float=lambda digits: _real(digits, lenient),
        parse_constant=lambda name: _real(name, lenient),
    )
    try:
        value = reader.decode(text)
    except (ValueError, RecursionError) as broken:
        raise NotJsonError(str(broken)) from broken
    if _has_control_characters(raw):
        anomalies.append("json.lenient")
    return value, anomalies + lenient[:1]


def dumped(value: Any) -> bytes:
    """The value on one line of ASCII, so that nothing below can mistake it for several.

    Raises ValueError for what no JSON reader would take: a number that is none.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def reencoded(raw: bytes) -> bytes:
    """Valid JSON written anew: every name once in its object, the last one's value."""
    return msgspec.json.encode(msgspec.json.decode(raw))


def as_line(raw: bytes) -> bytes:
    r"""Valid JSON on one line, also for readers that split at every Unicode line end (K1).

    httpx splits at U+0085, U+2028 and U+2029; in JSON these can only stand inside of texts.
    """
    if b"\n" in raw or b"\r" in raw:
        raw = raw.replace(b"\n", b" ").replace(b"\r", b" ")
    if not raw.isascii():
        for mark, escape in _LINE_ENDS:
            raw = raw.replace(mark, escape)
    return raw


_LINE_ENDS: Final = (
    (b"\xc2\x85", rb"\u0085"),
    (b"\xe2\x80\xa8", rb"\u2028"),
    (b"\xe2\x80\xa9", rb"\u2029"),
)


def _cut(raw: bytes) -> bytes:
    """The JSON with `TOO_DEEP` in the place of whatever lies below the limit."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(raw):
        step = STEP[raw[token.start()]]
        if step > 0:
            depth += 1
            if depth == DEPTH_LIMIT + 1:
                kept.append(raw[start : token.start()])
        elif step < 0:
            depth -= 1
            if depth == DEPTH_LIMIT:
                kept.append(dumped(TOO_DEEP))
                start = token.end()
    if depth <= DEPTH_LIMIT:
        kept.append(raw[start:])
    return b"".join(kept)


def _whole(digits: str, anomalies: list[str]) -> int | str:
    if len(digits) > _INT_DIGITS:
        anomalies.append("json.number")
        return digits
    return int(digits)


def _real(digits: str, anomalies: list[str]) -> float | str:
    number = float(digits)
    if math.isfinite(number):
        return number
    anomalies.append("json.number")
    return digits


def _has_control_characters(raw: bytes) -> bool:
    return any(byte in raw for byte in _CONTROL)


_CONTROL: Final = tuple(bytes([code]) for code in range(32) if code not in b"\t\n\r")
