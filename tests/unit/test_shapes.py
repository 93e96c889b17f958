"""JSON is read leniently and measured, and what is in order is known without mending."""

import json
from typing import Any

import pytest

from locum.adapters.a2a.wire.json_text import NotJsonError, as_line, read_json
from locum.adapters.a2a.wire.shapes import EXACT_KEY, look
from locum.adapters.json_measure import DEPTH_LIMIT, depth_of

from .mending import ASSISTANT, STATUS, nested


@pytest.mark.parametrize(
    "raw,value,anomalies",
    [
        (b'{"a":"\\ud800"}', {"a": "\ud800"}, []),
        (
            b'{"a":NaN,"b":1e999,"c":-Infinity}',
            {"a": "NaN", "b": "1e999", "c": "-Infinity"},
            ["json.number"],
        ),
        (b'{"a":"x\x01\ny"}', {"a": "x\x01\ny"}, ["json.lenient"]),
        (b'{"a":"\xff"}', {"a": "\ufffd"}, ["json.bad_utf8"]),
        (b"\xef\xbb\xbf{}", {}, ["json.lenient"]),
        (b'{"a":1,"a":2}', {"a": 2}, []),
    ],
)
def test_json_is_read_leniently(raw: bytes, value: Any, anomalies: list[str]) -> None:
    """K2, case R8: JSON that breaks the grammar in a harmless way is read, and named."""
    assert read_json(raw) == (value, anomalies)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"nope", b'{"a":1,}', b"[" * 100_000, b'{"a":' * 100_000]
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    """K2: and never with another exception, however deep it goes."""
    with pytest.raises(NotJsonError):
        read_json(raw)


def test_depth_is_measured_outside_of_texts() -> None:
    """K2, case R8: brackets in texts are no depth, whatever is escaped around them."""
    assert depth_of(json.dumps(nested(200)).encode()) == 200
    tricky = json.dumps(['\\"[[[', '{"\\', "[" * 300] * 20).encode()
    assert depth_of(tricky) <= DEPTH_LIMIT


def test_a_line_is_one_line_to_every_reader() -> None:
    """K1: what httpx would split at is escaped, or was white space."""
    text = "a\u2028b\u2029c\u0085d"
    raw = json.dumps({"t": text}, ensure_ascii=False, indent=1).encode()
    line = as_line(raw)
    assert line.decode().splitlines() == [line.decode()]
    assert json.loads(line) == {"t": text}


# The fast path


def rpc(result: Any) -> bytes:
    """The result in its envelope."""
    return json.dumps({"jsonrpc": "2.0", "id": "1", "result": result}).encode()


GOOD = {
    "task": {
        "id": "t",
        "contextId": "c",
        "status": {**STATUS, "timestamp": "2026-01-02T03:04:05Z"},
        "artifacts": [
            {"artifactId": "a", "parts": [{"text": "x"}, {"data": {"a": 1}}, {"raw": "aGk="}]}
        ],
        "history": [{**ASSISTANT, "parts": [{"url": "u", "mediaType": "m"}], "metadata": {"a": 1}}],
    }
}


def test_the_fast_path_takes_what_is_in_order() -> None:
    """K2: an event that needs no mending is known without looking twice."""
    seen = look(rpc(GOOD), "SubscribeToTask", rpc=True)
    assert seen is not None
    assert (seen.payload, seen.state, seen.is_last) == ("task", "TASK_STATE_WORKING", False)
    assert look(json.dumps(GOOD["task"]).encode(), "GetTask", rpc=False) is not None
    assert (
        look(rpc({"tasks": [GOOD["task"]], "nextPageToken": ""}), "ListTasks", rpc=True) is not None
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"task": GOOD["task"], "message": ASSISTANT},
        {"task": {**GOOD["task"], "artifacts": None}},
        {"task": {**GOOD["task"], "metadata": []}},
        {"task": {**GOOD["task"], "status": {"state": "completed"}}},
        {"task": {**GOOD["task"], "status": {**STATUS, "timestamp": "2026-02-30T00:00:00Z"}}},
        *(
            {"message": {**ASSISTANT, "parts": [part]}}
            for part in (
                {},
                {"text": "a", "data": None},
                {"text": "a\x00"},
                {"raw": "?"},
                {"data": 12345678901234567890},
                {"data": nested(60)},
                {"text": "a", "metadata": {EXACT_KEY: "1"}},
                {"text": "a", "[x]": 1},
            )
        ),
    ],
)
def test_the_fast_path_leaves_the_rest_alone(odd: Any) -> None:
    """K2: whatever is not clearly in order is looked at with patience."""
    assert look(rpc(odd), "SubscribeToTask", rpc=True) is None


def test_the_fast_path_sees_bad_bytes() -> None:
    """K1: bytes that are no UTF-8 are noticed, in data and in unknown fields too."""
    for where in (b'{"data":"\xff"}', b'{"text":"a","unknown":"\xff"}'):
        message = b'{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[' + where + b"]}}"
        assert look(message, "SubscribeToTask", rpc=False) is None
