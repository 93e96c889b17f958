"""Putting an agent's artifacts together from its updates and its snapshots (D12). Decides nothing.

Updates come in chunks and may be replayed; snapshots are whole but may be late. What belongs
together is told by the artifact's id, never by its text.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from .merging import begins, by_key, holds, is_beginning, merge_snapshot, renamed, rest_after
from .report import Artifact, Part, RemoteReport, Seen

__all__ = ["Artifacts", "gained_parts", "measure", "size_of"]

FREE = 256
COST = 64
"""Bytes that each part and artifact past the first FREE counts besides what it carries, so that a
million empty ones are over a limit too (J3)."""

BLOCK = 256
"""Chunks of text that are joined as they come in: each is a `str` of its own by then, which takes
more memory than the few bytes that it may count (J3)."""


class Artifacts:
    """Artifacts put together from the reports of one task, in the order they came in (D12).

    `note` takes a report in and gives the anomalies it met; `whole` gives what there is. Past
    `limit` bytes nothing more is taken in, so that an agent cannot make it grow without bound; what
    is there by then is over the limit, which its end is decided by (J3). A snapshot begins anew.

    What a subscription brings before a snapshot that has all of it may be a replay (D7). It is put
    together apart, from nothing, and is joined with the rest when the next snapshot comes, or the
    next subscription begins.
    """

    __slots__ = ("_growing", "_limit", "_replay", "_size", "_whole")

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = limit
        self._growing: dict[tuple[str, int], _Growing] = {}
        self._replay: Artifacts | None = None
        self._size = 0
        self._whole: tuple[Artifact, ...] | None = ()

    def __len__(self) -> int:
        return len(self._growing)

    @property
    def whole(self) -> tuple[Artifact, ...]:
        """All artifacts so far, each as one."""
        if self._whole is None:
            self._whole = tuple(growing.whole() for growing in self._together().values())
        return self._whole

    def are_in(self, snapshot: RemoteReport) -> bool:
        """True when the snapshot has all that there is."""
        got = by_key(snapshot.artifacts)
        return all(
            key in got and not is_beginning(got[key], growing.whole())
            for key, growing in self._together().items()
        )

    def note(self, report: RemoteReport, *, replayed: bool = False) -> tuple[str, ...]:
        """Take one report's artifacts in: an update's chunk, or a snapshot's whole list.

        `replayed` says that it may be heard once more: no snapshot on its subscription has had all
        that there is.
        """
        if not report.artifacts and report.kind != "task":
            return ()
        if replayed:
            if self._replay is None:
                self._replay = Artifacts(limit=self._limit)
            found = self._replay.note(report)
            if report.kind == "task" or not found:
                self._whole = None
            return found
        # What a stream brings before its own snapshot is older than that; GetTask's may lack it.
        self.settle(is_past=report.kind == "task" and report.asked_at is None)
        if not report.artifacts:
            return ()
        if report.kind == "task":
            return self._take_snapshot(report)
        anomalies: list[str] = []
        for artifact in report.artifacts:
            anomaly = self._update(artifact, append=report.append, last=report.last_chunk)
            if anomaly:
                anomalies.append(anomaly)
        return tuple(anomalies)

    def settle(self, *, is_past: bool = False) -> None:
        """Join what may have been a replay with the rest: it is over.

        `is_past` says that it surely was one, as far as it repeats what is there.
        """
        if self._replay is None:
            return
        self._growing = self._together(is_past=is_past)
        self._replay = None
        self._size = sum(growing.size for growing in self._growing.values())
        self._whole = None

    def _together(self, *, is_past: bool = False) -> "dict[tuple[str, int], _Growing]":
        together = dict(self._growing)
        # What is over the limit already takes nothing more in.
        if self._replay is not None and not self._is_over(self._size):
            for key, heard in self._replay._growing.items():  # noqa: SLF001 - it is one of these
                known = together.get(key)
                together[key] = heard if known is None else _joined(known, heard, is_past=is_past)
        return together

    def _is_over(self, size: int) -> bool:
        weight = size + COST * max(len(self._growing) - FREE, 0)
        return self._limit is not None and weight > self._limit

    def _take_snapshot(self, report: RemoteReport) -> tuple[str, ...]:
        # What is over the limit already was cut: GetTask's word is all that is left to go by.
        # An earlier snapshot's artifacts are not in this one any more: the agent has replaced them.
        # A snapshot without any says nothing of them.
        known = {} if self._is_over(self._size) else self._growing
        got = by_key(report.artifacts)
        is_asked = report.asked_at is not None
        is_end = is_asked and report.state is not None and report.state.is_terminal
        streamed = {key: growing for key, growing in known.items() if growing.is_streamed}
        whole = {
            key: growing.whole()
            for key, growing in streamed.items()
            if not growing.is_less_now(got.get(key), is_end=is_end)
        }
        for key in renamed(whole, got, streamed) if is_end else ():
            del whole[key]
        merged = by_key(merge_snapshot(tuple(whole.values()), report.artifacts))
        self._growing = {
            key: _Growing(
                artifact,
                is_closed=key in whole and streamed[key].is_closed,
                # What GetTask has shown it has shown, whatever a stream has less of it.
                is_shown=(is_asked and artifact is not whole.get(key))
                or (key in known and known[key].has_shown(artifact)),
                is_streamed=key in streamed,
                is_whole=True,
            )
            for key, artifact in merged.items()
        }
        self._size = sum(growing.size for growing in self._growing.values())
        self._whole = None
        return ("artifact.over_limit",) if self._is_over(self._size) else ()

    def _update(self, artifact: Artifact, *, append: bool, last: bool) -> str:
        key = (artifact.artifact_id, 0)
        known = self._growing.get(key)
        if append and known is not None and known.is_closed:
            return "artifact.append_after_last"
        erases_nothing = all(part.is_empty for part in artifact.parts)
        size_before = 0 if known is None else known.size
        if known is not None and (append or erases_nothing):
            # An update without content says nothing about it: it erases nothing (case R5).
            if self._is_over(self._size):
                return "artifact.over_limit"
            known.add(artifact)
            known.is_shown = False
        else:
            known = _Growing(artifact, is_whole=not (append or erases_nothing))
            # A replacement may make it smaller, so it is taken in even past the limit.
            if self._is_over(self._size) and known.size >= size_before:
                return "artifact.over_limit"
            self._growing[key] = known
        known.is_closed = last
        known.is_streamed = True
        self._size += known.size - size_before
        self._whole = None
        return ""


class _Growing:
    """One artifact while chunks come in. Chunks of text are one text part, joined when asked for."""

    __slots__ = (
        "_chunks",
        "_loose",
        "_metadata",
        "_parts",
        "_plain",
        "is_closed",
        "is_guessed",
        "is_shown",
        "is_streamed",
        "is_whole",
        "size",
    )

    def __init__(
        self,
        artifact: Artifact,
        *,
        is_closed: bool = False,
        is_guessed: bool = False,
        is_shown: bool = False,
        is_streamed: bool = False,
        is_whole: bool = False,
    ) -> None:
        self.is_closed = is_closed
        """True from its last chunk on, until it is replaced."""
        self.is_guessed = is_guessed
        """True when its end was added without knowing whether that was a replay (D7)."""
        self.is_shown = is_shown
        """True when GetTask has had all of it once."""
        self.is_streamed = is_streamed
        """True when a stream has brought some of it: GetTask may not have it all."""
        self.is_whole = is_whole
        """True when its beginning is known: its first chunk was no append."""
        self.size = _size_of(artifact)
        self._plain = msgspec.structs.replace(artifact, parts=(), metadata={})
        self._metadata = dict(artifact.metadata)
        self._parts = list(artifact.parts)
        self._chunks: list[str] = []
        self._loose = 0

    def add(self, chunk: Artifact) -> None:
        """Add a chunk's parts; its name, description and metadata where it has any (case R7)."""
        if chunk.name or chunk.description:
            plain = self._plain
            self._plain = msgspec.structs.replace(
                plain,
                name=chunk.name or plain.name,
                description=chunk.description or plain.description,
            )
            self.size += _size_about(self._plain) - _size_about(plain)
        if chunk.metadata:
            # Only what it changes is measured: there may be much, and many chunks.
            known = self._metadata
            replaced = {key: known[key] for key in chunk.metadata if key in known}
            self.size += _size_of_metadata(chunk.metadata) - _size_of_metadata(replaced)
            known.update(chunk.metadata)
        for part in chunk.parts:
            if not part.is_empty:
                self._add(part)

    def _add(self, part: Part) -> None:
        if self._parts and isinstance(part.text, str) and _joins(self._parts[-1], part):
            self._chunks.append(part.text)
            self.size += len(part.text.encode())
            self._loose += 1
            if self._loose == BLOCK:
                self._chunks[-BLOCK:] = ["".join(self._chunks[-BLOCK:])]
                self._loose = 0
            return
        self._join()
        self._parts.append(part)
        self.size += part.size + (COST if len(self._parts) > FREE else 0)

    def _join(self) -> None:
        if self._chunks:
            last = self._parts[-1]
            text = "".join((str(last.text), *self._chunks))
            self._parts[-1] = msgspec.structs.replace(last, text=text)
            self._chunks = []
            self._loose = 0

    def is_less_now(self, got: Artifact | None, *, is_end: bool) -> bool:
        """True when a snapshot that has less of it, or None of it, has all there is all the same.

        At the end that GetTask tells, when GetTask had all of it before; and when what is more
        repeats a piece of what the snapshot has, and may have been a replay.
        """
        if is_end and self.is_shown:
            return True
        if got is None or not self.is_guessed:
            return False
        whole = self.whole()
        return begins(whole, got) and holds(got, rest_after(got, whole))

    def has_shown(self, artifact: Artifact) -> bool:
        """True when GetTask has had all of that, which is this or a beginning of it."""
        return self.is_shown and begins(self.whole(), artifact)

    def whole(self) -> Artifact:
        """The artifact as far as it has come."""
        self._join()
        return msgspec.structs.replace(
            self._plain, parts=tuple(self._parts), metadata=dict(self._metadata)
        )


def _joined(known: _Growing, heard: _Growing, *, is_past: bool) -> _Growing:
    """What was known of an artifact, and what a subscription brought of it before a snapshot (D7).

    That is the same once more, or a piece of it, or more of it, or another: an append that is no
    beginning may be any of these.
    """
    one, other = known.whole(), heard.whole()
    if begins(one, other):
        return known
    if heard.is_whole or begins(other, one):
        return heard
    if known.is_closed or (is_past and holds(one, other)):
        return known
    joined = _Growing(
        one,
        is_closed=heard.is_closed,
        is_guessed=True,
        is_streamed=True,
        is_whole=known.is_whole,
    )
    joined.add(other)
    return joined


def _joins(last: Part, part: Part) -> bool:
    return isinstance(last.text, str) and (last.media_type, last.filename, last.metadata) == (
        part.media_type,
        part.filename,
        part.metadata,
    )


def size_of(artifacts: Sequence[Artifact]) -> int:
    """Bytes that artifacts hold: what their parts carry, and what is said about it (J3)."""
    return sum(map(_size_of, artifacts)) + COST * max(len(artifacts) - FREE, 0)


def _size_of(artifact: Artifact) -> int:
    content = sum(part.size for part in artifact.parts)
    return content + _size_about(artifact) + COST * max(len(artifact.parts) - FREE, 0)


def _size_about(artifact: Artifact) -> int:
    about = len(artifact.artifact_id) + len(artifact.name) + len(artifact.description)
    return about + _size_of_metadata(artifact.metadata)


def _size_of_metadata(metadata: Mapping[str, object]) -> int:
    """Bytes of its entries as JSON. Of two that share no key, the sizes add up."""
    return len(msgspec.json.encode(metadata)) - 1 if metadata else 0


def measure(artifacts: Iterable[Artifact]) -> dict[str, Seen]:
    """How much there is of each artifact, to tell later what came since (D16)."""
    return {
        artifact_id: Seen(size=sum(map(_length, parts)), digest=_digest(parts))
        for artifact_id, parts in _parts_by_id(artifacts).items()
    }


def gained_parts(seen: Mapping[str, Seen], artifacts: Iterable[Artifact]) -> tuple[Part, ...]:
    """What came since each artifact was as in `seen` (D16); all of one that was replaced."""
    gained: list[Part] = []
    for artifact_id, parts in _parts_by_id(artifacts).items():
        known = seen.get(artifact_id, NOTHING_SEEN)
        before, since = _cut(parts, known.size)
        gained.extend(since if _digest(before) == known.digest else parts)
    return tuple(part for part in gained if not part.is_empty)


def _parts_by_id(artifacts: Iterable[Artifact]) -> dict[str, list[Part]]:
    parts: dict[str, list[Part]] = {}
    for artifact in artifacts:
        parts.setdefault(artifact.artifact_id, []).extend(artifact.parts)
    return parts


def _length(part: Part) -> int:
    return len(part.text) if isinstance(part.text, str) else 1


def _cut(parts: Iterable[Part], size: int) -> tuple[list[Part], list[Part]]:
    """The parts up to `size`, and those after; a text across the cut is in both."""
    before: list[Part] = []
    since: list[Part] = []
    for part in parts:
        length = _length(part)
        if size <= 0:
            since.append(part)
        elif length <= size:
            before.append(part)
        else:
            text = str(part.text)
            before.append(msgspec.structs.replace(part, text=text[:size]))
            since.append(msgspec.structs.replace(part, text=text[size:]))
        size -= length
    return before, since


def _digest(parts: Iterable[Part]) -> str:
    """A digest of what the parts carry, the same however a text is cut into parts."""
    content = hashlib.sha256()
    for part in parts:
        if isinstance(part.text, str):
            content.update(part.text.encode())
        else:
            content.update(b"\x00" + msgspec.json.encode(part))
    return content.hexdigest()[:32]


NOTHING_SEEN = Seen(size=0, digest=_digest(()))
