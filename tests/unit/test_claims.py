"""What a push claims: the payloads that are known, and what is odd (D3, case P1, case P2)."""

import json
from typing import Any

import pytest

from locum.adapters.web.claims import PushClaim, read_claim
from locum.core.errors import RequestError
from locum.core.lifecycle import A2AState

DONE = {"state": "TASK_STATE_COMPLETED"}


@pytest.mark.parametrize(
    "body,claim",
    [
        ({"task": {"id": "t1", "status": DONE}}, PushClaim("t1", A2AState.COMPLETED)),
        ({"message": {"taskId": "t1", "messageId": "m"}}, PushClaim("t1", None)),
        ({"message": {"messageId": "m"}}, PushClaim("", None)),
        (
            {"statusUpdate": {"taskId": "t1", "status": DONE}},
            PushClaim("t1", A2AState.COMPLETED),
        ),
        (
            {"status_update": {"task_id": "t1", "status": DONE}},
            PushClaim("t1", A2AState.COMPLETED),
        ),
        ({"artifactUpdate": {"taskId": "t1", "artifact": {}}}, PushClaim("t1", None)),
        ({"task": {"id": "t1"}, "statusUpdate": None}, PushClaim("t1", None)),
    ],
    ids=["task", "message", "unnamed", "status", "snake", "artifact", "null"],
)
def test_payloads(body: dict[str, Any], claim: PushClaim) -> None:
    """D3: task, message, statusUpdate and artifactUpdate are taken, by both of ProtoJSON's names."""
    assert read_claim(json.dumps(body).encode()) == claim


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "task", "id": "t1", "status": {"state": "completed"}},
        {"id": "t1", "contextId": "c1", "status": {"state": "completed"}},
        {"kind": "status-update", "taskId": "t1", "final": True, "status": {"state": "completed"}},
    ],
    ids=["task", "unmarked", "update"],
)
def test_bare_payloads_of_0_3(body: dict[str, Any]) -> None:
    """D3, case P1: what A2A 0.3 sent bare is taken, with an anomaly."""
    claim = read_claim(json.dumps(body).encode())
    assert claim == PushClaim("t1", A2AState.COMPLETED, ("push.bare",))


@pytest.mark.parametrize(
    "said,state",
    [
        ("TASK_STATE_INPUT_REQUIRED", A2AState.INPUT_REQUIRED),
        ("input-required", A2AState.INPUT_REQUIRED),
        ("cancelled", A2AState.CANCELED),
        ("TASK_STATE_CANCELLED", A2AState.CANCELED),
        ("TASK_STATE_NEW", None),
        (6, None),
        (None, None),
    ],
)
def test_state_names(said: object, state: A2AState | None) -> None:
    """K2: a state's known aliases are read as meant; another one claims nothing."""
    body = json.dumps({"task": {"id": "t1", "status": {"state": said}}})
    assert read_claim(body.encode()).state is state


def test_unknown_fields_are_passed_over() -> None:
    """D3, case P2: a field that is not known changes nothing."""
    update = {"taskId": "t1", "status": DONE, "final": True, "more": [1, {"x": None}]}
    body = json.dumps({"statusUpdate": update, "kind": "event"}).encode()
    assert read_claim(body) == PushClaim("t1", A2AState.COMPLETED)


@pytest.mark.parametrize(
    "part",
    [
        '{"text": "\\ud800"}',
        '{"text": "\\u0000"}',
        '{"data": ' + "[" * 3000 + "]" * 3000 + "}",
        '{"data": ' + '{"a":' * 1500 + '"[{"' + "}" * 1500 + "}",
        '{"data": NaN}',
    ],
    ids=["surrogate", "nul", "deep list", "deep object", "nan"],
)
def test_a_part_that_cannot_be_read_does_not_silence_the_bell(part: str) -> None:
    """K2, case R8: what is broken in a part that nobody reads here does not stop the push."""
    body = (
        '{"task": {"artifacts": [{"parts": [' + part + "]}],"
        ' "id": "t1", "status": {"state": "TASK_STATE_FAILED"}}}'
    )
    assert read_claim(body.encode()) == PushClaim("t1", A2AState.FAILED)


def test_a_byte_order_mark_is_passed_over() -> None:
    """K1: a byte order mark before the JSON is no reason to refuse it."""
    assert read_claim(b'\xef\xbb\xbf{"task": {"id": "t1"}}') == PushClaim("t1", None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'"task"',
        b"\xff\xfe",
        b'{"task": {}}',
        b'{"task": {"id": 7}}',
        b'{"task": {"id": ""}}',
        b'{"task": []}',
        b'{"statusUpdate": {"status": {}}}',
        b'{"task": {"id": "a"}, "message": {"taskId": "b"}}',
        b'{"kind": "task"}',
        b"[" * 60_000,
        b'{"a":' * 12_000,
    ],
    ids=lambda body: body[:30].decode("latin-1") or "empty",
)
def test_what_claims_nothing_is_refused(body: bytes) -> None:
    """D5: a body that cannot be parsed, or names no task, is refused as unreadable."""
    with pytest.raises(RequestError) as refusal:
        read_claim(body)
    assert refusal.value.code == "push.unreadable"
