"""Two tellings of the same artifacts held against each other, and a snapshot merged (D12).

Decides nothing. Of two texts under one id it is told whether one goes on from the other, or repeats
it. Which artifacts belong together is told by their ids, but at the end by their content too, where
the agent has given what it streamed another id.
"""

from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from .report import Artifact, Part, parts_text, says

__all__ = [
    "Key",
    "begins",
    "by_key",
    "holds",
    "is_beginning",
    "merge_snapshot",
    "renamed",
    "rest_after",
]

Key: TypeAlias = tuple[str, int]
"""An artifact's id, and its place among those that share it."""


def by_key(artifacts: Iterable[Artifact]) -> dict[Key, Artifact]:
    """Artifacts by id; some agents give several the same one (or none), which are told by place."""
    keyed: dict[Key, Artifact] = {}
    places: dict[str, int] = {}
    for artifact in artifacts:
        place = places.get(artifact.artifact_id, 0)
        places[artifact.artifact_id] = place + 1
        keyed[artifact.artifact_id, place] = artifact
    return keyed


def merge_snapshot(heard: Sequence[Artifact], snapshot: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """What was heard on streams, completed by a GetTask snapshot without doubling (D12).

    The snapshot wins for each artifact that it has, unless it has only a beginning of what was
    heard. An artifact that only the stream brought is kept, before the same one that it was before;
    the rest is in the snapshot's order.
    """
    known = by_key(heard)
    got = by_key(_as_heard(known, snapshot))
    places = {key: place for place, key in enumerate(known)}
    only_heard = deque(key for key in known if key not in got)
    merged: list[Artifact] = []
    for key, artifact in got.items():
        while only_heard and places[only_heard[0]] < places.get(key, 0):
            merged.append(known[only_heard.popleft()])
        before = known.get(key, artifact)
        merged.append(before if is_beginning(artifact, before) else artifact)
    return (*merged, *(known[key] for key in only_heard))


def _as_heard(known: Mapping[Key, Artifact], snapshot: Sequence[Artifact]) -> Iterable[Artifact]:
    """The snapshot, in which chunks that are listed apart are one artifact if they were one before."""
    chunks: dict[str, list[Artifact]] = {}
    for artifact in snapshot:
        chunks.setdefault(artifact.artifact_id, []).append(artifact)
    for key, listed in chunks.items():
        before = known.get((key, 0))
        if len(listed) > 1 and before is not None and (key, 1) not in known:
            parts = tuple(part for artifact in listed for part in artifact.parts)
            if parts_text(parts) == parts_text(before.parts):
                yield msgspec.structs.replace(listed[0], parts=parts)
                continue
        yield from listed


def renamed(
    heard: Mapping[Key, Artifact], got: Mapping[Key, Artifact], streamed: Container[Key]
) -> list[Key]:
    """What of `heard` the snapshot of an end has under another id, content for content (D12).

    Each of the snapshot's stands for one at the most, and none of those that were `streamed` under
    the snapshot's own id: of two artifacts that say the same both stay.
    """
    missing = [key for key in heard if key not in got and says(heard[key].parts)]
    if not missing:
        return []
    others = Counter(_content(got[key]) for key in got if key not in streamed)
    found = []
    for key in missing:
        content = _content(heard[key])
        if others[content]:
            others[content] -= 1
            found.append(key)
    return found


def _content(artifact: Artifact) -> tuple[str, bytes]:
    return parts_text(artifact.parts), msgspec.json.encode(_not_text(artifact))


def is_beginning(one: Artifact, other: Artifact) -> bool:
    """True when `one` lacks what `other` goes on with.

    Not when `other` only goes on with the end or the beginning of `one` again, which may be
    nothing: those chunks were replayed (D7).
    """
    if not begins(other, one):
        return False
    more = rest_after(one, other)
    text, more_text = parts_text(one.parts), parts_text(more.parts)
    rest, more_rest = _not_text(one), _not_text(more)
    end_of_rest = rest[max(len(rest) - len(more_rest), 0) :]
    is_replayed = (text.endswith(more_text) and end_of_rest == more_rest) or begins(one, more)
    return not is_replayed


def begins(whole: Artifact, one: Artifact) -> bool:
    """True when `whole` begins with what `one` has, or is just that."""
    rest, start = _not_text(whole), _not_text(one)
    return parts_text(whole.parts).startswith(parts_text(one.parts)) and rest[: len(start)] == start


def rest_after(one: Artifact, whole: Artifact) -> Artifact:
    """What `whole`, which begins with `one`, has past it."""
    text = parts_text(whole.parts)[len(parts_text(one.parts)) :]
    return msgspec.structs.replace(
        whole, parts=(Part(text=text), *_not_text(whole)[len(_not_text(one)) :])
    )


def holds(whole: Artifact, piece: Artifact) -> bool:
    """True when the piece's text is somewhere in the whole one's, and so are its other parts."""
    rest = _not_text(piece)
    listed = _not_text(whole)
    return parts_text(piece.parts) in parts_text(whole.parts) and (
        listed[: len(rest)] == rest or listed[len(listed) - len(rest) :] == rest
    )


def _not_text(artifact: Artifact) -> list[Part]:
    return [part for part in artifact.parts if part.text is msgspec.UNSET and not part.is_empty]
