"""Tasks, messages and updates in any dress come out as A2A 1.0, and say what was odd."""

from typing import Any

import pytest
from a2a.types.a2a_pb2 import StreamResponse
from a2a.utils.proto_utils import parse_lenient

from .mending import ASSISTANT, STATUS, mended


@pytest.mark.parametrize(
    "flat,name",
    [
        ({"kind": "task", "id": "t", "status": STATUS}, "task"),
        ({"kind": "status-update", "taskId": "t", "status": STATUS, "final": True}, "statusUpdate"),
        (
            {"kind": "artifact-update", "taskId": "t", "artifact": {"artifactId": "a"}},
            "artifactUpdate",
        ),
        ({"kind": "message", "messageId": "m", "role": "ROLE_AGENT", "parts": []}, "message"),
    ],
)
def test_flat_events_are_framed(flat: dict[str, Any], name: str) -> None:
    """K2: events as A2A 0.3 sent them are put into the 1.0 frame."""
    frame, odd = mended(flat)
    assert frame == {name: flat}
    assert odd == ["json.kind_frame"]


@pytest.mark.parametrize(
    "bare,name",
    [
        ({"id": "t", "status": STATUS}, "task"),
        ({"taskId": "t", "status": STATUS}, "statusUpdate"),
        ({"taskId": "t", "artifact": {"artifactId": "a", "parts": []}}, "artifactUpdate"),
        ({"messageId": "m"}, "message"),
        ({"role": "ROLE_AGENT", "parts": [{"text": "x"}]}, "message"),
    ],
)
def test_bare_payloads_are_framed(bare: dict[str, Any], name: str) -> None:
    """K2: a payload without the frame's wrapper is known by its fields."""
    frame, odd = mended(bare)
    assert frame == {name: bare}
    assert odd == ["json.no_frame"]


def test_snake_case_is_read() -> None:
    """K2: the fields' protobuf names are as good as their JSON names."""
    frame, odd = mended({"status_update": {"task_id": "t", "context_id": "c", "status": STATUS}})
    assert frame == {"statusUpdate": {"taskId": "t", "contextId": "c", "status": STATUS}}
    assert not odd


@pytest.mark.parametrize(
    "nothing", [{}, [], 5, "x", None, {"task": "t"}, {"kind": "x"}, {"task": None}]
)
def test_what_has_no_payload_has_none(nothing: Any) -> None:
    """K2: JSON without a payload is none, and nothing is invented for it."""
    assert mended(nothing)[0] is None


def test_of_several_payloads_one_is_kept() -> None:
    """K2: two payloads in one frame would make the SDK drop both."""
    frame, odd = mended({"message": ASSISTANT, "task": {"id": "t", "status": STATUS}})
    assert frame == {"task": {"id": "t", "status": STATUS}}
    assert odd == ["json.many_payloads"]


# States, roles, times, nulls


@pytest.mark.parametrize(
    "said,meant",
    [
        ("completed", "COMPLETED"),
        ("cancelled", "CANCELED"),
        ("canceled", "CANCELED"),
        ("TASK_STATE_CANCELLED", "CANCELED"),
        ("input-required", "INPUT_REQUIRED"),
        ("auth-required", "AUTH_REQUIRED"),
        ("inputRequired", "INPUT_REQUIRED"),
        ("INPUT_REQUIRED", "INPUT_REQUIRED"),
        ("Working", "WORKING"),
        ("task_state_submitted", "SUBMITTED"),
        ("rejected", "REJECTED"),
        ("failed", "FAILED"),
    ],
)
def test_aliases_of_states_are_read_as_meant(said: str, meant: str) -> None:
    """K2: known spellings of a state are that state."""
    frame, odd = mended({"statusUpdate": {"taskId": "t", "status": {"state": said}}})
    assert frame["statusUpdate"]["status"]["state"] == f"TASK_STATE_{meant}"
    assert odd == ["json.state_alias"]


@pytest.mark.parametrize(
    "said", ["unknown", "pondering", "", "TASK_STATE_", None, 9, -1, True, [], {}, 1.5]
)
def test_an_unknown_state_is_unspecified(said: Any) -> None:
    """D14, K2: an unknown state is neither progress nor an end, and no reason to lose the event."""
    frame, odd = mended({"task": {"id": "t", "status": {"state": said}}})
    assert frame["task"]["status"]["state"] == "TASK_STATE_UNSPECIFIED"
    assert odd == ([] if said is None else ["json.state_unknown"])


def test_numbers_of_states_are_states() -> None:
    """K2: ProtoJSON takes an enum's number too, so that is no oddity."""
    frame, odd = mended({"task": {"id": "t", "status": {"state": 3}}})
    assert parse_lenient(frame, StreamResponse()).task.status.state == 3
    assert not odd


@pytest.mark.parametrize(
    "said,meant",
    [
        ("agent", "ROLE_AGENT"),
        ("user", "ROLE_USER"),
        ("assistant", "ROLE_AGENT"),
        (7, "ROLE_AGENT"),
    ],
)
def test_roles_are_read_as_meant(said: Any, meant: str) -> None:
    """K2: roles as A2A 0.3 spelled them."""
    frame, odd = mended({"message": {"messageId": "m", "role": said, "parts": []}})
    assert frame["message"]["role"] == meant
    assert odd == ["json.role_alias"]


@pytest.mark.parametrize(
    "time",
    [
        *("2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "yesterday", "", 1767322245, {}, []),
        *("2026-02-30T00:00:00Z", "2026-01-02T03:04:05+0100", "2026-01-02T03:04:05.1234567891Z"),
    ],
)
def test_an_unreadable_time_is_dropped(time: Any) -> None:
    """K2: an unreadable timestamp is dropped and the event kept."""
    frame, odd = mended({"task": {"id": "t", "status": {**STATUS, "timestamp": time}}})
    assert frame == {"task": {"id": "t", "status": STATUS}}
    assert odd == ["json.timestamp"]


@pytest.mark.parametrize(
    "time",
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+05:30", "2024-02-29T23:59:59-08:00"],
)
def test_a_readable_time_is_kept(time: str) -> None:
    """K2: what protobuf reads as a time is left alone."""
    frame, odd = mended({"task": {"id": "t", "status": {**STATUS, "timestamp": time}}})
    assert frame["task"]["status"]["timestamp"] == time
    assert not odd


def test_nulls_where_lists_belong_are_empty() -> None:
    """K2: null lists are empty, a null in a list is left out, and the rest stays."""
    artifact = {"artifactId": "a", "parts": None, "extensions": None}
    frame, odd = mended(
        {"task": {"id": "t", "status": STATUS, "history": None, "artifacts": [None, artifact]}}
    )
    kept = {"artifactId": "a", "parts": [], "extensions": []}
    assert frame == {"task": {"id": "t", "status": STATUS, "history": [], "artifacts": [kept]}}
    assert sorted(set(odd)) == ["json.null_item", "json.null_list"]


def test_other_nulls_are_no_oddity() -> None:
    """K2: a null for any other field is as good as its absence, for the SDK too."""
    status = {**STATUS, "message": None, "timestamp": None}
    value = {"task": {"id": "t", "contextId": None, "status": status, "metadata": None}}
    assert mended(value)[1] == []


def test_wrong_types_cost_only_their_field() -> None:
    """K2: a field of the wrong type is read as meant, or left out, and the rest stays."""
    frame, odd = mended(
        {
            "task": {
                "id": 7,
                "contextId": ["c"],
                "status": "working",
                "metadata": "none",
                "artifacts": {"artifactId": "a", "name": {}, "parts": {"text": "x"}},
                "history": "h",
            }
        }
    )
    artifact = {"artifactId": "a", "parts": [{"text": "x"}]}
    assert frame == {"task": {"id": "7", "status": STATUS, "artifacts": [artifact], "history": []}}
    assert set(odd) == {"json.wrong_type", "json.state_alias"}


@pytest.mark.parametrize("said,meant", [("true", True), (1, True), (0, False), ("no", False)])
def test_flags_are_read_as_meant(said: Any, meant: bool) -> None:
    """K2: `append` and `lastChunk` that are no booleans."""
    update = {"taskId": "t", "append": said, "lastChunk": None, "artifact": {"artifactId": "a"}}
    frame, odd = mended({"artifactUpdate": update})
    assert frame["artifactUpdate"]["append"] is meant
    assert odd == ["json.wrong_type"]


def test_what_drafts_of_1_0_called_otherwise() -> None:
    """K2: `msg` for a message and `content` for its parts."""
    frame, odd = mended({"msg": {"messageId": "m", "content": [{"text": "hi"}]}})
    assert frame == {"message": {"messageId": "m", "parts": [{"text": "hi"}]}}
    assert odd == ["json.part_legacy"]


def test_texts_where_messages_belong_are_messages() -> None:
    """K2: a status whose message is a bare text says that text."""
    frame, odd = mended({"task": {"id": "t", "status": {**STATUS, "message": "hm"}}})
    assert frame["task"]["status"]["message"]["parts"] == [{"text": "hm"}]
    assert odd == ["json.wrong_type"]


@pytest.mark.parametrize("wrong", [5, [], True])
def test_objects_that_are_none_are_left_out(wrong: Any) -> None:
    """K2: a status, a message or an artifact that is no object costs only itself."""
    frame, odd = mended({"task": {"id": "t", "status": wrong}})
    assert frame == {"task": {"id": "t", "status": None}}
    frame, more = mended({"task": {"id": "t", "status": {**STATUS, "message": wrong}}})
    assert frame == {"task": {"id": "t", "status": STATUS}}
    frame, most = mended({"artifactUpdate": {"taskId": "t", "artifact": wrong}})
    assert frame == {"artifactUpdate": {"taskId": "t"}}
    assert odd + more + most == ["json.wrong_type"] * 3


@pytest.mark.parametrize(
    "said,kept",
    [(["a", 5, None], ["a"]), ("a", ["a"]), (None, []), (5, []), (["\x00"], ["\ufffd"])],
)
def test_lists_of_texts(said: Any, kept: list[str]) -> None:
    """K2: extensions and references that are no list of texts."""
    frame, odd = mended({"message": {**ASSISTANT, "referenceTaskIds": said}})
    assert frame["message"]["referenceTaskIds"] == kept
    assert odd or kept == ["\ufffd"]


def test_names_that_protobuf_stumbles_over_are_left_out() -> None:
    """K2: unknown fields are ignored, whatever they are called."""
    value = {"task": {"id": "t", "[x.y]": 1, "\ud800": 2, "a\x00": 3, "unknown": 4}}
    frame, odd = mended(value)
    assert frame == {"task": {"id": "t", "unknown": 4}}
    assert not odd


def test_texts_with_bad_characters_outside_of_parts() -> None:
    """K2: a name or an id with a NUL or a lone surrogate is read with U+FFFD in its place."""
    artifact = {"artifactId": "a\x00", "name": "\udfff", "parts": []}
    frame, odd = mended({"task": {"id": "t", "artifacts": [artifact, 5]}})
    kept = {"artifactId": "a\ufffd", "name": "\ufffd", "parts": []}
    assert frame == {"task": {"id": "t", "artifacts": [kept]}}
    assert odd == ["json.bad_unicode", "json.bad_unicode", "json.wrong_type"]
