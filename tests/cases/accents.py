"""Accents of A2A: each a way to put frames into bytes, and what locum calls it. No tests."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.agents.frames import Binding, Frame, Json
from tests.agents.reply import Reply
from tests.agents.seen import Seen

__all__ = ["ACCENTS", "Accent", "spoken", "streamed"]

Bend = Callable[[str, Json], Json]
"""Takes a payload's name and the payload; gives what is said in its place, frame and all."""


def _framed(name: str, payload: Json) -> Json:
    return {name: payload}


@dataclass(frozen=True)
class Accent:
    """`stream` are the anomalies that it is noted by on a stream, `whole` those in GetTask's answer.

    None where it cannot be spoken.
    """

    id: str
    stream: tuple[str, ...] | None = ()
    whole: tuple[str, ...] | None = ()
    bend: Bend = _framed
    """What becomes of one frame. Everything else is about all of a body."""
    newline: str = "\n"
    lead: bytes = b""
    many_lines: bool = False
    content_type: str | None = None
    """Instead of the right one; empty for none at all."""

    @property
    def is_of_one_frame(self) -> bool:
        """True when it may be spoken in one event and not in another."""
        return self.bend is not _framed


def streamed(
    accent: Accent, frames: Sequence[Frame], *, only: int | None = None, size: int = 0
) -> Any:
    """A handler that streams the frames and then holds; `only` in that one is the accent spoken.

    With a `size` each packet has so many bytes.
    """

    async def handler(seen: Seen, reply: Reply) -> None:
        body = accent.lead
        for number, frame in enumerate(frames):
            is_bent = only is None or number == only
            payload = dict(frame.stamped())
            value = (accent.bend if is_bent else _framed)(frame.name, payload)
            body += _event(accent, _enveloped(reply.binding, seen, value))
        content_type = accent.content_type
        await reply.sse(
            content_type="text/event-stream" if content_type is None else content_type or None
        )
        if size:
            await reply.drip(body, size=size)
        else:
            await reply.send(body)
        await reply.hold()

    return handler


def spoken(accent: Accent, task: Frame) -> Any:
    """A handler that answers GetTask with the task."""

    async def handler(seen: Seen, reply: Reply) -> None:
        value = accent.bend("", dict(task.stamped()))
        text = _enveloped(reply.binding, seen, value.get("", value))
        body = accent.lead + text.encode()
        headers = {"content-length": str(len(body))}
        content_type = "application/json" if accent.content_type is None else accent.content_type
        content_type = content_type.replace("TEXT/EVENT-STREAM", "APPLICATION/JSON")
        if content_type:
            headers["content-type"] = content_type
        await reply.respond(200, headers, body)

    return handler


def _enveloped(binding: Binding, seen: Seen, value: Any) -> str:
    if binding == "JSONRPC":
        value = {"jsonrpc": "2.0", "id": seen.rpc_id, "result": value}
    return json.dumps(value, ensure_ascii=False)


def _event(accent: Accent, text: str) -> bytes:
    # JSON may be broken where there is a space outside of a text.
    lines = text.replace(', "', ',\n"').split("\n") if accent.many_lines else [text]
    end = accent.newline
    return ("".join(f"data: {line}{end}" for line in lines) + end).encode()


# How single frames are bent


def _flat(name: str, payload: Json) -> Json:
    """As A2A 0.3 sent them: a kind, and `final`, where 1.0 has a frame."""
    kinds = {"task": "task", "statusUpdate": "status-update", "artifactUpdate": "artifact-update"}
    if not name:
        return {"": payload | {"kind": "task"}}
    return payload | {"kind": kinds[name], "final": False}


def _states(spell: Callable[[str], str]) -> Bend:
    def bend(name: str, payload: Json) -> Json:
        status = payload["status"]
        short = status["state"].removeprefix("TASK_STATE_")
        return {name: payload | {"status": status | {"state": spell(short)}}}

    return bend


def _nulls(name: str, payload: Json) -> Json:
    """Nulls where lists belong: a task's, and a message's further down."""
    lists = {} if name == "statusUpdate" else {"history": None}
    status = payload["status"]
    message = status.get("message")
    if message is not None:
        status = status | {"message": message | {"extensions": None}}
    return {name: payload | lists | {"status": status, "metadata": None}}


def _time(name: str, payload: Json) -> Json:
    return {name: payload | {"status": payload["status"] | {"timestamp": "gestern"}}}


def _old_parts(name: str, payload: Json) -> Json:
    """Parts as A2A 0.3 had them, in the status message and in artifacts."""
    text = json.dumps(payload, ensure_ascii=False).replace('{"text":', '{"kind": "text", "text":')
    return {name: json.loads(text)}


def _bare(name: str, payload: Json) -> Json:
    """No frame at all on a stream; one too many in GetTask's answer."""
    return payload if name else {"task": payload}


def _snake(name: str, payload: Json) -> Json:
    text = json.dumps({name: payload}, ensure_ascii=False)
    for camel, snake in (
        ("taskId", "task_id"),
        ("contextId", "context_id"),
        ("statusUpdate", "status_update"),
    ):
        text = text.replace(f'"{camel}"', f'"{snake}"')
    return dict(json.loads(text))


ACCENTS = (
    Accent("flat", ("json.kind_frame",), (), bend=_flat),
    Accent("lower case", ("json.state_alias",), ("json.state_alias",), bend=_states(str.lower)),
    Accent(
        "hyphens",
        ("json.state_alias",),
        ("json.state_alias",),
        bend=_states(lambda state: state.lower().replace("_", "-")),
    ),
    Accent("short", ("json.state_alias",), ("json.state_alias",), bend=_states(str)),
    Accent("nulls", ("json.null_list",), ("json.null_list",), bend=_nulls),
    Accent("no time", ("json.timestamp",), ("json.timestamp",), bend=_time),
    Accent("old parts", (), (), bend=_old_parts),
    Accent("no frame", ("json.no_frame",), ("json.task_wrapper",), bend=_bare),
    Accent("snake case", (), (), bend=_snake),
    Accent("CR", (), None, newline="\r"),
    Accent("CRLF", (), None, newline="\r\n"),
    Accent("mark", ("sse.bom",), ("json.lenient",), lead=b"\xef\xbb\xbf"),
    Accent("many lines", (), None, many_lines=True),
    Accent("no type", ("http.content_type",), (), content_type=""),
    Accent("wrong type", ("http.content_type",), (), content_type="application/octet-stream"),
    Accent("loud type", (), (), content_type="TEXT/EVENT-STREAM; CHARSET=UTF-8"),
)
