"""Make the messages that go out: a brief, a reply, a follow-up (C3, C12, C14). Sends nothing.

The same arguments always give the same message: a send that is made again after a crash must be
byte for byte the one before (case D4), so nothing here asks a clock or rolls dice.
"""

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from a2a.types.a2a_pb2 import Message, Role
from a2a.types.a2a_pb2 import Part as WirePart
from google.protobuf.struct_pb2 import Struct, Value
from msgspec import UNSET

from locum.core.report import Part

from ..values import found_in, refusal
from .extensions import PARTICIPANT_METADATA_KEY, TASK_EXTENSION, TASK_MEDIA_TYPE

__all__ = ["Envelope", "brief_message", "brief_text", "reply_message", "to_value", "to_wire_part"]

Envelope: TypeAlias = Literal["none", "brief", "full"]
"""Which task envelope goes with a brief: none, the one for other agents, the one for `self`."""

_DEPTH_LIMIT = 32
"""protobuf reads 100 levels of messages, and an object in data takes three of them."""
_INDENT = "\n  "


def brief_message(
    *,
    message_id: str,
    goal: str,
    name: str = "",
    description: str = "",
    acceptance_criteria: Sequence[str] = (),
    parts: Sequence[Part] = (),
    participant_id: str = "",
    envelope: Envelope = "none",
    model: str = "",
    reasoning_effort: str = "",
    parent_tasks: Sequence[str] = (),
    context_id: str = "",
    reference_task_ids: Sequence[str] = (),
) -> Message:
    """The message that hands work over: one text part, the caller's parts, the task envelope (C3).

    `envelope` may be other than `none` only for an agent whose card advertises the task extension;
    `model`, `reasoning_effort` and `parent_tasks` are used by the `full` one. A brief that follows
    a finished task names its `context_id` and, as reference, its id; a brief never has a task id
    (C14). Raises RequestError for a part that cannot be sent.
    """
    message = _message(message_id, participant_id)
    message.context_id = context_id
    message.reference_task_ids.extend(reference_task_ids)
    message.parts.add(text=brief_text(goal, description, acceptance_criteria))
    message.parts.extend(to_wire_part(part) for part in parts)
    if envelope != "none":
        payload: dict[str, Any] = {
            "name": name,
            "goal": goal,
            "description": description,
            "acceptance_criteria": [{"text": text, "met": False} for text in acceptance_criteria],
        }
        if envelope == "full":
            payload |= {
                "lifecycle": "delegated",
                "model": model,
                "reasoning_effort": reasoning_effort,
                "parent_tasks": [{"task_id": task_id} for task_id in parent_tasks],
            }
        data = to_value({"kind": "task", "payload": payload})
        message.parts.add(data=data, media_type=TASK_MEDIA_TYPE)
        message.extensions.append(TASK_EXTENSION)
    return message


def reply_message(
    *,
    message_id: str,
    task_id: str,
    context_id: str = "",
    text: str = "",
    parts: Sequence[Part] = (),
    participant_id: str = "",
) -> Message:
    """The message that answers a parked task (C12): its task id, its context, text and parts.

    Raises RequestError for a part that cannot be sent.
    """
    message = _message(message_id, participant_id)
    message.task_id = task_id
    message.context_id = context_id
    if text or not parts:
        message.parts.add(text=text)
    message.parts.extend(to_wire_part(part) for part in parts)
    return message


def brief_text(goal: str, description: str = "", acceptance_criteria: Sequence[str] = ()) -> str:
    """The brief as an agent reads it: the goal, a blank line, the description, the criteria."""
    blocks = [goal.strip(), description.strip()]
    if acceptance_criteria:
        listed = (_INDENT.join(text.strip().splitlines()) for text in acceptance_criteria)
        blocks.append("\n".join(("Acceptance criteria:", *(f"- {text}" for text in listed))))
    return "\n\n".join(block for block in blocks if block)


def to_wire_part(part: Part) -> WirePart:
    """The part as A2A has it, base64 turned into bytes.

    Raises RequestError when it holds nothing, or something that A2A cannot carry.
    """
    made = WirePart(filename=part.filename, media_type=part.media_type)
    if isinstance(part.text, str):
        made.text = part.text
    elif isinstance(part.raw, str):
        try:
            made.raw = base64.b64decode(part.raw, validate=True)
        except (binascii.Error, ValueError) as error:
            found = f"what is no base64 ({error})"
            raise refusal("raw", found=found, accepted="the bytes, as base64") from error
    elif isinstance(part.url, str):
        made.url = part.url
    elif part.data is not UNSET:
        made.data.CopyFrom(to_value(part.data))
    else:
        accepted = "a part with one of text, data, raw and url"
        raise refusal("text", found="nothing", accepted=accepted)
    if part.metadata:
        made.metadata.CopyFrom(_to_struct(part.metadata, 0, "metadata"))
    return made


def to_value(data: Any) -> Value:
    """The protobuf value of a JSON one.

    Raises RequestError for what would not arrive as it is: no JSON value, nested too deep, or a
    whole number that A2A's data, which has doubles only, would change on the way (case R9).
    """
    return _to_value(data, 0, "data")


def _to_value(data: Any, depth: int, field: str) -> Value:
    if depth > _DEPTH_LIMIT:
        found = f"more than {_DEPTH_LIMIT} levels of nesting"
        raise refusal(field, found=found, accepted="less; or the data as text")
    match data:
        case None:
            return Value(null_value=0)  # type: ignore[arg-type]  # the stub wants the enum's type
        case bool():
            return Value(bool_value=data)
        case int() | float():
            return Value(number_value=_to_double(data, field))
        case str():
            return Value(string_value=data)
        case Mapping():
            return Value(struct_value=_to_struct(data, depth, field))
        case list() | tuple():
            made = Value()
            made.list_value.values.extend(_to_value(item, depth + 1, field) for item in data)
            return made
        case _:
            raise refusal(field, found=found_in(data), accepted="JSON values")


def _to_struct(data: Mapping[str, Any], depth: int, field: str) -> Struct:
    made = Struct()
    for name, value in data.items():
        if not isinstance(name, str):
            raise refusal(field, found=f"{found_in(name)} as a name", accepted="strings as names")
        made.fields[name].CopyFrom(_to_value(value, depth + 1, field))
    return made


def _to_double(number: int | float, field: str) -> float:
    try:
        double = float(number)
    except OverflowError:
        double = math.inf
    if not math.isfinite(double) or double != number:
        raise refusal(
            field,
            found=f"{found_in(number)}, which would not arrive as it is: A2A carries doubles",
            accepted="a number that a double holds; or the number as text",
        )
    return double


def _message(message_id: str, participant_id: str) -> Message:
    message = Message(message_id=message_id, role=Role.ROLE_USER)
    if participant_id:
        message.metadata.fields[PARTICIPANT_METADATA_KEY].string_value = participant_id
    return message
