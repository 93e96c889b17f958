"""Putting an agent's artifacts together from its updates and its snapshots (D12). Decides nothing.

Updates come in chunks and may be replayed; snapshots are whole but may be late. What belongs
together is told by the artifact's id, never by its text.
"""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from .growing import COST, FREE, Growing, joined
from .merging import Key, by_key, is_beginning, merge_snapshot, renamed
from .report import Artifact, Part, RemoteReport, Seen

__all__ = ["Artifacts", "gained_parts", "measure"]


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
        self._growing: dict[Key, Growing] = {}
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

    def are_doubted_by(self, end: RemoteReport) -> bool:
        """True when the list of a stream's end would take something away, if GetTask told it."""
        got = by_key(end.artifacts)
        heard, judged = (_beside(self._growing, got, is_end=is_end) for is_end in (False, True))
        return bool(got) and merge_snapshot(tuple(heard.values()), end.artifacts) != merge_snapshot(
            tuple(judged.values()), end.artifacts
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

    def _together(self, *, is_past: bool = False) -> dict[Key, Growing]:
        together = dict(self._growing)
        # What is over the limit already takes nothing more in.
        if self._replay is not None and not self._is_over(self._size):
            for key, heard in self._replay._growing.items():  # noqa: SLF001 - it is one of these
                known = together.get(key)
                together[key] = heard if known is None else joined(known, heard, is_past=is_past)
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
        whole = _beside(known, got, is_end=is_end)
        merged = by_key(merge_snapshot(tuple(whole.values()), report.artifacts))
        self._growing = {
            key: Growing(
                artifact,
                is_closed=key in whole and known[key].is_closed,
                is_emptied=key in whole and known[key].is_emptied,
                # What GetTask has shown it has shown, whatever a stream has less of it.
                is_shown=(is_asked and artifact is not whole.get(key))
                or (key in known and known[key].has_shown(artifact)),
                is_streamed=key in known and known[key].is_streamed,
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
        if known is not None and known.is_emptied and not erases_nothing:
            self._size -= known.size
            known.begin_anew()
            self._size += known.size
        size_before = 0 if known is None else known.size
        if known is not None and (append or erases_nothing):
            # An update without content says nothing about it: it erases nothing (case R5). But a
            # replacement without any is a beginning: what is appended to it replaces the rest.
            known.is_emptied = known.is_emptied or not (append or last)
            if self._is_over(self._size):
                return "artifact.over_limit"
            known.add(artifact)
            known.is_shown = False
        else:
            known = Growing(artifact, is_whole=not (append or erases_nothing))
            # A replacement may make it smaller, so it is taken in even past the limit.
            if self._is_over(self._size) and known.size >= size_before:
                return "artifact.over_limit"
            self._growing[key] = known
        known.is_closed = last
        known.is_streamed = True
        self._size += known.size - size_before
        self._whole = None
        return ""


def _beside(
    known: Mapping[Key, Growing], got: Mapping[Key, Artifact], *, is_end: bool
) -> dict[Key, Artifact]:
    """What was heard and stands beside a snapshot, which may be an end that GetTask tells (D12)."""
    streamed = {key: growing for key, growing in known.items() if growing.is_streamed}
    whole = {
        key: growing.whole()
        for key, growing in streamed.items()
        if not growing.is_less_now(got.get(key), is_end=is_end)
    }
    for key in renamed(whole, got, streamed) if is_end else ():
        del whole[key]
    return whole


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
