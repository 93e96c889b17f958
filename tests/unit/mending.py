"""What the tests of mending share: an odd frame in, the mended one and its anomalies out."""

import json
from typing import Any

from a2a.types.a2a_pb2 import StreamResponse
from a2a.utils.proto_utils import parse_lenient

from locum.adapters.a2a.wire.anomalies import ANOMALIES
from locum.adapters.a2a.wire.repair import mend_frame

__all__ = ["ASSISTANT", "STATUS", "mended", "nested", "parts_of"]

STATUS = {"state": "TASK_STATE_WORKING"}
ASSISTANT = {"messageId": "m", "role": "ROLE_AGENT"}


def mended(value: Any) -> tuple[Any, list[str]]:
    """The frame and its anomalies; the SDK must be able to read it, and every name is known."""
    odd: list[str] = []
    frame = mend_frame(value, odd)
    if frame is not None:
        parse_lenient(json.loads(json.dumps(frame)), StreamResponse())
    assert set(odd) <= set(ANOMALIES)
    return frame, odd


def parts_of(*parts: Any) -> tuple[list[Any], list[str]]:
    """The parts as they come out of a message, and the anomalies."""
    frame, odd = mended({"message": {**ASSISTANT, "parts": list(parts)}})
    return frame["message"]["parts"], odd


def nested(depth: int) -> Any:
    """Data of that depth."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value
