"""The hash chain over a sub-task's events (H3): seal, read, and say what was tampered with.

An event's JSON ends in its own `hash`: SHA-256 over the same bytes with that hash left empty. It
also holds the hash of the event before it. So a changed byte, a missing or a moved event shows.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
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
    except (msgspec.DecodeError, RecursionError):
        return _upcast(stored)
    return event if event.schema == SCHEMA else _upcast(stored)


def _upcast(stored: bytes) -> Event:
    """The event of bytes that are not of this release's schema, or the error that says why not."""
    try:
        schema = _head_decoder.decode(stored).schema
        if schema > SCHEMA:
            raise HistoryError(
                f"This history was written by a newer release of locum (event schema {schema}, this"
                f" release reads up to {SCHEMA}). Open it with that release or a later one.",
                code="history.newer",
                detail={"schema": schema, "supported": SCHEMA},
            )
        fields: dict[str, Any] = msgspec.json.decode(stored)
        for step in range(schema, SCHEMA):
            fields = UPCASTS[step](fields)
        upcast: Event = msgspec.convert(fields | {"schema": SCHEMA}, Event)
    except (msgspec.MsgspecError, RecursionError, KeyError) as error:
        raise HistoryError(
            f"A stored event cannot be read ({type(error).__name__}: {error}).",
            code="history.unreadable",
        ) from error
    return upcast


UPCASTS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each schema version that has a successor: the function from its fields to the next one's."""


def verify_links(
    stored: Iterable[bytes], *, sub_task_id: str | None = None, latest: int | None = None
) -> list[tuple[int, str]]:
    """Re-walk one sub-task's chain over its stored bytes, in the order in which they are stored.

    Returns one (version, what is wrong) per fault found, by version; none when the chain holds.
    `sub_task_id` is whose history it should be, `latest` the version that it is known to have
    reached: an event removed at the end leaves no other trace. What nobody can see from the inside
    is a history that was written anew as a whole, every hash of it.
    """
    walk = _Walk(sub_task_id)
    for state in stored:
        walk.step(state)
    return sorted([*walk.faults, *walk.missing(latest or 0)], key=lambda fault: fault[0])


class _Walk:
    """One walk along a chain, and the faults met so far."""

    def __init__(self, sub_task_id: str | None) -> None:
        self.faults: list[tuple[int, str]] = []
        self._sub_task_id = sub_task_id
        self._seen: set[int] = set()
        self._last = 0
        self._link: str | None = GENESIS

    def step(self, state: bytes) -> None:
        """Hold the next stored event against those before it."""
        try:
            event = decode(state)
        except HistoryError as error:
            # Nor can it be told what the next one should link to.
            self._last, self._link = self._last + 1, None
            self._seen.add(self._last)
            self.faults.append((self._last, f"unreadable: {error.message}"))
            return
        version = event.version
        self.faults.extend((version, fault) for fault in self._faults(state, event))
        if version not in self._seen and version > self._last:
            self._last, self._link = version, event.hash
        self._seen.add(version)

    def _faults(self, state: bytes, event: Event) -> Iterator[str]:
        self._sub_task_id = self._sub_task_id or event.sub_task_id
        if event.sub_task_id != self._sub_task_id:
            yield f"foreign: it belongs to sub-task {event.sub_task_id}"
        if digest(state) != event.hash:
            yield "altered: its hash does not match its content"
        if event.version in self._seen:
            yield "duplicated: this version is there already"
        elif event.version < self._last:
            yield f"reordered: it stands after version {self._last}"
        elif event.version == self._last + 1 and self._link not in (None, event.previous_hash):
            yield "unlinked: its previous_hash does not match the event before it"

    def missing(self, latest: int) -> Iterator[tuple[int, str]]:
        """The versions that should be there and are not, up to `latest` or the last one there."""
        before = 0
        for version in sorted({*self._seen, max(latest, self._last) + 1}):
            if version > before + 1:
                span = (
                    f"{before + 1}" if version == before + 2 else f"{before + 1} to {version - 1}"
                )
                yield before + 1, f"removed: version {span} is missing"
            before = version
