"""Builders for what a peer says, in a short notation: T, S, A, M, EV, ERR. No sockets.

`T`, `S`, `A` and `M` are JSON objects as A2A 1.0 spells them, the same for both bindings. `EV`,
`ERR` and the other capital names are steps of a script: what a raw agent does, one after another.
"""

import base64
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Literal

from a2a.utils.errors import A2A_ERROR_MAPPING, JSON_RPC_ERROR_CODE_MAP, ErrorMapping

__all__ = [
    "COMMENT",
    "CUT",
    "EOF",
    "ERR",
    "EV",
    "HOLD",
    "NOW",
    "RST",
    "WAIT",
    "A",
    "Binding",
    "End",
    "Frame",
    "Json",
    "M",
    "S",
    "T",
    "data_part",
    "file_part",
    "text_part",
    "url_part",
]

Json = dict[str, Any]
Binding = Literal["JSONRPC", "HTTP+JSON"]

NOW = "now"
"""A timestamp that is filled in when the frame is first sent, and then stays."""

_SHORT = frozenset(
    (
        *("SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"),
        *("COMPLETED", "FAILED", "CANCELED", "REJECTED"),
    )
)


class _RisingClock:
    """The time, never twice the same, so that a later status is also newer by its stamp."""

    def __init__(self) -> None:
        self._last = datetime.now(UTC)

    def stamp(self) -> str:
        self._last = max(self._last + timedelta(microseconds=1), datetime.now(UTC))
        return self._last.isoformat(timespec="microseconds").replace("+00:00", "Z")


_clock = _RisingClock()
_message_numbers = itertools.count(1)


class Frame(Json):
    """A JSON object that knows its name in a StreamResponse (`task`, `statusUpdate`, …)."""

    def __init__(self, name: str, body: Mapping[str, Any]) -> None:
        super().__init__(body)
        self.name = name

    def stamped(self) -> "Frame":
        """This frame, its `NOW` timestamp filled in for good."""
        status = self.get("status")
        if isinstance(status, dict) and status.get("timestamp") == NOW:
            status["timestamp"] = _clock.stamp()
        return self

    def wrapped(self) -> Json:
        """The StreamResponse (or SendMessageResponse) around it."""
        return {self.name: self.stamped()}


def text_part(text: str, **more: Any) -> Json:
    """A text part; `more` are further fields (`metadata`, `mediaType`)."""
    return {"text": text, **more}


def data_part(data: Any, **more: Any) -> Json:
    """A data part with any JSON value."""
    return {"data": data, **more}


def file_part(raw: bytes, *, filename: str = "", media_type: str = "") -> Json:
    """A file part with its bytes inside."""
    part: Json = {"raw": base64.b64encode(raw).decode()}
    return part | _named(filename, media_type)


def url_part(url: str, *, filename: str = "", media_type: str = "") -> Json:
    """A file part that names where the bytes are."""
    return {"url": url} | _named(filename, media_type)


def _named(filename: str, media_type: str) -> Json:
    named = {"filename": filename, "mediaType": media_type}
    return {key: value for key, value in named.items() if value}


Says = str | Json | Iterable[Json] | None


def _parts(said: Says) -> list[Json]:
    match said:
        case None:
            return []
        case str():
            return [text_part(said)]
        case dict():
            return [said]
        case _:
            return list(said)


def _state(state: str) -> str:
    """Short names get their prefix; anything else is sent as it is written."""
    return f"TASK_STATE_{state}" if state in _SHORT else state


def _status(state: str, says: Says, ts: str | None, task: str, context: str) -> Json:
    status: Json = {"state": _state(state)}
    if says is not None:
        status["message"] = M(says, task=task, context=context)
    if ts is not None:
        status["timestamp"] = ts
    return status


def M(says: Says, *, id: str = "", context: str = "", task: str = "", **more: Any) -> Frame:
    """A message of the agent's; on its own a direct answer without a task."""
    body: Json = {
        "messageId": id or f"agent-{next(_message_numbers)}",
        "role": "ROLE_AGENT",
        "parts": _parts(says),
    }
    if context:
        body["contextId"] = context
    if task:
        body["taskId"] = task
    return Frame("message", body | more)


def T(
    state: str,
    says: Says = None,
    *,
    ts: str | None = NOW,
    artifacts: Iterable[Json] = (),
    history: Iterable[Json] = (),
    id: str = "t1",
    context: str = "c1",
    **more: Any,
) -> Frame:
    """A Task snapshot. `state` is a short name, or anything else to be sent verbatim.

    `says` is the status message: a text, a part or parts. `ts` is `NOW`, an RFC 3339 text, or
    None for none. `artifacts` are artifact objects, or `A(…)` frames. `more` are further fields.
    """
    body: Json = {
        "id": id,
        "contextId": context,
        "status": _status(state, says, ts, id, context),
        "artifacts": [a["artifact"] if isinstance(a, Frame) else a for a in artifacts],
        "history": list(history),
    }
    return Frame("task", body | more)


def S(
    state: str,
    says: Says = None,
    ts: str | None = NOW,
    *,
    task: str = "t1",
    context: str = "c1",
    **more: Any,
) -> Frame:
    """A status update event of a task."""
    body: Json = {
        "taskId": task,
        "contextId": context,
        "status": _status(state, says, ts, task, context),
    }
    return Frame("statusUpdate", body | more)


def A(
    id: str,
    says: Says = None,
    append: bool | int | None = None,
    last: bool | int | None = None,
    *,
    task: str = "t1",
    context: str = "c1",
    name: str = "",
    metadata: Json | None = None,
    **more: Any,
) -> Frame:
    """An artifact update event; `append` and `last` may be 0 and 1, or None to leave them out."""
    artifact: Json = {"artifactId": id, "parts": _parts(says)}
    if name:
        artifact["name"] = name
    if metadata is not None:
        artifact["metadata"] = metadata
    body: Json = {"taskId": task, "contextId": context, "artifact": artifact}
    if append is not None:
        body["append"] = bool(append)
    if last is not None:
        body["lastChunk"] = bool(last)
    return Frame("artifactUpdate", body | more)


@dataclass(frozen=True)
class EV:
    """Step: one server-sent event. `x` is a frame, `ERR(…)`, a JSON value, or text sent verbatim.

    `id` and `name` become the event's `id:` and `event:` lines, `newline` ends its lines, and
    `pretty` spreads the JSON over several `data:` lines.
    """

    x: Any
    id: str | None = None
    name: str | None = None
    newline: str = "\n"
    pretty: bool = False


@dataclass(frozen=True)
class ERR:
    """Step: an A2A error, in the way of the binding. `code` is the JSON-RPC code (-32001, …).

    `status` is the HTTP status, by default 200 for JSON-RPC and A2A's own mapping for HTTP+JSON.
    """

    code: int
    message: str = "the agent says no"
    data: Any = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def rpc(self) -> Json:
        """The JSON-RPC error object."""
        details = [self._info()] if self.data is None else self.data
        return {"code": self.code, "message": self.message, "data": details}

    def rest(self) -> tuple[int, Json]:
        """The HTTP status and the google.rpc.Status body."""
        http, grpc, _ = _ERRORS.get(self.code, _UNKNOWN)
        details = [self._info()] if self.data is None else self.data
        error = {"code": http, "status": grpc, "message": self.message, "details": details}
        return self.status or http, {"error": error}

    def _info(self) -> Json:
        reason = _ERRORS.get(self.code, _UNKNOWN).reason
        return {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
        }


_UNKNOWN = ErrorMapping(500, "INTERNAL", "INTERNAL_ERROR")
_ERRORS = {
    code: A2A_ERROR_MAPPING[error]
    for error, code in JSON_RPC_ERROR_CODE_MAP.items()
    if error in A2A_ERROR_MAPPING
}


@dataclass(frozen=True)
class COMMENT:
    """Step: a comment line on the stream."""

    text: str = " ping"


@dataclass(frozen=True)
class WAIT:
    """Step: let `seconds` pass; to wait for something, put an asyncio.Event into the script."""

    seconds: float


class End(Enum):
    """Steps that end an answer."""

    EOF = "a clean end"
    CUT = "closed in the middle: no last chunk"
    RST = "a TCP reset"
    HOLD = "kept open until the client hangs up"


EOF, CUT, RST, HOLD = End.EOF, End.CUT, End.RST, End.HOLD
