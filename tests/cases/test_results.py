"""The cases of results (docs/cases.md): what an agent's artifacts come out as."""

import json
from typing import Any

import pytest

from locum.projections import row_to_json
from tests.agents.frames import EOF, EV, A, S, T, data_part, file_part, text_part, url_part
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"


async def _result(binding: Any, stream: list[Any], task: Any) -> dict[str, Any]:
    """The row that an agent's stream after the link and its GetTask lead to, as JSON."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), *map(EV, stream), EOF])
        agent.task = task
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            return row_to_json(await until(harness, row.id, "COMPLETED"))


@both
async def test_chunks_are_one_result(binding: Any) -> None:
    """D12, case R1: chunks on the stream and the whole in GetTask are one result, once."""
    row = await _result(
        binding,
        [
            A("a", "Hello, ", append=False, last=False),
            A("a", "big ", append=True, last=False),
            A("a", "world!", append=True, last=True),
            S("COMPLETED"),
        ],
        T("COMPLETED", artifacts=[A("a", "Hello, big world!")], ts=LATER),
    )
    assert row["text"] == "Hello, big world!"
    assert len(row["artifacts"]) == 1


@both
async def test_chunks_that_only_the_stream_has(binding: Any) -> None:
    """D12, case R1: what only the stream brought is kept, though GetTask has no artifact."""
    row = await _result(
        binding,
        [A("a", "Hello, "), A("a", "world!", append=True, last=True), S("COMPLETED")],
        T("COMPLETED", ts=LATER),
    )
    assert row["text"] == "Hello, world!"


@both
async def test_an_append_after_the_last_chunk(binding: Any) -> None:
    """D12, case R2: an append after the last chunk changes nothing and is odd; a replacement
    counts.
    """
    row = await _result(
        binding,
        [
            A("a", "x", last=True),
            A("a", "y", append=True, last=True),
            A("a", "z", last=True),
            S("COMPLETED"),
        ],
        T("COMPLETED", ts=LATER),
    )
    assert row["text"] == "z"
    assert "artifact.append_after_last" in row["anomalies"]


@both
async def test_the_same_text_three_times(binding: Any) -> None:
    """D12, case R3: the same words as artifact, status message and history count once."""
    row = await _result(
        binding,
        [A("a", "ok"), S("COMPLETED", "ok")],
        T("COMPLETED", "ok", artifacts=[A("a", "ok")], history=["ok"], ts=LATER),
    )
    assert row["text"] == "ok"
    assert len(row["artifacts"]) == 1


@both
async def test_an_artifact_without_a_message(binding: Any) -> None:
    """D12, case R4: COMPLETED without a message: the artifact's text; with a message only: its
    text.
    """
    row = await _result(
        binding,
        [A("a", "nine"), S("COMPLETED")],
        T("COMPLETED", artifacts=[A("a", "nine")], ts=LATER),
    )
    assert row["text"] == "nine"
    row = await _result(binding, [S("COMPLETED", "ten")], T("COMPLETED", "ten", ts=LATER))
    assert (row["text"], row["artifacts"]) == ("ten", [])


@both
async def test_empty_parts_erase_nothing(binding: Any) -> None:
    """D12, case R5: an artifact with no parts, first or as an append, is kept and erases nothing."""
    empty = {**A("a", ""), "artifact": {"artifactId": "a", "parts": []}}
    row = await _result(
        binding,
        [empty, A("a", "nine", append=True), {**empty, "append": True}, empty, S("COMPLETED")],
        T("COMPLETED", ts=LATER),
    )
    assert row["text"] == "nine"


@both
async def test_every_kind_of_part_is_kept(binding: Any) -> None:
    """D12, case R6: bytes with name and type, a URL, data: all kept, the bytes equal."""
    parts = [
        text_part("see:"),
        file_part(b"\x00\xff\x10", filename="a.bin", media_type="application/octet-stream"),
        url_part(
            "https://files.example/plan.pdf", filename="plan.pdf", media_type="application/pdf"
        ),
        data_part({"chairs": 9}),
    ]
    row = await _result(
        binding, [S("COMPLETED")], T("COMPLETED", artifacts=[A("a", parts)], ts=LATER)
    )
    text, raw, url, data = row["artifacts"][0]["parts"]
    assert text["text"] == "see:"
    assert (raw["raw"], raw["filename"]) == ("AP8Q", "a.bin")
    assert raw["media_type"] == "application/octet-stream"
    assert (url["url"], url["filename"]) == ("https://files.example/plan.pdf", "plan.pdf")
    assert data["data"] == {"chairs": 9}


@both
async def test_metadata_on_chunks_is_merged(binding: Any) -> None:
    """D12, case R7: metadata of appended chunks is merged, the last value wins."""

    def chunk(text: str, append: bool, **metadata: Any) -> Any:
        frame = A("a", text, append=append)
        return {**frame, "artifact": {**frame["artifact"], "metadata": metadata}}

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on(
            "SubscribeToTask",
            [
                EV(T("WORKING")),
                EV(chunk("x", False, one=1, two=2)),
                EV(chunk("y", True, two=3)),
                EV(S("COMPLETED")),
                EOF,
            ],
        )
        agent.task = T("COMPLETED", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.artifacts[0].metadata == {"one": 1, "two": 3}


@both
@pytest.mark.parametrize(
    "bad", ['{"a":' * 1000 + "1" + "}" * 1000, '"half \\ud800"', '"nul \\u0000"']
)
async def test_one_bad_part_of_three(binding: Any, bad: str) -> None:
    """K2, case R8: a part that cannot be read becomes a note; the two good ones stay; an anomaly."""
    parts = [text_part("good one"), data_part("BAD"), text_part("good two")]
    task = json.dumps(T("COMPLETED", artifacts=[A("a", parts)], ts=LATER))
    # Python's own JSON cannot write it, so it is written by hand.
    task = task.replace('"BAD"', bad)
    body = task if binding == "HTTP+JSON" else f'{{"jsonrpc":"2.0","id":1,"result":{task}}}'
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("GetTask", (200, {"Content-Type": "application/json"}, body.encode()))
        async with locum({"a": agent.url}) as harness:
            spawned = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.tell(S("COMPLETED", ts=LATER))
            row = row_to_json(await until(harness, spawned.id, "COMPLETED"))
    first, note, last = row["artifacts"][0]["parts"]
    assert first["text"] == "good one"
    assert last["text"] == "good two"
    assert "could not be read" in json.dumps(note)
    assert row["anomalies"]


@both
async def test_numbers_come_out_as_they_went_in(binding: Any) -> None:
    """D12, case R9: whole numbers stay whole, fractions, booleans and null stay what they are."""
    data = {"revision": 1, "ratio": 0.5, "b": True, "n": None, "big": 9007199254740991}
    row = await _result(
        binding, [S("COMPLETED")], T("COMPLETED", artifacts=[A("a", data_part(data))], ts=LATER)
    )
    found = row["artifacts"][0]["parts"][0]["data"]
    assert found == data
    assert {key: type(value) for key, value in found.items()} == {
        key: type(value) for key, value in data.items()
    }
