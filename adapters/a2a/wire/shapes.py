"""The strict shapes of A2A 1.0: tells in one pass whether the SDK can read an answer as it is.

This is the fast path, taken by every event of a lawful agent, so msgspec does the work. It mends
nothing: whatever is not clearly in order is `None`, and repair.py looks at it with patience.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from msgspec import UNSET, Raw, Struct, UnsetType

from ...json_measure import DEPTH_LIMIT, depth_of

__all__ = ["EXACT_KEY", "TERMINAL_STATES", "Frame", "is_base64", "is_time", "look"]

EXACT_KEY: Final = "locum/exact-data"
"""In a data part's metadata, put there by the wire: the data as JSON text, where protobuf's doubles
would lose digits of a whole number (case R9). What an agent sends under this key is dropped."""

TERMINAL_STATES: Final = frozenset(
    f"TASK_STATE_{state}" for state in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
)

_State = Literal[
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
]
_Role = Literal["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"]
_Text = str | None


class _Part(Struct, rename="camel", gc=False):
    text: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET
    media_type: _Text = None
    filename: _Text = None
    metadata: Raw | UnsetType = UNSET


class _Message(Struct, rename="camel", gc=False):
    message_id: str
    role: _Role
    parts: list[_Part] = []
    context_id: _Text = None
    task_id: _Text = None
    metadata: Raw | UnsetType = UNSET
    extensions: list[str] = []
    reference_task_ids: list[str] = []


class _Status(Struct, rename="camel", gc=False):
    state: _State
    message: _Message | None = None
    timestamp: _Text = None


class _Artifact(Struct, rename="camel", gc=False):
    artifact_id: str
    parts: list[_Part] = []
    name: _Text = None
    description: _Text = None
    metadata: Raw | UnsetType = UNSET
    extensions: list[str] = []


class _Task(Struct, rename="camel", gc=False):
    id: str
    status: _Status
    context_id: _Text = None
    artifacts: list[_Artifact] = []
    history: list[_Message] = []
    metadata: Raw | UnsetType = UNSET


class _StatusUpdate(Struct, rename="camel", gc=False):
    task_id: str
    status: _Status
    context_id: _Text = None
    metadata: Raw | UnsetType = UNSET


class _ArtifactUpdate(Struct, rename="camel", gc=False):
    task_id: str
    artifact: _Artifact
    context_id: _Text = None
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: Raw | UnsetType = UNSET


class _Frame(Struct, rename="camel", gc=False):
    """A StreamResponse; a SendMessageResponse has two of its members."""

    task: _Task | None = None
    message: _Message | None = None
    status_update: _StatusUpdate | None = None
    artifact_update: _ArtifactUpdate | None = None


class _Tasks(Struct, rename="camel", gc=False):
    tasks: list[_Task] = []
    next_page_token: _Text = None
    page_size: int | None = None
    total_size: int | None = None


class _FrameAnswer(Struct, gc=False):
    result: _Frame
    error: None = None


class _TaskAnswer(Struct, gc=False):
    result: _Task
    error: None = None


class _TasksAnswer(Struct, gc=False):
    result: _Tasks
    error: None = None


class _BareFrame(_Frame, gc=False):
    error: None = None


class _BareTask(_Task, gc=False):
    error: None = None


class _BareTasks(_Tasks, gc=False):
    error: None = None


_SENDS: Final = ("SendMessage", "SendStreamingMessage", "SubscribeToTask")
_TASKS: Final = ("GetTask", "CancelTask")
_RPC: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    **{method: msgspec.json.Decoder(_FrameAnswer) for method in _SENDS},
    **{method: msgspec.json.Decoder(_TaskAnswer) for method in _TASKS},
    "ListTasks": msgspec.json.Decoder(_TasksAnswer),
}
_REST: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    **{method: msgspec.json.Decoder(_BareFrame) for method in _SENDS},
    **{method: msgspec.json.Decoder(_BareTask) for method in _TASKS},
    "ListTasks": msgspec.json.Decoder(_BareTasks),
}


class Frame(Struct, frozen=True, gc=False):
    """An answer that is in order: which payload it holds, and the state it names."""

    payload: Literal["task", "message", "statusUpdate", "artifactUpdate", "tasks"]
    state: str = ""
    is_echo: bool = False
    """It is a message, and none of the agent's."""

    @property
    def is_last(self) -> bool:
        """True when nothing can follow it on a stream (K5): a terminal state, or an answer (C5)."""
        is_answer = self.payload == "message" and not self.is_echo
        return is_answer or self.state in TERMINAL_STATES


def look(raw: bytes, method: str, *, rpc: bool) -> Frame | None:
    """What the answer is, when the SDK will read it as it stands; None when that is not sure."""
    decoder = (_RPC if rpc else _REST).get(method)
    # A NUL, the wire's own key, and a name that protobuf takes for an extension's.
    if decoder is None or b"\\u0000" in raw or b"exact-data" in raw or b'"[' in raw:
        return None
    try:
        if not raw.isascii():
            raw.decode()
        if depth_of(raw) > DEPTH_LIMIT:
            return None
        answer = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    seen = _payload(answer.result if rpc else answer)
    if seen is not None and method == "SendMessage" and seen.payload not in ("task", "message"):
        return None
    return seen


def _payload(result: Any) -> Frame | None:
    if isinstance(result, _Task):
        return Frame("task", result.status.state) if _task_ok(result) else None
    if isinstance(result, _Tasks):
        return Frame("tasks") if all(map(_task_ok, result.tasks)) else None
    match (result.status_update, result.artifact_update, result.task, result.message):
        case (_StatusUpdate() as update, None, None, None):
            ok = _status_ok(update.status) and _object(update.metadata)
            return Frame("statusUpdate", update.status.state) if ok else None
        case (None, _ArtifactUpdate() as update, None, None):
            ok = _artifact_ok(update.artifact) and _object(update.metadata)
            return Frame("artifactUpdate") if ok else None
        case (None, None, _Task() as task, None):
            return Frame("task", task.status.state) if _task_ok(task) else None
        case (None, None, None, _Message() as message):
            is_echo = message.role == "ROLE_USER"
            return Frame("message", is_echo=is_echo) if _message_ok(message) else None
        case _:
            return None


def _task_ok(task: _Task) -> bool:
    return (
        _status_ok(task.status)
        and all(map(_artifact_ok, task.artifacts))
        and all(map(_message_ok, task.history))
        and _object(task.metadata)
    )


def _status_ok(status: _Status) -> bool:
    return (status.timestamp is None or is_time(status.timestamp)) and (
        status.message is None or _message_ok(status.message)
    )


def _message_ok(message: _Message) -> bool:
    return _parts_ok(message.parts) and _object(message.metadata)


def _artifact_ok(artifact: _Artifact) -> bool:
    return _parts_ok(artifact.parts) and _object(artifact.metadata)


def _parts_ok(parts: Iterable[_Part]) -> bool:
    for part in parts:
        contents = 0
        if part.text is not UNSET:
            contents += 1
        if part.url is not UNSET:
            contents += 1
        if part.raw is not UNSET:
            contents += 1
            if not is_base64(part.raw):
                return False
        if part.data is not UNSET:
            contents += 1
            if _LONG_NUMBER.search(bytes(part.data)):
                return False
        if contents != 1 or not _object(part.metadata):
            return False
    return True


# A number with so many digits may be one that no double can hold; metadata is data too.
_LONG_NUMBER: Final = re.compile(rb"[0-9]{16}|[0-9][eE]")


def _object(metadata: Raw | UnsetType) -> bool:
    if metadata is UNSET:
        return True
    text = bytes(metadata)
    return (text[:1] == b"{" or text == b"null") and not _LONG_NUMBER.search(text)


_TIME: Final = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-]00:00)"
)
_YEAR_ZERO: Final = "0000"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def is_time(text: str) -> bool:
    """True when google.protobuf reads the text as a timestamp."""
    if _TIME.fullmatch(text) and not text.startswith(_YEAR_ZERO):
        return True
    try:
        Timestamp().FromJsonString(text)
    except ValueError:
        return False
    return True


def is_base64(text: str) -> bool:
    """True for base64 in either alphabet, padded or not, of a length that can be."""
    return bool(_BASE64.fullmatch(text)) and len(text.rstrip("=")) % 4 != 1
