"""Whatever bytes an agent says, the wire gives the SDK clean events or one typed error.

`LOCUM_FUZZ_EXAMPLES=20000` looks much longer; `make fuzz` does so from fresh seeds.
"""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import (
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.proto_utils import parse_lenient
from hypothesis import given, settings
from hypothesis import strategies as st

from locum.adapters.a2a.wire.anomalies import ANOMALIES
from locum.adapters.a2a.wire.answers import NoResultError, error_in, mend_answer, result_in
from locum.adapters.a2a.wire.asked import Asked, rest_url
from locum.adapters.a2a.wire.faults import WireError, error_for
from locum.adapters.a2a.wire.framer import Framer
from locum.adapters.a2a.wire.json_text import NotJsonError, dumped, read_json
from locum.adapters.a2a.wire.notes import CallNotes, WireLimits
from locum.adapters.a2a.wire.shapes import look
from locum.adapters.a2a.wire.sse import Kind

EXAMPLES = int(os.environ.get("LOCUM_FUZZ_EXAMPLES") or settings().max_examples)
fuzzed = settings(max_examples=EXAMPLES)
pytestmark = pytest.mark.timeout(max(120, EXAMPLES))

LIMITS = WireLimits(event_limit=64 << 10, error_limit=4 << 10)
TERMINAL = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")


def asked(*, rpc: bool) -> Asked:
    """What is asked, in either binding."""
    body = (
        b'{"method":"SubscribeToTask","params":{"id":"t"},"id":"1","jsonrpc":"2.0"}' if rpc else b""
    )
    return Asked(httpx.Request("POST", "http://h/tasks/t:subscribe", content=body), body)


# What agents say: lawful, nearly lawful, and anything at all

texts = st.text(max_size=20)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
json_values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
STATES = ["WORKING", "SUBMITTED", "INPUT_REQUIRED", *TERMINAL]
spelled_states = st.sampled_from(
    [f"TASK_STATE_{state}" for state in STATES]
    + [state.lower().replace("_", "-") for state in STATES]
    + ["cancelled", "TASK_STATE_CANCELLED", "unknown", ""]
)
NAMES = [
    *("id", "taskId", "task_id", "contextId", "status", "state", "message"),
    *("messageId", "role", "parts", "text", "raw", "url", "data"),
    *("file", "bytes", "uri", "kind", "type", "metadata", "mediaType"),
    *("filename", "artifact", "artifactId", "artifacts", "history", "append", "lastChunk"),
    *("timestamp", "task", "statusUpdate", "artifactUpdate", "status_update", "result", "error"),
    *("code", "jsonrpc", "extensions", "referenceTaskIds", "tasks", "nextPageToken", "configs"),
    *(
        "pushNotificationConfig",
        "authentication",
        "schemes",
        "[x.y]",
        "root",
        "final",
        "locum/exact-data",
    ),
]
words = st.sampled_from(
    [
        "t1",
        "agent",
        "ROLE_AGENT",
        "status-update",
        "artifact-update",
        "message",
        "task",
        "2026-01-02T03:04:05Z",
    ]
)
# JSON that has A2A's names in all the wrong places.
nearly = st.recursive(
    leaves | words | spelled_states,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=25,
)
parts = st.one_of(
    st.builds(lambda text: {"text": text}, texts),
    st.builds(lambda data: {"data": data}, json_values),
    st.builds(lambda raw: {"raw": raw}, st.sampled_from(["", "aGk=", "aGk", "?"])),
    st.builds(lambda text: {"kind": "text", "text": text, "metadata": None}, texts),
)
some_parts = st.lists(parts, max_size=3)


def _message(said: list[Any]) -> dict[str, Any]:
    return {"messageId": "m", "role": "ROLE_AGENT", "parts": said}


statuses = st.builds(
    lambda state, said: {
        "state": state,
        "message": _message(said),
        "timestamp": "2026-01-02T03:04:05Z",
    },
    spelled_states,
    some_parts,
)
updates = st.one_of(
    st.builds(
        lambda status: {"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}},
        statuses,
    ),
    st.builds(
        lambda said: {
            "artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": said}}
        },
        some_parts,
    ),
    st.builds(lambda status: {"task": {"id": "t", "status": status, "artifacts": []}}, statuses),
    st.builds(
        lambda status: {"kind": "status-update", "taskId": "t", "status": status, "final": False},
        statuses,
    ),
)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
noise = st.sampled_from(
    [": ping", ":", "id: 7", "retry: 10", "data:", "data: ", "unknown: x", "event: message"]
)


@st.composite
def streams(draw: st.DrawFn, *, rpc: bool) -> tuple[bytes, int]:
    """The bytes of a stream, and how many of its events have a payload.

    An error may end it, behind all of them.
    """
    lines: list[str] = []
    count = draw(st.integers(0, 5))
    for update in draw(st.lists(updates, min_size=count, max_size=count)):
        body = {"jsonrpc": "2.0", "id": "1", "result": update} if rpc else update
        ascii_only = draw(st.booleans())
        text = json.dumps(body, ensure_ascii=ascii_only, indent=draw(st.sampled_from([None, 1])))
        lines += [f"data: {line}" for line in text.split("\n")] + [""]
        lines += [*draw(st.lists(noise, max_size=2)), ""]
    if draw(st.booleans()):
        error = {"code": -32001, "message": draw(texts)}
        lines += [f"data: {json.dumps({'error': error})}", ""]
    text = ""
    for line in lines:
        end = draw(line_ends)
        # An LF behind a CR would end the same line, and no empty one.
        text += line + ("\r" if not line and text.endswith("\r") and end == "\n" else end)
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return bom + text.encode("utf-8", "surrogatepass"), count


def framed(
    data: bytes, cuts: list[int], *, rpc: bool, declared: Kind = "sse"
) -> tuple[bytes, CallNotes, bool]:
    """What the SDK is given for a body that comes in these pieces; whether the wire refused it."""
    notes = CallNotes("SubscribeToTask", streaming=True)
    framer = Framer(notes, asked(rpc=rpc), declared, LIMITS)
    out: list[bytes] = []
    refused = False
    ends = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    try:
        start = 0
        for end in ends:
            if not framer.over and end > start:
                out += framer.feed(data[start:end])
            start = end
        if not framer.over:
            out += framer.finish()
    except httpx.TransportError as fault:
        code = error_for(fault, notes).code
        refused = isinstance(fault, WireError) and code in ("remote.malformed", "remote.too_large")
        if not refused and (notes.error is None or code == "remote.reset"):
            raise
    assert set(notes.anomalies) <= set(ANOMALIES)
    return b"".join(out), notes, refused


def heard(frames: bytes, *, rpc: bool) -> Iterator[StreamResponse]:
    """The frames as the SDK reads them: httpx's lines, its JSON, its protobuf."""
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=frames)
    for line in response.iter_lines():
        if line:
            assert line.startswith("data: {")
            text = line.removeprefix("data: ")
            result = json.loads(text)["result"] if rpc else text
            yield parse_lenient(result, StreamResponse())


def check(data: bytes, cuts: list[int], *, rpc: bool, declared: Kind = "sse") -> list[bytes]:
    """The payloads that the SDK reads of this body, having looked at all that must hold."""
    frames, notes, _ = framed(data, cuts, rpc=rpc, declared=declared)
    payloads = list(heard(frames, rpc=rpc))
    assert notes.events == len(payloads)
    assert all(one.WhichOneof("payload") for one in payloads)
    return [one.SerializeToString(deterministic=True) for one in payloads]


cuts = st.lists(st.integers(0, 2000), max_size=12)


@fuzzed
@given(st.booleans().flatmap(lambda rpc: st.tuples(st.just(rpc), streams(rpc=rpc))), cuts)
def test_how_a_stream_is_cut_does_not_matter(
    chosen: tuple[bool, tuple[bytes, int]], cuts: list[int]
) -> None:
    """K1: any pieces of one stream give the same events, and none of them is lost."""
    rpc, (data, count) = chosen
    whole = check(data, [], rpc=rpc)
    assert check(data, cuts, rpc=rpc) == whole
    assert len(whole) <= count
    _, notes, refused = framed(data, [], rpc=rpc)
    assert not refused
    assert notes.ended or len(whole) == count
    assert not (notes.ended and notes.error)


@fuzzed
@given(
    st.booleans().flatmap(lambda rpc: st.tuples(st.just(rpc), streams(rpc=rpc))),
    st.integers(0, 4000),
    cuts,
)
def test_a_truncated_stream_is_a_beginning(
    chosen: tuple[bool, tuple[bytes, int]], end: int, cuts: list[int]
) -> None:
    """K1, case S13: what is left of a cut stream is the beginning of what the whole would have
    been.
    """
    rpc, (data, _) = chosen
    whole = check(data, [], rpc=rpc)
    kept = check(data[:end], cuts, rpc=rpc)
    assert kept == whole[: len(kept)]


@st.composite
def mutations(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some of them changed, left out, doubled or put in."""
    body = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(body)))
        match draw(st.integers(0, 3)):
            case 0:
                body[at : at + 1] = draw(st.binary(min_size=1, max_size=3))
            case 1:
                del body[at : at + draw(st.integers(1, 30))]
            case 2:
                body[at:at] = body[max(0, at - 40) : at]
            case _:
                body[at:at] = draw(
                    st.sampled_from(
                        [b"\n\n", b"\r", b"null", b"{", b"]", b'"', b"\\ud800", b"1e999"]
                    )
                )
    return bytes(body)


@fuzzed
@given(
    st.booleans().flatmap(
        lambda rpc: st.tuples(
            st.just(rpc), streams(rpc=rpc).flatmap(lambda made: mutations(made[0]))
        )
    ),
    cuts,
    st.sampled_from(["sse", "json", "words"]),
)
def test_a_mutated_stream_breaks_nothing(
    chosen: tuple[bool, bytes], cuts: list[int], declared: Kind
) -> None:
    """K1, K2: bytes that went wrong give clean events or one typed error, never anything else."""
    rpc, data = chosen
    check(data, cuts, rpc=rpc, declared=declared)


@fuzzed
@given(st.binary(max_size=300), cuts, st.booleans(), st.sampled_from(["sse", "json", "words"]))
def test_any_bytes_at_all(data: bytes, cuts: list[int], rpc: bool, declared: Kind) -> None:
    """K1, K4: the same for bytes that never were a stream."""
    check(data, cuts, rpc=rpc, declared=declared)


@fuzzed
@given(nearly | json_values, st.booleans())
def test_any_json_as_an_event(value: Any, rpc: bool) -> None:
    """K2: whatever JSON an event holds, what comes out of it can be read by the SDK."""
    body = {"jsonrpc": "2.0", "result": value} if rpc else value
    text = json.dumps(body)
    check(f"data: {text}\n\n".encode(), [], rpc=rpc)


ANSWERS: dict[str, Callable[[], Any]] = {
    "SendMessage": SendMessageResponse,
    "GetTask": Task,
    "CancelTask": Task,
    "ListTasks": ListTasksResponse,
    "CreateTaskPushNotificationConfig": TaskPushNotificationConfig,
    "ListTaskPushNotificationConfigs": ListTaskPushNotificationConfigsResponse,
}


@fuzzed
@given(st.sampled_from(sorted(ANSWERS)), nearly | json_values, st.booleans())
def test_any_json_as_an_answer(method: str, value: Any, rpc: bool) -> None:
    """K2: whatever JSON a call is answered with, it is mended, refused, or already in order."""
    raw = json.dumps({"jsonrpc": "2.0", "result": value} if rpc else value).encode()
    if look(raw, method, rpc=rpc) is not None:
        parse_lenient(json.loads(raw)["result"] if rpc else json.loads(raw), ANSWERS[method]())
    odd: list[str] = []
    read, odd = read_json(raw)
    if error_in(read, failed=False, rpc=rpc) is not None:
        return
    try:
        result = mend_answer(method, result_in(read, rpc=rpc, odd=odd), {}, odd)
    except NoResultError:
        return
    parse_lenient(json.loads(dumped(result)), ANSWERS[method]())
    assert set(odd) <= set(ANOMALIES)


@fuzzed
@given(nearly | json_values, st.integers(100, 599), st.booleans())
def test_any_json_as_an_error(value: Any, status: int, rpc: bool) -> None:
    """K4: whatever an agent says with an error's status becomes one typed error."""
    notes = CallNotes("SendMessage", agent_id="a")
    notes.status = status
    read, _ = read_json(json.dumps(value).encode())
    error = error_in(read, failed=True, rpc=rpc)
    notes.error = None if error is None else asked(rpc=rpc).without_secrets(error)
    typed = error_for(RuntimeError("x"), notes)
    assert json.loads(json.dumps(typed.detail)) == typed.detail or "NaN" in json.dumps(typed.detail)


@fuzzed
@given(st.binary(max_size=200))
def test_any_bytes_as_json(data: bytes) -> None:
    """K2: reading JSON leniently ends in a value that can be written again, or in one error."""
    try:
        value, anomalies = read_json(data)
    except NotJsonError:
        return
    assert json.loads(dumped(value)) == value
    assert set(anomalies) <= set(ANOMALIES)


@fuzzed
@given(
    st.text(min_size=1, max_size=30),
    st.sampled_from(["", ":cancel", ":subscribe", "/pushNotificationConfigs"]),
)
def test_any_task_id_in_a_url(task_id: str, tail: str) -> None:
    """K3: an id is one segment of the path, whatever is in it, and comes out as it went in."""
    notes = CallNotes("GetTask", task_id=task_id)
    url = httpx.URL(rest_url(f"https://h:1/base/tenant/tasks/{task_id}{tail}", notes))
    path = url.raw_path.decode()
    assert path.startswith("/base/tenant/tasks/")
    assert path.endswith(tail)
    segment = path.removeprefix("/base/tenant/tasks/").removesuffix(tail)
    assert "/" not in segment
    assert "?" not in segment
    decoded = httpx.URL(f"https://h/{segment}").path.removeprefix("/")
    spelled = task_id.encode("utf-8", "replace").decode()
    assert decoded == spelled or spelled in (".", "..")
