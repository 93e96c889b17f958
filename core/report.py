"""What an agent said, in our own types: parts, artifacts and the report of one message heard.

Adapters translate the wire into these; the core decides on them. Nothing here knows protobuf, a
network or a clock. All values are JSON values.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from .lifecycle import A2AState

__all__ = [
    "Artifact",
    "Artifacts",
    "Part",
    "RemoteReport",
    "Source",
    "artifacts_text",
    "gained_parts",
    "merge_snapshot",
    "parts_text",
    "parts_words",
]

Source = Literal["stream", "get", "send", "cancel"]
"""Where a report was heard. Only `get` (GetTask) is a judge; a stream is a bell (D7, D14)."""


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of a message or an artifact; exactly one of text, data, raw and url is set.

    `raw` is base64. `data` may be any JSON value, `null` included.
    """

    text: str | UnsetType = UNSET
    data: Any = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    media_type: str = ""
    filename: str = ""
    metadata: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        """True when the part carries nothing at all (R5)."""
        return (
            self.text in (UNSET, "")
            and self.data is UNSET
            and self.raw in (UNSET, "")
            and self.url in (UNSET, "")
        )

    @property
    def size(self) -> int:
        """Bytes of what the part carries (J3)."""
        if isinstance(self.text, str):
            return len(self.text.encode())
        if isinstance(self.raw, str):
            return len(self.raw) * 3 // 4
        if isinstance(self.url, str):
            return len(self.url)
        return 0 if self.data is UNSET else len(msgspec.json.encode(self.data))


class Artifact(Struct, frozen=True, kw_only=True):
    """One result of an agent, whole as far as heard."""

    artifact_id: str
    name: str = ""
    description: str = ""
    parts: tuple[Part, ...] = ()
    metadata: dict[str, Any] = {}


class RemoteReport(Struct, frozen=True, kw_only=True):
    """One thing that an agent said about a task, or a message that it answered with.

    `kind` is the A2A payload: a whole `task`, a `message` that is no task's, a `status` update or
    an `artifact` update. `state` is None when the payload names none or one that is not known
    (D14); `text` and `parts` are the status message's (or the message's). `remote_at` is the
    agent's status time (RFC 3339, UTC) or None. `sub_state` is the status extension's (D13).
    For an artifact update, `artifacts` holds the one artifact and `append`, `last_chunk` its
    flags; for a task, all of its artifacts.
    """

    kind: Literal["task", "message", "status", "artifact"]
    remote_task_id: str = ""
    context_id: str = ""
    state: A2AState | None = None
    text: str = ""
    parts: tuple[Part, ...] = ()
    message_id: str = ""
    artifacts: tuple[Artifact, ...] = ()
    append: bool = False
    last_chunk: bool = False
    remote_at: str | None = None
    sub_state: str = ""
    history_ids: tuple[str, ...] = ()
    """Message ids in a task's history (and its status message), for I2 and I3."""
    anomalies: tuple[str, ...] = ()


def parts_text(parts: Iterable[Part]) -> str:
    """The text parts, joined as they are (D12)."""
    return "".join(part.text for part in parts if isinstance(part.text, str))


def parts_words(parts: Sequence[Part]) -> str:
    """The text of the parts; with no text, their data as compact JSON, a line each (D16)."""
    text = parts_text(parts)
    if text:
        return text
    return "\n".join(
        json.dumps(part.data, ensure_ascii=False, separators=(",", ":"))
        for part in parts
        if part.data is not UNSET
    )


def artifacts_text(artifacts: Iterable[Artifact]) -> str:
    """The artifacts' text: parts joined as they are, artifacts by a line break (D12)."""
    texts = (parts_text(artifact.parts) for artifact in artifacts)
    return "\n".join(text for text in texts if text)


class Artifacts:
    """Artifacts put together from the updates of one task, in the order they first came (D12).

    `note` takes an artifact update and gives the anomalies it met; `whole` gives what there is.
    """

    def __init__(self, known: Iterable[Artifact] = ()) -> None:
        self._by_id: dict[str, Artifact] = {artifact.artifact_id: artifact for artifact in known}
        self._closed: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def whole(self) -> tuple[Artifact, ...]:
        """All artifacts so far, each as one."""
        return tuple(self._by_id.values())

    def note(self, report: RemoteReport) -> tuple[str, ...]:
        """Take one report's artifacts in: an update's chunk, or a snapshot's whole list."""
        if report.kind == "task":
            if report.artifacts:
                merged = merge_snapshot(self.whole, report.artifacts)
                self._by_id = {artifact.artifact_id: artifact for artifact in merged}
            return ()
        anomalies: list[str] = []
        for artifact in report.artifacts:
            anomaly = self._update(artifact, append=report.append)
            if anomaly:
                anomalies.append(anomaly)
            elif report.last_chunk:
                self._closed.add(artifact.artifact_id)
        return tuple(anomalies)

    def _update(self, artifact: Artifact, *, append: bool) -> str:
        known = self._by_id.get(artifact.artifact_id)
        if append and known is not None:
            if artifact.artifact_id in self._closed:
                return "artifact.append_after_last"
            self._by_id[artifact.artifact_id] = Artifact(
                artifact_id=artifact.artifact_id,
                name=artifact.name or known.name,
                description=artifact.description or known.description,
                parts=known.parts + tuple(p for p in artifact.parts if not p.is_empty),
                metadata={**known.metadata, **artifact.metadata},
            )
            return ""
        if known is not None and not artifact.parts:
            # An update with no parts says nothing about them: it erases nothing (R5).
            self._by_id[artifact.artifact_id] = msgspec.structs.replace(
                known,
                name=artifact.name or known.name,
                description=artifact.description or known.description,
                metadata={**known.metadata, **artifact.metadata},
            )
            return ""
        self._closed.discard(artifact.artifact_id)
        self._by_id[artifact.artifact_id] = artifact
        return ""


def merge_snapshot(heard: Sequence[Artifact], snapshot: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """What was heard on streams, completed by a GetTask snapshot without doubling (D12).

    The snapshot wins for each artifact that it has, unless it has less of it than was heard; an
    artifact that only the stream brought is kept. Chunks that the snapshot has joined or cut
    otherwise are the same artifact: the id decides, never the text.
    """
    by_id = {artifact.artifact_id: artifact for artifact in heard}
    merged: dict[str, Artifact] = dict(by_id)
    for artifact in snapshot:
        known = by_id.get(artifact.artifact_id)
        if known is not None and _is_less(artifact, known):
            continue
        merged[artifact.artifact_id] = artifact
    return tuple(merged.values())


def _is_less(one: Artifact, other: Artifact) -> bool:
    """True when `one` is a beginning of `other`: fewer parts, or less of the same text."""
    if not any(not part.is_empty for part in one.parts):
        return any(not part.is_empty for part in other.parts)
    one_text, other_text = parts_text(one.parts), parts_text(other.parts)
    return (
        len(one_text) < len(other_text)
        and other_text.startswith(one_text)
        and _others(one) <= _others(other)
    )


def _others(artifact: Artifact) -> int:
    return sum(1 for part in artifact.parts if part.text is UNSET)


def gained_parts(seen: Mapping[str, int], artifacts: Iterable[Artifact]) -> tuple[Part, ...]:
    """The parts that came since each artifact had the number of parts in `seen` (D16)."""
    return tuple(
        part
        for artifact in artifacts
        for part in artifact.parts[seen.get(artifact.artifact_id, 0) :]
    )
