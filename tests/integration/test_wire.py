"""Streams over real sockets: whatever an agent's bytes look like, the SDK hears the same events."""

import asyncio
import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import StreamResponse

from locum.adapters.a2a.reports import to_report, unwrap
from locum.adapters.a2a.wire.notes import CALL

from ..agents.frames import (
    COMMENT,
    EOF,
    EV,
    A,
    Binding,
    M,
    S,
    T,
    data_part,
)
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.sdk import send_request, states
from ..agents.seen import Seen
from .wired import wired

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]
ROUND = ["WORKING", "artifact", "COMPLETED"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


def texts(heard: list[StreamResponse]) -> list[str]:
    """The texts of the artifacts that were heard."""
    return [part.text for one in heard for part in one.artifact_update.artifact.parts]


async def test_a_lawful_stream_comes_through_unchanged(binding: Binding) -> None:
    """K1, K2: where nothing is odd nothing is noted, and the notes say what went by."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on(
            "SendStreamingMessage", [EV(T("WORKING")), EV(A("a", "ok")), EV(S("COMPLETED")), EOF]
        )
        assert states(await peer.send()) == ROUND
        notes = peer.notes
        assert (notes.anomalies, notes.status, notes.error) == ([], 200, None)
        assert (notes.events, notes.ended, notes.sent, notes.answered) == (3, True, True, True)
        assert agent.calls()[0].headers["a2a-version"] == "1.0"
        assert agent.calls()[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_line_ends_and_tiny_packets(binding: Binding, newline: str) -> None:
    """K1, case S4, case S5: every kind of line end, with one byte a packet."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.sse()
        steps = [
            EV(T("WORKING"), newline=newline),
            EV(A("a", "ä€"), newline="\n"),
            EV(S("COMPLETED")),
        ]
        for step in steps:
            await reply.drip(reply.event_bytes(step))
        await reply.eof()

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        heard = await peer.send()
        assert states(heard) == ROUND
        assert texts(heard) == ["ä€"]
        assert not peer.notes.anomalies


async def test_what_is_no_event_is_ignored(binding: Binding) -> None:
    """K1, case S2, case S3: comments, ids with empty data and data of one space, anywhere between
    events.
    """
    noise = [
        COMMENT(),
        COMMENT(""),
        b"id: 1\ndata:\n\n",
        b"data: \n\n",
        b"data:  \n\n",
        b"retry: 5\n\n",
    ]
    async with RawAgent(binding) as agent, wired(agent) as peer:
        script = [
            *noise,
            EV(T("WORKING")),
            *noise,
            EV(A("a", "ok"), id="7"),
            *noise,
            EV(S("COMPLETED")),
        ]
        agent.on("SendStreamingMessage", script)
        assert states(await peer.send()) == ROUND
        assert peer.notes.events == 3
        assert not peer.notes.anomalies


async def test_pretty_json_is_joined(binding: Binding) -> None:
    """K1, case S6: pretty-printed JSON, one `data:` a line, is joined by line feeds."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        script = [
            EV(T("WORKING"), pretty=True),
            EV(A("a", "x"), pretty=True),
            EV(S("COMPLETED"), pretty=True),
        ]
        agent.on("SendStreamingMessage", script)
        assert states(await peer.send()) == ROUND


async def test_unicode_line_ends_inside_of_json(binding: Binding) -> None:
    """K1: U+2028, U+2029 and U+0085 in a text are text; httpx would end a line there."""
    text = "a\u2028b\u2029c\u0085d\u2028"

    async def answer(seen: Seen, reply: Reply) -> None:
        body: Any = A("a", text).wrapped()
        if binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": seen.rpc_id, "result": body}
        await reply.send(f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode())

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        assert texts(await peer.send()) == [text]


async def test_a_mark_before_and_no_blank_line_after(binding: Binding) -> None:
    """K1: a byte order mark is skipped, and a last event without its blank line dispatched."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.send(b"\xef\xbb\xbf" + reply.event_bytes(EV(T("WORKING"))))
        await reply.send(reply.event_bytes(EV(S("INPUT_REQUIRED"))).rstrip(b"\n"))

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        assert states(await peer.send()) == ["WORKING", "INPUT_REQUIRED"]
        assert peer.notes.anomalies == ["sse.bom", "sse.unfinished_event"]


@pytest.mark.parametrize(
    "content_type",
    [
        "Text/Event-Stream",
        "text/event-stream; charset=latin-1",
        None,
        "text/plain",
        "application/json",
    ],
)
async def test_content_types(binding: Binding, content_type: str | None) -> None:
    """K1: compared case-insensitively; a missing or wrong one is made up for by the first bytes."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.sse(content_type=content_type)
        await reply.event(A("a", "ä"))

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        assert texts(await peer.send()) == ["ä"]
        declared = content_type is not None and "event-stream" in content_type.lower()
        assert peer.notes.anomalies == ([] if declared else ["http.content_type"])


@pytest.mark.parametrize("answer", [T("WORKING"), M("hello"), S("WORKING")], ids=["T", "M", "S"])
async def test_plain_json_for_a_stream(binding: Binding, answer: Any) -> None:
    """K1, case S11: a stream call that is answered by one JSON body is one event."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer.wrapped(), answer, T("WORKING"))
        for _ in range(2):
            assert states(await peer.send()) == [
                "message" if answer.name == "message" else "WORKING"
            ]
            assert "http.json_for_stream" in peer.notes.anomalies


async def test_a_broken_event_costs_only_itself(binding: Binding) -> None:
    """K1, K2: events without JSON, or without a payload, are skipped and noted."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        junk = [EV("[DONE]"), EV("ping", name="ping"), EV('{"type":"ping"}'), EV("null"), EV("{")]
        agent.on(
            "SendStreamingMessage", [EV(T("WORKING")), *junk, EV(A("a", "x")), EV(S("COMPLETED"))]
        )
        assert states(await peer.send()) == ROUND
        assert set(peer.notes.anomalies) == {"sse.not_json", "sse.no_payload"}


async def test_an_anomaly_is_noted_with_its_event(binding: Binding) -> None:
    """K2: what is odd about one event is not noted while an earlier one of its packet is read."""
    flat = {
        "kind": "status-update",
        "taskId": "t1",
        "contextId": "c1",
        "status": {"state": "completed"},
        "final": True,
    }

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.send(
            b"".join(reply.event_bytes(EV(x)) for x in (T("WORKING"), S("WORKING"), flat))
        )

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        noted = [list(peer.notes.anomalies) async for _ in peer.listen(send_request("go"))]
        assert noted == [[], [], ["json.kind_frame", "json.state_alias"]]
        assert peer.notes.ended


async def test_one_bad_part_of_three(binding: Binding) -> None:
    """K2, case R8: the two good parts come through the SDK, with a note for the third and an
    anomaly.
    """

    async def answer(seen: Seen, reply: Reply) -> None:
        parts = [{"text": "one"}, data_part("DEEP"), {"text": "three"}]
        event = reply.event_bytes(EV(A("a", parts)))
        await reply.send(event.replace(b'"DEEP"', b"[" * 1000 + b"]" * 1000))
        await reply.event(A("a", [{"text": "one"}, {"text": "\ud800"}, {"text": "three"}]))
        await reply.event(A("a", [{"text": "one"}, {"text": "\x00"}, {"text": "three"}]))

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        heard = await peer.send()
        assert len(heard) == 3
        for one in heard:
            first, note, third = (part.text for part in one.artifact_update.artifact.parts)
            assert (first, third) == ("one", "three")
            assert "could not be read" in note
        assert {"json.part_unreadable", "json.too_deep", "json.bad_unicode"} == set(
            peer.notes.anomalies
        )


async def test_whole_numbers_come_out_as_they_went_in(binding: Binding) -> None:
    """D12, case R9: also those that protobuf's doubles would round, in data as deep as it may be."""
    data = {
        "revision": 1, "ratio": 0.5, "b": True, "n": None, "big": 9007199254740991,
        "bigger": [{"x": 9007199254740993}, -12345678901234567890, 2**63 - 1],
    }  # fmt: skip
    async with RawAgent(binding) as agent, wired(agent) as peer:
        part = data_part(data, metadata={"k": 1})
        agent.on("SendStreamingMessage", [EV(A("a", part)), EV(S("COMPLETED", part))])
        artifact, status = [to_report(unwrap(one)) for one in await peer.send()]
        for heard in (artifact.artifacts[0].parts[0], status.parts[0]):
            assert heard.data == data
            assert heard.metadata == {"k": 1}
            assert json.dumps(heard.data, sort_keys=True) == json.dumps(data, sort_keys=True)
        assert not peer.notes.anomalies


async def test_names_that_stand_twice_are_no_trouble(binding: Binding) -> None:
    """K2: the SDK's JSON parser for HTTP+JSON streams refuses an object that names a field twice."""

    async def answer(seen: Seen, reply: Reply) -> None:
        event = reply.event_bytes(EV(S("WORKING")))
        await reply.send(event.replace(b'"taskId"', b'"taskId": "t0", "taskId"'))

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        (heard,) = await peer.send()
        assert heard.status_update.task_id == "t1"


async def test_notes_belong_to_their_call(binding: Binding) -> None:
    """K2: streams that are heard side by side keep their notes apart."""
    async with RawAgent(binding) as agent, wired(agent) as first, wired(agent) as second:
        agent.on("SendStreamingMessage", [EV(S("completed"))], [EV(S("COMPLETED"))])
        await asyncio.gather(first.send(), second.send())
        noted = sorted([first.notes.anomalies, second.notes.anomalies])
        assert noted == [[], ["json.state_alias"]]
        assert CALL.get() is None
