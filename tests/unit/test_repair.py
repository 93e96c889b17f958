"""Whatever can be understood of an agent's JSON comes out as A2A 1.0, and says what was odd."""

import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import StreamResponse
from a2a.utils.proto_utils import parse_lenient

from locum.adapters.a2a.anomalies import ANOMALIES
from locum.adapters.a2a.json_text import DEPTH_LIMIT, NotJsonError, as_line, depth_of, read_json
from locum.adapters.a2a.repair import mend_frame
from locum.adapters.a2a.shapes import EXACT_KEY, look

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


# Frames


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


# Parts


def test_parts_of_0_3_are_read() -> None:
    """K2: text, file and data parts as A2A 0.3 sent them."""
    parts, odd = parts_of(
        {"kind": "text", "text": "hi"},
        {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "a.txt"}},
        {"kind": "file", "file": {"uri": "https://x/y"}, "metadata": {"k": 1}},
        {"kind": "data", "data": {"a": 1}},
        {"root": {"type": "text", "text": "wrapped"}},
        {"file": {"fileWithUri": "https://x/z", "mediaType": "image/png"}},
        "bare",
    )
    assert parts == [
        {"text": "hi"},
        {"raw": "aGk=", "mediaType": "text/plain", "filename": "a.txt"},
        {"url": "https://x/y", "metadata": {"k": 1}},
        {"data": {"a": 1}},
        {"text": "wrapped"},
        {"url": "https://x/z", "mediaType": "image/png"},
        {"text": "bare"},
    ]
    assert set(odd) == {"json.part_legacy"}


@pytest.mark.parametrize(
    "bad,why,anomalies",
    [
        ({"text": "a\ud800b"}, "characters", {"json.bad_unicode"}),
        ({"text": "a\x00b"}, "characters", {"json.bad_unicode"}),
        ({"data": {"k": ["\udfff"]}}, "characters", {"json.bad_unicode"}),
        ({"data": {"\x00": 1}}, "characters", {"json.bad_unicode"}),
        ({"raw": "!!!"}, "base64", set()),
        ({"raw": "abcde"}, "base64", set()),
        ({"raw": 5}, "base64", set()),
        ({"url": {}}, "URL", set()),
        ({"kind": "hologram", "hologram": "x"}, "hologram", set()),
        (5, "object", set()),
        ([], "object", set()),
    ],
)
def test_a_bad_part_costs_only_itself(bad: Any, why: str, anomalies: set[str]) -> None:
    """R8, K2: a part that cannot be read is replaced by a note and the rest kept."""
    parts, odd = parts_of({"text": "one"}, bad, {"text": "three"})
    assert len(parts) == 3
    assert parts[0] == {"text": "one"}
    assert parts[2] == {"text": "three"}
    assert "could not be read" in parts[1]["text"]
    assert why in parts[1]["text"]
    assert set(odd) == {"json.part_unreadable"} | anomalies


def test_the_readable_rest_of_a_text_is_in_its_note() -> None:
    """R8: one bad character in a long answer does not cost the answer."""
    parts, _ = parts_of({"text": "a long\x00 answer"})
    assert parts[0]["text"].endswith("\na long\ufffd answer")


def test_data_nested_a_thousand_deep_is_a_note() -> None:
    """R8: data that no protobuf parser would take costs only its own part."""
    parts = [{"text": "one"}, {"data": "DEEP"}, {"text": "three"}]
    text = json.dumps({"message": {**ASSISTANT, "parts": parts}})
    value, anomalies = read_json(text.replace('"DEEP"', '{"a":' * 1000 + "1" + "}" * 1000).encode())
    frame, odd = mended(value)
    notes = frame["message"]["parts"]
    assert [notes[0], notes[2]] == [parts[0], parts[2]]
    assert "too deep" in notes[1]["text"]
    assert anomalies + odd == ["json.too_deep", "json.part_unreadable"]


def test_the_deepest_data_that_is_left_alone_can_be_read() -> None:
    """R8: the limit is one that the SDK's parser holds, at the deepest place for data there is."""
    for depth in range(38, 50):
        message = {**ASSISTANT, "parts": [{"data": nested(depth)}]}
        update = {"taskId": "t", "status": {**STATUS, "message": message}}
        raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"statusUpdate": update}}).encode()
        value, _ = read_json(raw)
        mended(value["result"])


def test_a_part_with_several_contents_becomes_several() -> None:
    """K2: protobuf allows one content for a part; nothing of what was said is lost."""
    parts, odd = parts_of({"text": "see", "url": "https://x", "mediaType": "text/html"})
    assert parts == [
        {"text": "see", "mediaType": "text/html"},
        {"url": "https://x", "mediaType": "text/html"},
    ]
    assert odd == ["json.part_split"]


def test_a_null_content_hides_no_other() -> None:
    """K2: to protobuf `"data": null` is a value, which would replace the text before it."""
    parts, odd = parts_of({"text": "hi", "data": None, "url": None}, {"data": None})
    assert parts == [{"text": "hi"}, {"data": None}]
    assert odd == ["json.wrong_type"]


def test_texts_that_are_none_are_written_out() -> None:
    """K2: a text part with a number or an object says it in JSON."""
    parts, odd = parts_of({"text": 42}, {"text": {"a": [1]}})
    assert parts == [{"text": "42"}, {"text": '{"a":[1]}'}]
    assert set(odd) == {"json.wrong_type"}


def test_base64_with_white_space_or_as_data_url_is_read() -> None:
    """R6, K2: bytes that any decoder would find."""
    parts, _ = parts_of({"raw": "aG\nk="}, {"raw": "data:text/plain;base64,aGk="}, {"raw": ""})
    assert parts == [{"raw": "aGk="}, {"raw": "aGk="}, {"raw": ""}]


def test_whole_numbers_that_no_double_holds_are_kept_beside() -> None:
    """R9, D12: protobuf would round them; reports.py reads them from the part's metadata."""
    data = {"big": 9007199254740993, "small": 1}
    parts, odd = parts_of({"data": data, "metadata": {"k": "v", EXACT_KEY: "forged"}})
    assert parts[0]["data"] == data
    assert parts[0]["metadata"]["k"] == "v"
    assert json.loads(parts[0]["metadata"][EXACT_KEY]) == data
    assert not odd


def test_what_an_agent_puts_under_our_key_is_dropped() -> None:
    """R9: only the wire says what was exact."""
    parts, _ = parts_of({"data": 1, "metadata": {EXACT_KEY: "[[["}})
    assert parts == [{"data": 1, "metadata": {}}]


def test_numbers_beyond_all_doubles_become_texts() -> None:
    """K2: they would make protobuf fail, not just round."""
    parts, odd = parts_of({"data": [10**400, 1]})
    assert parts == [{"data": [str(10**400), 1]}]
    assert odd == ["json.number"]


# JSON text


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
    """K2, R8: JSON that breaks the grammar in a harmless way is read, and named."""
    assert read_json(raw) == (value, anomalies)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"nope", b'{"a":1,}', b"[" * 100_000, b'{"a":' * 100_000]
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    """K2: and never with another exception, however deep it goes."""
    with pytest.raises(NotJsonError):
        read_json(raw)


def test_depth_is_measured_outside_of_texts() -> None:
    """R8: brackets in texts are no depth, whatever is escaped around them."""
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
