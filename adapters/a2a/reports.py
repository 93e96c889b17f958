"""Translate what an agent said, as the SDK read it, into the core's `RemoteReport`. Decides nothing.

Nothing is dropped on the way: a part keeps its media type, file name and metadata, whole numbers in
data stay whole (case R9), and what is odd is named as an anomaly (K2). Whether a report is news is
the core's business, whether it is about the right task `calls`'.
"""

import base64
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeAlias, assert_never

import msgspec
from a2a.types.a2a_pb2 import Artifact as WireArtifact
from a2a.types.a2a_pb2 import (
    Message,
    Role,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.types.a2a_pb2 import Part as WirePart
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part, RemoteReport, parts_text

from .extensions import STATUS_METADATA_KEY
from .wire.shapes import EXACT_KEY

__all__ = [
    "Heard",
    "Payload",
    "heard",
    "json_number",
    "json_value",
    "to_part",
    "to_report",
    "to_time",
    "unwrap",
]

Payload: TypeAlias = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""What an agent can say about its work, as the SDK's own objects."""

_STATES: dict[int, A2AState] = {
    TaskState.TASK_STATE_SUBMITTED: A2AState.SUBMITTED,
    TaskState.TASK_STATE_WORKING: A2AState.WORKING,
    TaskState.TASK_STATE_INPUT_REQUIRED: A2AState.INPUT_REQUIRED,
    TaskState.TASK_STATE_AUTH_REQUIRED: A2AState.AUTH_REQUIRED,
    TaskState.TASK_STATE_COMPLETED: A2AState.COMPLETED,
    TaskState.TASK_STATE_FAILED: A2AState.FAILED,
    TaskState.TASK_STATE_CANCELED: A2AState.CANCELED,
    TaskState.TASK_STATE_REJECTED: A2AState.REJECTED,
}

# Past this a JSON integer no longer fits 64 bits, which is what stores and readers can count on.
_WHOLE_LIMIT = 2.0**63


@dataclass(frozen=True, slots=True)
class Heard:
    """One thing that an agent said: in our own types, and as the SDK's object (G9)."""

    report: RemoteReport
    payload: Payload


def unwrap(response: StreamResponse | SendMessageResponse) -> Payload | None:
    """What is in an answer's envelope; None when it is empty or of a kind that is not known."""
    which = response.WhichOneof("payload")
    return None if which is None else getattr(response, which)


def heard(payload: Payload, anomalies: Iterable[str] = ()) -> Heard:
    """The payload beside its report."""
    return Heard(to_report(payload, anomalies), payload)


def to_report(payload: Payload, anomalies: Iterable[str] = ()) -> RemoteReport:
    """The report of one payload.

    `anomalies` are what the wire had to repair to read it; what is odd about the payload itself is
    added to them, each name once.
    """
    match payload:
        case Task():
            report = _task_report(payload)
        case TaskStatusUpdateEvent():
            report = _status_report(payload)
        case TaskArtifactUpdateEvent():
            report = _artifact_report(payload)
        case Message():
            report = _message_report(payload)
        case _ as never:
            assert_never(never)
    together = tuple(dict.fromkeys((*anomalies, *report.anomalies)))
    if together == report.anomalies:
        return report
    return msgspec.structs.replace(report, anomalies=together)


def _task_report(task: Task) -> RemoteReport:
    ids = [message.message_id for message in task.history]
    ids.append(task.status.message.message_id)
    return RemoteReport(
        kind="task",
        remote_task_id=task.id,
        context_id=task.context_id,
        artifacts=tuple(_to_artifact(artifact) for artifact in task.artifacts),
        sub_state=_sub_state(task.metadata),
        history_ids=tuple(dict.fromkeys(filter(None, ids))),
        last_said=_last_said(task),
        **_status_fields(task.status),
    )


def _last_said(task: Task) -> tuple[Part, ...]:
    """What the agent said last, when it was the last to speak."""
    if not task.history or task.history[-1].role != Role.ROLE_AGENT:
        return ()
    return tuple(to_part(part) for part in task.history[-1].parts)


def _status_report(update: TaskStatusUpdateEvent) -> RemoteReport:
    message_id = update.status.message.message_id
    return RemoteReport(
        kind="status",
        remote_task_id=update.task_id,
        context_id=update.context_id,
        sub_state=_sub_state(update.metadata),
        history_ids=(message_id,) if message_id else (),
        **_status_fields(update.status),
    )


def _artifact_report(update: TaskArtifactUpdateEvent) -> RemoteReport:
    return RemoteReport(
        kind="artifact",
        remote_task_id=update.task_id,
        context_id=update.context_id,
        artifacts=(_to_artifact(update.artifact),),
        append=update.append,
        last_chunk=update.last_chunk,
    )


def _message_report(message: Message) -> RemoteReport:
    parts = tuple(to_part(part) for part in message.parts)
    return RemoteReport(
        kind="message",
        remote_task_id=message.task_id,
        context_id=message.context_id,
        text=parts_text(parts),
        parts=parts,
        message_id=message.message_id,
    )


def _status_fields(status: TaskStatus) -> dict[str, Any]:
    parts = tuple(to_part(part) for part in status.message.parts)
    state = _STATES.get(status.state)
    remote_at = to_time(status.timestamp) if status.HasField("timestamp") else None
    anomalies: list[str] = []
    if state is None:
        anomalies.append("json.state_unknown")
    if remote_at is None and status.HasField("timestamp"):
        anomalies.append("json.timestamp")
    return {
        "state": state,
        "text": parts_text(parts),
        "parts": parts,
        "message_id": status.message.message_id,
        "remote_at": remote_at,
        "anomalies": tuple(anomalies),
    }


def _to_artifact(artifact: WireArtifact) -> Artifact:
    return Artifact(
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        description=artifact.description,
        parts=tuple(to_part(part) for part in artifact.parts),
        metadata=_json_object(artifact.metadata),
    )


def to_part(part: WirePart) -> Part:
    """The part in our own types; raw bytes become base64."""
    about: dict[str, Any] = {"media_type": part.media_type, "filename": part.filename}
    exact = None
    if part.HasField("metadata"):
        about["metadata"] = _json_object(part.metadata)
        exact = about["metadata"].pop(EXACT_KEY, None)
    match part.WhichOneof("content"):
        case "text":
            return Part(text=part.text, **about)
        case "data":
            return Part(data=_exact_data(part.data, exact), **about)
        case "raw":
            return Part(raw=base64.b64encode(part.raw).decode("ascii"), **about)
        case "url":
            return Part(url=part.url, **about)
        case _:
            return Part(**about)


def _exact_data(data: Value, exact: Any) -> Any:
    """The data, from the wire's text beside it where a double loses numbers (case R9)."""
    if isinstance(exact, str):
        try:
            return msgspec.json.decode(exact)
        except (msgspec.DecodeError, RecursionError):
            pass  # No text of the wire's: an agent wrote under its key.
    return json_value(data)


def json_value(value: Value) -> Any:
    """The JSON value of a protobuf one.

    Protobuf holds every number as a double, so a whole one cannot be told from `1.0`: it is read as
    whole. What JSON has no number for is its ProtoJSON name, a text.
    """
    match value.WhichOneof("kind"):
        case "struct_value":
            return _json_object(value.struct_value)
        case "list_value":
            return [json_value(item) for item in value.list_value.values]
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "number_value":
            return json_number(value.number_value)
        case _:
            return None


def _json_object(struct: Struct) -> dict[str, Any]:
    # Sorted, because protobuf's own order differs from process to process.
    return {name: json_value(struct.fields[name]) for name in sorted(struct.fields)}


def json_number(number: float) -> int | float | str:
    """The JSON number that a double stands for: whole if it is (case R9), a text if it is none."""
    if number.is_integer():
        return int(number) if abs(number) < _WHOLE_LIMIT else number
    if math.isfinite(number):
        return number
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def to_time(stamp: Timestamp) -> str | None:
    """RFC 3339, UTC, microseconds, ending in Z, so that times compare as strings.

    None for a time outside the years 1 to 9999.
    """
    try:
        moment = stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _sub_state(metadata: Struct) -> str:
    """The status extension's sub-state (D13), empty when there is none."""
    if STATUS_METADATA_KEY not in metadata.fields:
        return ""
    status = metadata.fields[STATUS_METADATA_KEY]
    if status.WhichOneof("kind") != "struct_value":
        return ""
    # Asking a map for a missing key would put it there, in the SDK's own object.
    fields = status.struct_value.fields
    return fields["sub_state"].string_value if "sub_state" in fields else ""
