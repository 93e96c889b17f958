"""The messages that go out: readable, whole, and the same every time."""

import base64
import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import Message, Role
from google.protobuf.json_format import MessageToDict

from locum.adapters.a2a.calls.sdk_http import in_one_form
from locum.adapters.a2a.envelope import (
    brief_message,
    brief_text,
    reply_message,
    to_value,
    to_wire_part,
)
from locum.adapters.a2a.extensions import TASK_EXTENSION, TASK_MEDIA_TYPE
from locum.adapters.a2a.reports import json_value, to_part
from locum.core.errors import RequestError
from locum.core.report import Part

BRIEF: dict[str, Any] = {
    "message_id": "m-1",
    "name": "chairs",
    "goal": "Count the red chairs",
    "description": "In the hall and on the stage.",
    "acceptance_criteria": ("a number", "who counted"),
    "participant_id": "locum",
}


def envelope_in(message: Message) -> Any:
    """The task envelope's JSON value."""
    (part,) = (part for part in message.parts if part.media_type == TASK_MEDIA_TYPE)
    return json_value(part.data)


def test_a_brief_is_one_text_part() -> None:
    """C3: an agent without the task extension gets one readable text part and no more."""
    message = brief_message(**BRIEF)
    assert [part.WhichOneof("content") for part in message.parts] == ["text"]
    assert message.parts[0].text == (
        "Count the red chairs\n\n"
        "In the hall and on the stage.\n\n"
        "Acceptance criteria:\n- a number\n- who counted"
    )
    assert (message.role, message.message_id) == (Role.ROLE_USER, "m-1")
    assert (message.context_id, message.task_id) == ("", "")
    assert list(message.extensions) == []
    assert MessageToDict(message.metadata) == {"participant_id": "locum"}


@pytest.mark.parametrize(
    "brief, text",
    [
        (("Say hello",), "Say hello"),
        (("  Say hello \n", "", ()), "Say hello"),
        (("Go", "", ("one\ntwo",)), "Go\n\nAcceptance criteria:\n- one\n  two"),
        (("Go", "why"), "Go\n\nwhy"),
    ],
)
def test_the_text_has_only_what_was_given(brief: tuple[Any, ...], text: str) -> None:
    """C3: what is not given leaves no heading behind, and a criterion of two lines stays one."""
    assert brief_text(*brief) == text


def test_the_task_envelope_goes_with_the_extension() -> None:
    """C3: an agent that advertises the task extension gets name, goal, description, criteria."""
    message = brief_message(**BRIEF, envelope="brief", model="m", parent_tasks=("p",))
    assert [part.WhichOneof("content") for part in message.parts] == ["text", "data"]
    assert envelope_in(message) == {
        "kind": "task",
        "payload": {
            "name": "chairs",
            "goal": "Count the red chairs",
            "description": "In the hall and on the stage.",
            "acceptance_criteria": [
                {"text": "a number", "met": False},
                {"text": "who counted", "met": False},
            ],
        },
    }
    assert list(message.extensions) == [TASK_EXTENSION]


def test_self_gets_the_full_brief() -> None:
    """C3, A9: `self` is also told the lifecycle, the model, the effort and the parents."""
    message = brief_message(
        **BRIEF,
        envelope="full",
        model="big-one",
        reasoning_effort="high",
        parent_tasks=("parent-1", "parent-0"),
    )
    payload = envelope_in(message)["payload"]
    assert payload["lifecycle"] == "delegated"
    assert (payload["model"], payload["reasoning_effort"]) == ("big-one", "high")
    assert payload["parent_tasks"] == [{"task_id": "parent-1"}, {"task_id": "parent-0"}]
    assert payload["goal"] == "Count the red chairs"


def test_a_brief_carries_the_callers_parts() -> None:
    """C3: parts other than text go out between the text and the envelope, as they were given."""
    parts = (
        Part(text="more", media_type="text/markdown"),
        Part(data={"n": 1, "half": 0.5, "no": None, "list": [True, "x"]}),
        Part(
            raw=base64.b64encode(b"\x00\xff").decode(),
            filename="b.bin",
            media_type="application/octet-stream",
        ),
        Part(url="https://x.example/y", filename="y", metadata={"page": 2}),
        Part(data=None),
    )
    message = brief_message(**BRIEF, parts=parts, envelope="brief")
    assert tuple(to_part(part) for part in message.parts[1:-1]) == parts
    assert message.parts[3].raw == b"\x00\xff"
    assert message.parts[-1].media_type == TASK_MEDIA_TYPE


def test_a_follow_up_stays_in_the_context() -> None:
    """C14, case Q3: context and reference of the followed task, never its task id."""
    message = brief_message(**BRIEF, context_id="c1", reference_task_ids=("t1",))
    assert (message.context_id, message.task_id) == ("c1", "")
    assert list(message.reference_task_ids) == ["t1"]


def test_a_reply_names_its_task() -> None:
    """C12, case Q2: a reply goes out with the remote task's id and context."""
    message = reply_message(
        message_id="m-2", task_id="t1", context_id="c1", text="the hall", participant_id="locum"
    )
    assert (message.task_id, message.context_id, message.message_id) == ("t1", "c1", "m-2")
    assert [part.text for part in message.parts] == ["the hall"]
    assert MessageToDict(message.metadata) == {"participant_id": "locum"}
    assert list(message.extensions) == []


def test_a_reply_may_be_parts_alone() -> None:
    """C12: no empty text part goes before the parts of a reply that has no text."""
    message = reply_message(message_id="m", task_id="t1", parts=(Part(data=[1]),))
    assert [part.WhichOneof("content") for part in message.parts] == ["data"]
    empty = reply_message(message_id="m", task_id="t1")
    assert [part.WhichOneof("content") for part in empty.parts] == ["text"]


@pytest.mark.parametrize(
    "part, words",
    [
        (Part(), "one of text, data, raw and url"),
        (Part(raw="not base64!"), "base64"),
        (Part(data=2**53 + 1), "doubles"),
        (Part(data=10**400), "doubles"),
        (Part(data=float("nan")), "doubles"),
        (Part(data=float("inf")), "doubles"),
        (Part(data={1: "x"}), "the number 1 as a name"),
        (Part(data={"x": {1, 2}}), "no JSON value"),
        (Part(data=json.loads("[" * 99 + "]" * 99)), "levels of nesting"),
    ],
)
def test_a_part_that_would_not_arrive_is_refused(part: Part, words: str) -> None:
    """D12, case R9: what A2A cannot carry is refused with the mend, before anything is sent."""
    with pytest.raises(RequestError, match=words):
        to_wire_part(part)


@pytest.mark.parametrize("number", [0, -1, 2**53, 2**60, 0.1, -2.5, 1e300])
def test_numbers_that_arrive_are_taken(number: float) -> None:
    """D12, case R9: a number that a double holds exactly goes out, and comes back as it went."""
    back = json_value(to_value(number))
    assert back == number
    assert type(back) is type(number)


def test_the_same_brief_is_the_same_bytes_in_every_process() -> None:
    """C7, case D4: protobuf's own order of data differs from process to process; what goes out does
    not.
    """
    parts = (Part(data={"b": 1, "a": {"d": 2.5, "c": [{"z": 1, "y": 2**60}]}}),)
    message = brief_message(**BRIEF, parts=parts, envelope="full", model="m", parent_tasks=("p",))
    assert json.dumps(in_one_form(MessageToDict(message)), separators=(",", ":")) == (
        '{"extensions":["https://madarauchiha-314.github.io/tiny-harness/a2a/ext/task/v1"],'
        '"messageId":"m-1","metadata":{"participant_id":"locum"},"parts":[{"text":'
        '"Count the red chairs\\n\\nIn the hall and on the stage.\\n\\n'
        'Acceptance criteria:\\n- a number\\n- who counted"},'
        '{"data":{"a":{"c":[{"y":1152921504606846976,"z":1}],"d":2.5},"b":1}},'
        '{"data":{"kind":"task","payload":{"acceptance_criteria":[{"met":false,"text":'
        '"a number"},{"met":false,"text":"who counted"}],"description":"In the hall and on the stage.",'
        '"goal":"Count the red chairs","lifecycle":"delegated","model":"m","name":"chairs",'
        '"parent_tasks":[{"task_id":"p"}],"reasoning_effort":""}},'
        '"mediaType":"application/vnd.tiny-harness.event+json"}],"role":"ROLE_USER"}'
    )
