"""Mending A2A objects: 0.3 frames, aliases, nulls, times, wrappers (K2). Decoded JSON in and out.

Never invents anything: what is not understood is left as it is or left out, and an unknown state
is unspecified, which is neither progress nor an end (D14). Every function appends what it met to
`odd`, a list of anomaly names.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from .parts import mend_metadata, mend_parts, mend_text, plain_text
from .shapes import is_time

__all__ = [
    "Json",
    "mend_artifact",
    "mend_frame",
    "mend_message",
    "mend_task",
    "payload_of",
    "with_known_names",
]

Json = dict[str, Any]

_STATES: Final[dict[str, str]] = {
    **{
        state.replace("_", "").lower(): f"TASK_STATE_{state}"
        for state in (
            *("UNSPECIFIED", "SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED"),
            *("INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"),
        )
    },
    "cancelled": "TASK_STATE_CANCELED",
}
_UNSPECIFIED: Final = "TASK_STATE_UNSPECIFIED"
_STATE_COUNT: Final = 9
_ROLES: Final = {"user": "ROLE_USER", "agent": "ROLE_AGENT", "unspecified": "ROLE_UNSPECIFIED"}
_ROLE_COUNT: Final = 3
_NO_LETTERS: Final = re.compile("[^a-z]")
# Names that protobuf takes for an extension's, or that make it fail in an uncouth way.
_UNUSABLE_NAME: Final = re.compile("\\[[a-zA-Z0-9._]*\\]|.*?[\x00\ud800-\udfff]", re.DOTALL)

_KINDS: Final = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
_PAYLOADS: Final = ("task", "statusUpdate", "artifactUpdate", "message")
_CAMEL: Final = {
    "artifact_id": "artifactId",
    "artifact_update": "artifactUpdate",
    "context_id": "contextId",
    "last_chunk": "lastChunk",
    "message_id": "messageId",
    "reference_task_ids": "referenceTaskIds",
    "status_update": "statusUpdate",
    "task_id": "taskId",
}


def mend_frame(value: Any, odd: list[str]) -> Json | None:
    """A StreamResponse with one payload, mended; None when there is none in it."""
    if not isinstance(value, dict):
        return None
    name, payload = payload_of(value, odd)
    if name is None:
        return None
    return {name: _MENDERS[name](payload, odd)}


def payload_of(value: Json, odd: list[str]) -> tuple[str | None, Json]:
    """The payload's name in the frame, and the payload, found in whatever frame it stands in."""
    value = with_known_names(value)
    if "msg" in value and "message" not in value:
        value["message"] = value.pop("msg")
    framed = [name for name in _PAYLOADS if isinstance(value.get(name), dict)]
    # A bare update has `status` and `artifact`, never one of these; a status has its `message`.
    if framed and not ("status" in value or "artifact" in value):
        if len(framed) > 1:
            odd.append("json.many_payloads")
        return framed[0], value[framed[0]]
    kind = value.get("kind")
    if isinstance(kind, str) and kind in _KINDS:
        odd.append("json.kind_frame")
        return _KINDS[kind], value
    bare = _shape(value)
    if bare is not None:
        odd.append("json.no_frame")
    return bare, value


def _shape(value: Json) -> str | None:
    if "artifact" in value:
        return "artifactUpdate"
    if "status" in value:
        return "task" if "id" in value else "statusUpdate" if "taskId" in value else None
    if "messageId" in value or ("role" in value and "parts" in value):
        return "message"
    return None


def mend_task(value: Json, odd: list[str]) -> Json:
    """A Task."""
    task = with_known_names(value)
    _texts(task, ("id", "contextId"), odd)
    if "status" in task:
        task["status"] = _mend_status(task["status"], odd)
    _objects(task, "artifacts", mend_artifact, odd)
    _objects(task, "history", mend_message, odd)
    mend_metadata(task, odd)
    return task


def mend_message(value: Json, odd: list[str]) -> Json:
    """A Message."""
    message = with_known_names(value)
    if "parts" not in message and isinstance(message.get("content"), list):
        # As the drafts of 1.0 spelled it.
        odd.append("json.part_legacy")
        message["parts"] = message.pop("content")
    _texts(message, ("messageId", "contextId", "taskId"), odd)
    _role(message, odd)
    if "parts" in message:
        message["parts"] = mend_parts(message["parts"], odd)
    _text_list(message, "extensions", odd)
    _text_list(message, "referenceTaskIds", odd)
    mend_metadata(message, odd)
    return message


def mend_artifact(value: Json, odd: list[str]) -> Json:
    """An Artifact."""
    artifact = with_known_names(value)
    _texts(artifact, ("artifactId", "name", "description"), odd)
    if "parts" in artifact:
        artifact["parts"] = mend_parts(artifact["parts"], odd)
    _text_list(artifact, "extensions", odd)
    mend_metadata(artifact, odd)
    return artifact


def _mend_status_update(value: Json, odd: list[str]) -> Json:
    update = with_known_names(value)
    _texts(update, ("taskId", "contextId"), odd)
    if "status" in update:
        update["status"] = _mend_status(update["status"], odd)
    mend_metadata(update, odd)
    return update


def _mend_artifact_update(value: Json, odd: list[str]) -> Json:
    update = with_known_names(value)
    _texts(update, ("taskId", "contextId"), odd)
    artifact = update.get("artifact")
    if isinstance(artifact, dict):
        update["artifact"] = mend_artifact(artifact, odd)
    elif update.pop("artifact", None) is not None:
        odd.append("json.wrong_type")
    for name in ("append", "lastChunk"):
        if not isinstance(update.get(name), bool | None):
            odd.append("json.wrong_type")
            update[name] = update[name] in (1, "true", "True", "1")
    mend_metadata(update, odd)
    return update


def _mend_status(value: Any, odd: list[str]) -> Json | None:
    if isinstance(value, str):
        odd.append("json.wrong_type")
        value = {"state": value}
    if not isinstance(value, dict):
        if value is not None:
            odd.append("json.wrong_type")
        return None
    status = with_known_names(value)
    if "state" in status:
        status["state"] = _state(status["state"], odd)
    message = status.get("message")
    if isinstance(message, str):
        odd.append("json.wrong_type")
        message = {"messageId": "", "role": "ROLE_AGENT", "parts": [{"text": message}]}
    if isinstance(message, dict):
        status["message"] = mend_message(message, odd)
    elif status.pop("message", None) is not None:
        odd.append("json.wrong_type")
    time = status.get("timestamp")
    if time is not None and not (isinstance(time, str) and is_time(time)):
        odd.append("json.timestamp")
        del status["timestamp"]
    return status


_MENDERS: Final[dict[str, Callable[[Json, list[str]], Json]]] = {
    "task": mend_task,
    "message": mend_message,
    "statusUpdate": _mend_status_update,
    "artifactUpdate": _mend_artifact_update,
}


def _state(value: Any, odd: list[str]) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _STATE_COUNT:
        return value  # ProtoJSON takes an enum's number too.
    if isinstance(value, str):
        letters = _NO_LETTERS.sub("", value.lower()).removeprefix("taskstate")
        meant = _STATES.get(letters)
        if meant is not None:
            if meant != value:
                odd.append("json.state_alias")
            return meant
    if value is not None:
        odd.append("json.state_unknown")
    return _UNSPECIFIED


def _role(message: Json, odd: list[str]) -> None:
    role = message.get("role")
    if role is None:
        return
    if isinstance(role, int) and not isinstance(role, bool) and 0 <= role < _ROLE_COUNT:
        return
    letters = _NO_LETTERS.sub("", role.lower()).removeprefix("role") if type(role) is str else ""
    # Who answers is the agent, whatever it calls itself.
    meant = _ROLES.get(letters, "ROLE_AGENT")
    if meant != role:
        odd.append("json.role_alias")
        message["role"] = meant


def _texts(holder: Json, names: tuple[str, ...], odd: list[str]) -> None:
    for name in names:
        if name in holder:
            text = mend_text(holder[name], odd)
            if text is None:
                del holder[name]
            else:
                holder[name] = text


def _text_list(holder: Json, name: str, odd: list[str]) -> None:
    if name not in holder:
        return
    value = holder[name]
    if value is None:
        odd.append("json.null_list")
        value = []
    elif not isinstance(value, list):
        odd.append("json.wrong_type")
        value = [value]
    if not all(isinstance(item, str) for item in value):
        odd.append("json.wrong_type")
    holder[name] = [plain_text(item) for item in value if isinstance(item, str)]


def _objects(
    holder: Json, name: str, mend: Callable[[Json, list[str]], Json], odd: list[str]
) -> None:
    if name not in holder:
        return
    value = holder[name]
    if value is None:
        odd.append("json.null_list")
        value = []
    elif isinstance(value, dict):
        odd.append("json.wrong_type")
        value = [value]
    elif not isinstance(value, list):
        odd.append("json.wrong_type")
        value = []
    mended = []
    for item in value:
        if isinstance(item, dict):
            mended.append(mend(item, odd))
        else:
            odd.append("json.null_item" if item is None else "json.wrong_type")
    holder[name] = mended


def with_known_names(value: Json) -> Json:
    """A copy whose names are 1.0's, in camel case; names that protobuf stumbles over are left out."""
    return {
        _CAMEL.get(name, name): item
        for name, item in value.items()
        if not _UNUSABLE_NAME.match(name)
    }
