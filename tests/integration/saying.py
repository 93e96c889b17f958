"""Handlers of a raw agent that answer with just one result, however odd."""

import json
from typing import Any

from ..agents.frames import Frame
from ..agents.reply import Reply
from ..agents.seen import Seen

__all__ = ["FLAT_TASK", "saying"]


def _stamped(value: Any) -> Any:
    if isinstance(value, Frame):
        return value.stamped()
    if isinstance(value, dict):
        return {name: _stamped(one) for name, one in value.items()}
    return [_stamped(one) for one in value] if isinstance(value, list) else value


def saying(result: Any, *, status: int = 200) -> Any:
    """A handler that answers with just this result, in the binding's envelope or none."""

    async def answer(seen: Seen, reply: Reply) -> None:
        body = _stamped(result)
        if reply.binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": "of another call", "result": body}
        await reply.respond(status, {"content-type": "application/json"}, json.dumps(body))

    return answer


FLAT_TASK = {
    "kind": "task",
    "id": "t1",
    "contextId": "c1",
    "status": {"state": "input-required", "timestamp": "2026-01-02T03:04:05"},
    "artifacts": None,
}
