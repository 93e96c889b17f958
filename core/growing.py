"""One artifact while its chunks come in, and how much it holds (D12, J3). Decides nothing."""

from collections.abc import Mapping, Sequence

import msgspec

from .merging import begins, holds, rest_after
from .report import Artifact, Part

__all__ = ["COST", "FREE", "Growing", "joined", "size_of"]

FREE = 256
COST = 64
"""Bytes that each part and artifact past the first FREE counts besides what it carries, so that a
million empty ones are over a limit too (J3)."""

BLOCK = 256
"""Chunks of text that are joined as they come in: each is a `str` of its own by then, which takes
more memory than the few bytes that it may count (J3)."""


class Growing:
    """One artifact while chunks come in. Chunks of text are one text part, joined when asked for."""

    __slots__ = (
        "_chunks",
        "_loose",
        "_metadata",
        "_parts",
        "_plain",
        "is_closed",
        "is_emptied",
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
        is_emptied: bool = False,
        is_guessed: bool = False,
        is_shown: bool = False,
        is_streamed: bool = False,
        is_whole: bool = False,
    ) -> None:
        self.is_closed = is_closed
        """True from its last chunk on, until it is replaced."""
        self.is_emptied = is_emptied
        """True when it was replaced by nothing: it stays, until what comes next begins it anew."""
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

    def begin_anew(self) -> None:
        """Drop what it holds: an emptied one gets its new content. What is said about it stays."""
        self._parts, self._chunks, self._loose = [], [], 0
        self.size = _size_about(self._plain) + _size_of_metadata(self._metadata)
        self.is_emptied, self.is_whole = False, True

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

        At the end that GetTask tells, when GetTask had all of it before; when it was replaced by
        nothing since; and when what is more repeats a piece of what the snapshot has, and may have
        been a replay. One that lists it without content says nothing about it (case R5).
        """
        if got is not None and all(part.is_empty for part in got.parts):
            return False
        if is_end and self.is_shown:
            return True
        if got is not None and self.is_emptied:
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


def joined(known: Growing, heard: Growing, *, is_past: bool) -> Growing:
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
    joined = Growing(
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
