"""What a push claims: a task id and a state, read out of its body. Nothing else of it is ever used.

A push is a doorbell (D3): the four payloads of A2A 1.0 are known, and what A2A 0.3 sent bare. A
body that is odd elsewhere, in a part nobody reads here, still rings.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from locum.core.errors import RequestError
from locum.core.lifecycle import A2AState

__all__ = ["PushClaim", "read_claim"]

_DEPTH = 100
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')
# ProtoJSON writes the first name and reads both.
_PAYLOADS = {
    "task": "id",
    "message": "task_id",
    "statusUpdate": "task_id",
    "status_update": "task_id",
    "artifactUpdate": "task_id",
    "artifact_update": "task_id",
}
_BARE_KINDS = {
    "task": "id",
    "message": "task_id",
    "status-update": "task_id",
    "artifact-update": "task_id",
}


@dataclass(frozen=True, slots=True)
class PushClaim:
    """What a push says has happened; compared with what GetTask says, never applied (D4)."""

    remote_task_id: str
    """Empty when the body, a message, names no task."""
    state: A2AState | None
    anomalies: tuple[str, ...] = ()


def read_claim(body: bytes) -> PushClaim:
    """The claim of a push body. Raises RequestError `push.unreadable` when there is none in it."""
    document = _decode(body)
    if not isinstance(document, dict):
        raise _unreadable("it is no JSON object")
    named = {name: content for name in _PAYLOADS if isinstance(content := document.get(name), dict)}
    if len(named) > 1:
        raise _unreadable(f"it holds {' and '.join(named)}, and may hold one payload only")
    for name, content in named.items():
        return _claim(content, _PAYLOADS[name], may_be_unnamed=name == "message")
    kind = document.get("kind")
    if isinstance(kind, str) and kind in _BARE_KINDS:
        claim = _claim(document, _BARE_KINDS[kind], may_be_unnamed=kind == "message")
        return PushClaim(claim.remote_task_id, claim.state, ("push.bare",))
    if isinstance(document.get("status"), dict) and isinstance(document.get("id"), str):
        claim = _claim(document, "id", may_be_unnamed=False)
        return PushClaim(claim.remote_task_id, claim.state, ("push.bare",))
    raise _unreadable("it holds no task, message, statusUpdate or artifactUpdate")


def _claim(content: Mapping[str, Any], key: str, *, may_be_unnamed: bool) -> PushClaim:
    names = ("id",) if key == "id" else ("taskId", "task_id")
    task_id = next((content[name] for name in names if content.get(name)), "")
    if not isinstance(task_id, str) or not (task_id or may_be_unnamed):
        raise _unreadable("it names no task")
    status = content.get("status")
    state = status.get("state") if isinstance(status, dict) else None
    return PushClaim(task_id, _state(state))


def _state(value: object) -> A2AState | None:
    """The state by any of the names that agents have for it; None for one that is not known."""
    if not isinstance(value, str):
        return None
    name = value.upper().replace("-", "_").removeprefix("TASK_STATE_")
    name = "CANCELED" if name == "CANCELLED" else name
    return A2AState(name) if name in A2AState.__members__ else None


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        body = _flattened(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # What this reads and msgspec does not: a lone surrogate, a byte order mark, NaN.
        pass
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise _unreadable("it is no JSON") from None


def _flattened(body: bytes) -> bytes:
    """The body without what is nested too deeply to be read; nothing that counts is down there."""
    kept, depth, start = [], 0, 0
    for match in _TOKENS.finditer(body):
        sign = match[0]
        if sign in b"[{":
            depth += 1
            if depth == _DEPTH + 1:
                kept.append(body[start : match.start()])
        elif sign in b"]}":
            if depth == _DEPTH + 1:
                kept.append(b"null")
                start = match.end()
            depth -= 1
    if depth > _DEPTH:
        raise _unreadable("it is no JSON")
    return b"".join((*kept, body[start:]))


def _unreadable(why: str) -> RequestError:
    return RequestError(
        f"This push cannot be read: {why}. Send a StreamResponse (A2A 1.0, section 4.3.3).",
        code="push.unreadable",
    )
