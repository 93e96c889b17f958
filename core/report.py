"""What an agent said, in our own types: parts, artifacts and the report of one message heard.

Adapters translate the wire into these; the core decides on them. Nothing here knows protobuf, a
network or a clock. All values are JSON values.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from .lifecycle import A2AState

__all__ = [
    "Artifact",
    "Part",
    "RemoteReport",
    "Seen",
    "Source",
    "artifacts_text",
    "parts_said",
    "parts_text",
    "parts_words",
    "says",
]

Source = Literal["stream", "get", "send", "cancel"]
"""Where a report was heard. A whole answer about one task (GetTask, CancelTask) is a judge; a
stream is a bell (D7, D14)."""


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
        """True when the part carries nothing at all (case R5)."""
        return (
            self.text in (UNSET, "")
            and self.data is UNSET
            and self.raw in (UNSET, "")
            and self.url in (UNSET, "")
        )

    @property
    def size(self) -> int:
        """Bytes of what the part carries, its names and metadata counted too (J3)."""
        about = len(self.media_type) + len(self.filename)
        if self.metadata:
            about += len(msgspec.json.encode(self.metadata))
        if isinstance(self.text, str):
            return about + len(self.text.encode())
        if isinstance(self.raw, str):
            return about + len(self.raw) * 3 // 4
        if isinstance(self.url, str):
            return about + len(self.url)
        return about + (0 if self.data is UNSET else len(msgspec.json.encode(self.data)))


class Artifact(Struct, frozen=True, kw_only=True):
    """One result of an agent, whole as far as heard."""

    artifact_id: str
    name: str = ""
    description: str = ""
    parts: tuple[Part, ...] = ()
    metadata: dict[str, Any] = {}


class Seen(Struct, frozen=True, kw_only=True):
    """How much of an artifact had been heard at some time: its size, and a digest of just that.

    The size counts a text's characters and one for any other part, so that it does not depend on
    how the text was cut into parts.
    """

    size: int
    digest: str


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
    last_said: tuple[Part, ...] = ()
    """The last message of a task's history, when the agent spoke last (D16)."""
    asked_at: int | None = None
    """The version of the sub-task when GetTask was called; None for what was not asked for."""
    heard_at: int | None = None
    """The version when it came on a stream, before any reply that has not left; None elsewhere."""
    anomalies: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """True when it tells no more than a state: no artifact, and no word of the agent's."""
        return not (self.artifacts or says(self.parts) or self.text or says(self.last_said))


def says(parts: Iterable[Part]) -> bool:
    """True when there is anything in the parts: data, a file, a URL, or words that are no blanks."""
    return any(
        part.text.strip() if isinstance(part.text, str) else not part.is_empty for part in parts
    )


def parts_text(parts: Iterable[Part]) -> str:
    """The text parts, joined as they are (D12)."""
    return "".join(part.text for part in parts if isinstance(part.text, str))


def parts_words(parts: Sequence[Part]) -> str:
    """The text of the parts; with none but blanks, their data as compact JSON, a line each (D16)."""
    text = parts_text(parts)
    if text.strip():
        return text
    data = (
        json.dumps(part.data, ensure_ascii=False, separators=(",", ":"))
        for part in parts
        if part.data is not UNSET
    )
    return "\n".join(data) or text


def parts_said(parts: Sequence[Part]) -> str:
    """The words of the parts; with none, their URLs and the names of their files, a line each (E7)."""
    words = parts_words(parts)
    if words.strip():
        return words
    return "\n".join(
        name for part in parts if (name := part.url or part.filename or part.media_type)
    )


def artifacts_text(artifacts: Iterable[Artifact]) -> str:
    """The artifacts' text: parts joined as they are, artifacts by a line break (D12).

    One of blanks alone has none.
    """
    texts = (parts_text(artifact.parts) for artifact in artifacts)
    return "\n".join(text for text in texts if text.strip())
