"""What an agent said, translated: nothing lost, nothing made up."""

import base64
import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    Message,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp
from msgspec import UNSET

from locum.adapters.a2a.extensions import STATUS_METADATA_KEY
from locum.adapters.a2a.reports import heard, json_value, to_report, to_time, unwrap
from locum.core.lifecycle import A2AState
from locum.core.report import RemoteReport
from tests.agents.frames import (
    A,
    Frame,
    M,
    S,
    T,
    data_part,
    file_part,
    text_part,
    url_part,
)


def report_of(frame: Frame, anomalies: tuple[str, ...] = ()) -> RemoteReport:
    """The report of a frame, read as the SDK reads it."""
    response = ParseDict(frame.wrapped(), StreamResponse(), ignore_unknown_fields=True)
    payload = unwrap(response)
    assert payload is not None
    return to_report(payload, anomalies)


def value_of(text: str) -> Any:
    """The JSON text after its way through protobuf."""
    return json_value(ParseDict(json.loads(text), Value()))


@pytest.mark.parametrize("state", list(A2AState))
def test_every_state_of_a2a_is_read(state: A2AState) -> None:
    """D14: each A2A state is known by its short name, in a task and in an update."""
    assert report_of(T(state)).state is state
    assert report_of(S(state)).state is state


@pytest.mark.parametrize("state", ["TASK_STATE_DREAMING", 77, "TASK_STATE_UNSPECIFIED"])
def test_an_unknown_state_is_no_state(state: Any) -> None:
    """D14: an unknown state is neither progress nor an end; it is named as an anomaly."""
    frame = T("WORKING")
    frame["status"]["state"] = state
    report = report_of(frame)
    assert report.state is None
    assert report.anomalies == ("json.state_unknown",)


def test_a_task_is_reported_whole() -> None:
    """D12: a snapshot's ids, state, words, artifacts and history arrive."""
    report = report_of(
        T(
            "INPUT_REQUIRED",
            [text_part("Which "), text_part("hall?"), data_part({"halls": [1, 2]})],
            ts="2026-01-01T00:00:00Z",
            artifacts=[A("a", "one"), A("b", [text_part("two"), text_part("three")], name="B")],
            history=[M("hello", id="m1"), M("hi", id="m2"), M("hello", id="m1")],
        )
    )
    assert (report.kind, report.remote_task_id, report.context_id) == ("task", "t1", "c1")
    assert report.state is A2AState.INPUT_REQUIRED
    assert report.text == "Which hall?"
    assert [part.text for part in report.parts[:2]] == ["Which ", "hall?"]
    assert report.parts[2].data == {"halls": [1, 2]}
    assert [(a.artifact_id, a.name, len(a.parts)) for a in report.artifacts] == [
        ("a", "", 1),
        ("b", "B", 2),
    ]
    assert report.remote_at == "2026-01-01T00:00:00.000000Z"
    assert report.history_ids == ("m1", "m2", report.message_id)
    assert report.message_id
    assert report.anomalies == ()


def test_a_status_update_is_reported() -> None:
    """C4, case Q7: an update carries the task's id, state and words before any Task does."""
    report = report_of(S("WORKING", "half way", "2026-01-01T00:00:00.5+02:00"))
    assert (report.kind, report.remote_task_id, report.context_id) == ("status", "t1", "c1")
    assert (report.state, report.text) == (A2AState.WORKING, "half way")
    assert report.remote_at == "2025-12-31T22:00:00.500000Z"
    assert report.history_ids == (report.message_id,)


def test_an_artifact_update_is_reported() -> None:
    """D12, case R1, case R7: a chunk comes with its flags and metadata, and says nothing about the
    state.
    """
    report = report_of(A("a", "big ", 1, 0, metadata={"tries": 2, "by": {"who": "me"}}))
    assert (report.kind, report.remote_task_id) == ("artifact", "t1")
    assert (report.append, report.last_chunk) == (True, False)
    assert report.artifacts[0].artifact_id == "a"
    assert report.artifacts[0].metadata == {"tries": 2, "by": {"who": "me"}}
    assert (report.state, report.text, report.remote_at) == (None, "", None)
    assert report_of(A("a", "world!", 1, 1)).last_chunk is True


def test_an_artifact_without_parts_is_kept() -> None:
    """D12, case R5: an artifact that carries nothing is still one."""
    report = report_of(A("a"))
    assert report.artifacts[0].artifact_id == "a"
    assert report.artifacts[0].parts == ()


def test_a_message_is_reported() -> None:
    """C5: a direct answer has its parts, its id and no state."""
    report = report_of(M([text_part("12"), data_part([12])], id="m9", context="c7"))
    assert (report.kind, report.message_id, report.context_id) == ("message", "m9", "c7")
    assert (report.text, report.state, report.remote_task_id) == ("12", None, "")
    assert report.parts[1].data == [12]


def test_every_kind_of_part_is_kept() -> None:
    """D12, case R6: bytes, URLs and data keep their media type, file name and metadata."""
    picture = bytes(range(256))
    report = report_of(
        A(
            "a",
            [
                text_part("see", mediaType="text/markdown", metadata={"page": 3}),
                file_part(picture, filename="chair.png", media_type="image/png"),
                url_part("https://x.example/b.pdf", filename="b.pdf", media_type="application/pdf"),
                data_part({"a": 1}, mediaType="application/vnd.x+json"),
                {"metadata": {"only": "metadata"}},
            ],
        )
    )
    text, raw, url, data, bare = report.artifacts[0].parts
    assert (text.text, text.media_type, text.metadata) == ("see", "text/markdown", {"page": 3})
    assert isinstance(raw.raw, str)
    assert base64.b64decode(raw.raw) == picture
    assert (raw.filename, raw.media_type) == ("chair.png", "image/png")
    assert (url.url, url.filename) == ("https://x.example/b.pdf", "b.pdf")
    assert url.media_type == "application/pdf"
    assert (data.data, data.media_type) == ({"a": 1}, "application/vnd.x+json")
    assert bare.is_empty
    assert bare.metadata == {"only": "metadata"}


def test_data_comes_out_as_it_went_in() -> None:
    """D12, case R9: whole numbers stay whole, floats floats, and bools, nulls, texts and lists
    themselves.
    """
    text = (
        '{"b":true,"big":9007199254740991,"empty":{},"f":false,"list":[1,2.5,null,[],"x"],'
        '"n":null,"neg":-7,"ratio":0.5,"revision":1,"tiny":1e-07,"zero":0}'
    )
    value = value_of(text)
    assert json.dumps(value, separators=(",", ":")) == text
    assert type(value["revision"]) is int
    assert type(value["ratio"]) is float
    assert value["b"] is True


@pytest.mark.parametrize(
    "text, value",
    [("null", None), ("3", 3), ('"3"', "3"), ("false", False), ("[]", []), ("1e300", 1e300)],
)
def test_data_may_be_any_json_value(text: str, value: Any) -> None:
    """D12, case R9: a data part need not be an object, and a null is data too."""
    got = value_of(text)
    assert got == value
    assert type(got) is type(value)
    report = report_of(A("a", [data_part(json.loads(text))]))
    assert report.artifacts[0].parts[0].data == value
    assert report.artifacts[0].parts[0].data is not UNSET


@pytest.mark.parametrize(
    "number, name", [("NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity")]
)
def test_a_number_that_json_has_not_is_a_text(number: str, name: str) -> None:
    """D12, case R9: what is no JSON number cannot spoil an event; it is kept by its name."""
    assert value_of(number) == name


def test_objects_come_out_in_one_order() -> None:
    """E5, case D4: the same data gives the same bytes in every process."""
    names = [f"key{number}" for number in range(50)]
    value = value_of(json.dumps(dict.fromkeys(reversed(names), 0)))
    assert list(value) == sorted(names)


@pytest.mark.parametrize(
    "stamp, text",
    [
        (Timestamp(seconds=0), "1970-01-01T00:00:00.000000Z"),
        (Timestamp(seconds=1767225600, nanos=123456789), "2026-01-01T00:00:00.123456Z"),
        (Timestamp(seconds=-62135596800), "0001-01-01T00:00:00.000000Z"),
        (Timestamp(seconds=253402300799, nanos=999999999), "9999-12-31T23:59:59.999999Z"),
        (Timestamp(seconds=253402300800), None),
        (Timestamp(seconds=-62135596801), None),
    ],
)
def test_times_compare_as_texts(stamp: Timestamp, text: str | None) -> None:
    """D14: status times are RFC 3339 in UTC with microseconds; an impossible one is none."""
    assert to_time(stamp) == text


def test_an_impossible_time_leaves_the_event() -> None:
    """K2: an unreadable timestamp is dropped, the event kept and the oddity named."""
    update = TaskStatusUpdateEvent(task_id="t1")
    update.status.state = 2  # type: ignore[assignment]  # protobuf takes the number as JSON does
    update.status.timestamp.seconds = 10**15
    report = to_report(update)
    assert (report.state, report.remote_at) == (A2AState.WORKING, None)
    assert report.anomalies == ("json.timestamp",)


def test_no_time_is_no_anomaly() -> None:
    """D14: an agent need not say when."""
    report = report_of(S("WORKING", ts=None))
    assert report.remote_at is None
    assert report.anomalies == ()


@pytest.mark.parametrize("frame", [T("INPUT_REQUIRED", ts=None), S("INPUT_REQUIRED", ts=None)])
@pytest.mark.parametrize(
    "status, sub_state",
    [
        ({"sub_state": "awaiting-next-message"}, "awaiting-next-message"),
        ({"sub_state": 7}, ""),
        ({}, ""),
        ("awaiting-next-message", ""),
        (None, ""),
    ],
)
def test_the_sub_state_is_read(frame: Frame, status: Any, sub_state: str) -> None:
    """D13: the status extension's sub-state, of the update or the task; rubbish is none."""
    marked = Frame(frame.name, frame | {"metadata": {STATUS_METADATA_KEY: status}})
    assert report_of(marked).sub_state == sub_state
    assert report_of(frame).sub_state == ""


def test_an_empty_context_is_unknown() -> None:
    """K3, case Q4: an agent that leaves the context out says nothing about it."""
    assert report_of(S("WORKING", context="")).context_id == ""


def test_what_the_wire_mended_is_on_the_report() -> None:
    """K2, H1: repairs are named on the report that they led to, each once."""
    frame = T("WORKING")
    frame["status"]["state"] = 99
    report = report_of(frame, ("json.kind_frame", "json.state_unknown", "json.kind_frame"))
    assert report.anomalies == ("json.kind_frame", "json.state_unknown")
    assert report_of(T("WORKING"), ("sse.bom",)).anomalies == ("sse.bom",)


def test_the_sdks_object_stays_beside_the_report() -> None:
    """G9: the official protobuf object is handed on, and reading it changes nothing in it."""
    task = T("WORKING", metadata={STATUS_METADATA_KEY: {"other": 1}})
    payload = ParseDict(task.stamped(), Task())
    before = payload.SerializeToString(deterministic=True)
    one = heard(payload, ("sse.bom",))
    assert one.payload is payload
    assert one.report.anomalies == ("sse.bom",)
    assert payload.SerializeToString(deterministic=True) == before


def test_an_empty_envelope_holds_nothing() -> None:
    """K2: an answer of a kind that is not known is nothing, and no guess."""
    assert unwrap(StreamResponse()) is None
    assert unwrap(SendMessageResponse()) is None
    assert unwrap(SendMessageResponse(message=Message(message_id="m"))) == Message(message_id="m")
