"""The hash chain over a sub-task's events (H3): seal, read, and say what was tampered with.

An event's JSON ends in its own `hash`: SHA-256 over the same bytes with that hash left empty. It
also holds the hash of the event before it. So a changed byte, a missing or a moved event shows.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from .errors import HistoryError
from .events import SCHEMA, Event

__all__ = ["GENESIS", "UPCASTS", "decode", "digest", "encode", "seal", "verify_links"]

GENESIS = "0" * 64
"""The `previous_hash` of a sub-task's first event."""

_EMPTY = b'"hash":""}'
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_E = TypeVar("_E", bound=Event)


def encode(event: Event) -> bytes:
    """The stored bytes of an event: compact JSON in field order."""
    return _encoder.encode(event)


def seal(event: _E) -> _E:
    """The event with its own hash in place."""
    return msgspec.structs.replace(event, hash=hashlib.sha256(_encoder.encode(event)).hexdigest())


def digest(stored: bytes) -> str | None:
    """What the hash of stored bytes should be, or None when they do not end in one."""
    head, found, tail = stored.rpartition(b'"hash":"')
    if not found or len(tail) != 66:
        return None
    return hashlib.sha256(head + _EMPTY).hexdigest()


class _Head(msgspec.Struct):
    schema: int = 0


_head_decoder = msgspec.json.Decoder(_Head)


def decode(stored: bytes) -> Event:
    """The event of stored bytes, upcast from an older schema where needed (I5).

    Raises HistoryError `history.newer` for a schema of a later release, `history.unreadable` for
    bytes that are no event.
    """
    try:
        event = _decoder.decode(stored)
    except msgspec.DecodeError as error:
        event = _upcast(stored, error)
    if event.schema != SCHEMA:
        return _upcast(stored, None)
    return event


def _upcast(stored: bytes, error: Exception | None) -> Event:
    try:
        schema = _head_decoder.decode(stored).schema
    except msgspec.DecodeError as head_error:
        raise HistoryError(
            f"A stored event cannot be read: {head_error}.", code="history.unreadable"
        ) from head_error
    if schema > SCHEMA:
        raise HistoryError(
            f"This history was written by a newer release of locum (event schema {schema}, this"
            f" release reads up to {SCHEMA}). Open it with that release or a later one.",
            code="history.newer",
            detail={"schema": schema, "supported": SCHEMA},
        )
    fields: dict[str, Any] = msgspec.json.decode(stored)
    for step in range(max(schema, 0), SCHEMA):
        fields = UPCASTS[step](fields) if step in UPCASTS else fields
    fields["schema"] = SCHEMA
    try:
        upcast: Event = msgspec.convert(fields, Event)
    except msgspec.ValidationError as invalid:
        raise HistoryError(
            f"A stored event cannot be read: {invalid}.", code="history.unreadable"
        ) from (error or invalid)
    return upcast


UPCASTS: dict[int, Any] = {}
"""For each schema version that has a successor: the function from its fields to the next one's."""


def verify_links(stored: Iterable[bytes]) -> list[tuple[int, str]]:
    """Re-walk one sub-task's chain over its stored bytes.

    Returns one (version, what is wrong) per fault found, in order; none when the chain holds.
    """
    faults: list[tuple[int, str]] = []
    previous, expected = GENESIS, 1
    for state in stored:
        try:
            event = decode(state)
        except HistoryError as error:
            faults.append((expected, f"unreadable: {error.message}"))
            expected, previous = expected + 1, ""
            continue
        if event.version != expected:
            kind = "removed" if event.version > expected else "reordered"
            faults.append((expected, f"{kind}: found version {event.version} in its place"))
        if digest(state) != event.hash:
            faults.append((event.version, "altered: its hash does not match its content"))
        if previous and event.previous_hash != previous:
            faults.append((event.version, "its previous_hash does not match the event before it"))
        previous, expected = event.hash, event.version + 1
    return faults
