"""One bad part never costs another, and nothing readable of it is lost."""

import json
from typing import Any

import pytest

from locum.adapters.a2a.wire.json_text import read_json
from locum.adapters.a2a.wire.parts import mend_parts
from locum.adapters.a2a.wire.shapes import EXACT_KEY

from .mending import ASSISTANT, STATUS, mended, nested, parts_of


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
    """K2, case R8: a part that cannot be read is replaced by a note and the rest kept."""
    parts, odd = parts_of({"text": "one"}, bad, {"text": "three"})
    assert len(parts) == 3
    assert parts[0] == {"text": "one"}
    assert parts[2] == {"text": "three"}
    assert "could not be read" in parts[1]["text"]
    assert why in parts[1]["text"]
    assert set(odd) == {"json.part_unreadable"} | anomalies


def test_the_readable_rest_of_a_text_is_in_its_note() -> None:
    """K2, case R8: one bad character in a long answer does not cost the answer."""
    parts, _ = parts_of({"text": "a long\x00 answer"})
    assert parts[0]["text"].endswith("\na long\ufffd answer")


def test_data_nested_a_thousand_deep_is_a_note() -> None:
    """K2, case R8: data that no protobuf parser would take costs only its own part."""
    parts = [{"text": "one"}, {"data": "DEEP"}, {"text": "three"}]
    text = json.dumps({"message": {**ASSISTANT, "parts": parts}})
    value, anomalies = read_json(text.replace('"DEEP"', '{"a":' * 1000 + "1" + "}" * 1000).encode())
    frame, odd = mended(value)
    notes = frame["message"]["parts"]
    assert [notes[0], notes[2]] == [parts[0], parts[2]]
    assert "too deep" in notes[1]["text"]
    assert anomalies + odd == ["json.too_deep", "json.part_unreadable"]


def test_the_deepest_data_that_is_left_alone_can_be_read() -> None:
    """K2, case R8: the limit is one that the SDK's parser holds, at the deepest place for data
    there is.
    """
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
    """K2, case R6: bytes that any decoder would find."""
    parts, _ = parts_of({"raw": "aG\nk="}, {"raw": "data:text/plain;base64,aGk="}, {"raw": ""})
    assert parts == [{"raw": "aGk="}, {"raw": "aGk="}, {"raw": ""}]


def test_whole_numbers_that_no_double_holds_are_kept_beside() -> None:
    """D12, case R9: protobuf would round them; reports.py reads them from the part's metadata."""
    data = {"big": 9007199254740993, "small": 1}
    parts, odd = parts_of({"data": data, "metadata": {"k": "v", EXACT_KEY: "forged"}})
    assert parts[0]["data"] == data
    assert parts[0]["metadata"]["k"] == "v"
    assert json.loads(parts[0]["metadata"][EXACT_KEY]) == data
    assert not odd


def test_what_an_agent_puts_under_our_key_is_dropped() -> None:
    """D12, case R9: only the wire says what was exact."""
    parts, _ = parts_of({"data": 1, "metadata": {EXACT_KEY: "[[["}})
    assert parts == [{"data": 1, "metadata": {}}]


def test_numbers_beyond_all_doubles_become_texts() -> None:
    """K2: they would make protobuf fail, not just round."""
    parts, odd = parts_of({"data": [10**400, 1]})
    assert parts == [{"data": [str(10**400), 1]}]
    assert odd == ["json.number"]


def test_parts_that_say_nothing() -> None:
    """D12, case R5: a part without any content is empty, not unreadable."""
    parts, odd = parts_of({}, {"text": None}, {"mediaType": "text/plain", "metadata": {"a": 1}})
    assert parts == [{}, {}, {"mediaType": "text/plain", "metadata": {"a": 1}}]
    assert odd == ["json.wrong_type"]


def test_metadata_that_is_no_object_is_left_out() -> None:
    """K2: and what protobuf cannot hold in it is mended."""
    parts, odd = parts_of(
        {"text": "a", "metadata": [1]}, {"text": "b", "metadata": {"k": "\x00", "n": 10**400}}
    )
    assert parts == [{"text": "a"}, {"text": "b", "metadata": {"k": "\ufffd", "n": str(10**400)}}]
    assert odd == ["json.wrong_type", "json.bad_unicode", "json.number"]


def test_other_spellings_of_the_media_type() -> None:
    """K2: as protobuf and as A2A 0.3 write it."""
    parts, _ = parts_of({"text": "a", "media_type": "x/y"}, {"url": "u", "mimeType": "x/z"})
    assert parts == [{"text": "a", "mediaType": "x/y"}, {"url": "u", "mediaType": "x/z"}]


@pytest.mark.parametrize("value", [None, "text", {"text": "one"}])
def test_parts_that_are_no_list(value: Any) -> None:
    """K2: nothing, one bare text, or one bare part."""
    odd: list[str] = []
    assert len(mend_parts(value, odd)) == (value is not None)
    assert odd
