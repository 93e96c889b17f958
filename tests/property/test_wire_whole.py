"""The whole wire under AgentClient: what is meant comes out, however it is written, cut or broken.

Streams are made here, so it is known what they mean. `make fuzz-ci` tries 20,000 examples.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

import httpx
import pytest
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface
from hypothesis import given, settings
from hypothesis import strategies as st

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.interface import Binding, Interface
from locum.adapters.a2a.wire.notes import WireLimits
from locum.adapters.a2a.wire.transport import WireClient, WireTransport
from locum.core.errors import RemoteCallError
from locum.core.report import RemoteReport

from .choices import Choices

EXAMPLES = int(os.environ.get("LOCUM_FUZZ_EXAMPLES") or settings().max_examples)
fuzzed = settings(max_examples=EXAMPLES)
pytestmark = pytest.mark.timeout(max(300, EXAMPLES // 10))
SECONDS = 5.0
"""Far more than one stream takes: longer is a hang."""

# Of a fixed size, since hypothesis likes short ones best, and with those all is plain at the end.
meanings, manners, harms = (st.binary(min_size=size, max_size=size) for size in (40, 60, 40))
LIMITS = WireLimits(event_limit=64 << 10, error_limit=4 << 10, call_time=SECONDS)
TERMINAL = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
GOING_ON = ("WORKING", "SUBMITTED", "INPUT_REQUIRED", "AUTH_REQUIRED")
TEXTS = (
    "ok",
    "",
    "a\u2028b\u0085c",
    "zwölf 🪑",
    'say "hi"\\n',
    "data: x\n\nevent: error",
    "\r\n\r",
    "{}",
)
DATA = (1, None, {"n": 9007199254740993, "r": 0.5}, [True, []], "t", {"task": {"id": "t9"}})

Json = dict[str, Any]


# The agent's side: frames that are lawful, and how they are written


def _parts(choices: Choices) -> list[Json]:
    makers = (
        lambda: {"text": choices.of(TEXTS)},
        lambda: {"data": choices.of(DATA)},
        lambda: {"raw": choices.of(("", "aGk=")), "filename": "x"},
        lambda: {"url": "https://files.example/x", "mediaType": "text/plain"},
    )
    return [choices.of(makers)() for _ in range(1 + choices.below(2))]


def _status(choices: Choices, state: str, second: int) -> Json:
    status: Json = {
        "state": f"TASK_STATE_{state}",
        "timestamp": f"2026-01-02T03:04:{second:02}.5Z",
    }
    if choices.chance(2):
        parts = _parts(choices)
        status["message"] = {"messageId": "m", "role": "ROLE_AGENT", "parts": parts}
    return status


def _frames(choices: Choices) -> list[Json]:
    """What the agent means: a task, updates, and perhaps its end."""
    task = {
        "id": "t1",
        "contextId": "c1",
        "status": _status(choices, choices.of(GOING_ON), 0),
        "artifacts": [{"artifactId": "a", "parts": _parts(choices)}] if choices.chance(3) else [],
    }
    frames: list[Json] = [{"task": task}]
    about = {"taskId": "t1", "contextId": "c1"}
    for second in range(1, 1 + choices.below(5)):
        if choices.chance(2):
            artifact = {"artifactId": choices.of("ab"), "parts": _parts(choices)}
            flags = {"append": choices.chance(2), "lastChunk": choices.chance(2)}
            frames.append({"artifactUpdate": {**about, "artifact": artifact, **flags}})
        else:
            status = _status(choices, choices.of(GOING_ON), second)
            frames.append({"statusUpdate": {**about, "status": status}})
    if choices.chance(2):
        status = _status(choices, choices.of(TERMINAL), 59)
        frames.append({"statusUpdate": {**about, "status": status}})
    return frames


def _written(frames: Sequence[Json], binding: Binding) -> bytes:
    """The plainest way to write them."""
    return b"".join(
        b"data: " + json.dumps(_enveloped(frame, binding)).encode() + b"\n\n" for frame in frames
    )


def _enveloped(frame: Any, binding: Binding) -> Any:
    return {"jsonrpc": "2.0", "id": "1", "result": frame} if binding == "JSONRPC" else frame


KNOWN = (b": ping", b":", b"id: 7", b"retry: 10", b"event: message", b"id", b"data:\n", b"")
NOISE = (*KNOWN, b"x: y")


def _rewritten(choices: Choices, frames: Sequence[Json], binding: Binding) -> bytes:
    """Another way that means the same to a patient reader."""
    # A field that nobody knows tells nobody, at the beginning, that this is a stream.
    lines: list[bytes] = [choices.of(KNOWN)] if choices.chance(3) else []
    for number, frame in enumerate(frames):
        lines += [choices.of(NOISE)] if number and choices.chance(3) else []
        value = _enveloped(_bent(choices, frame), binding)
        text = json.dumps(
            value,
            ensure_ascii=not choices.chance(2),
            indent=choices.of((None, 1, 0)),
            sort_keys=choices.chance(2),
        )
        space = choices.of((b" ", b""))
        lines += [b"data:" + space + line.encode() for line in text.split("\n")]
        lines.append(b"")
        lines += [choices.of(NOISE), b""] if choices.chance(3) else []
    end = choices.of((b"\n", b"\r\n", b"\r"))
    body = end.join(line.replace(b"\n", end) for line in lines) + end
    if choices.chance(4):
        body = body.rstrip(b"\r\n")  # The last event's blank line is left out.
    return (b"\xef\xbb\xbf" if choices.chance(4) else b"") + body


def _bent(choices: Choices, frame: Json) -> Json:
    """A frame with an accent that changes nothing of what it means."""
    ((name, payload),) = frame.items()
    if choices.chance(3):
        payload = payload | {"final": False, "nobody": {"knows": [None]}}
    if choices.chance(4) and "status" in payload:
        state = payload["status"]["state"].removeprefix("TASK_STATE_")
        spelled = choices.of((state.lower(), state.lower().replace("_", "-"), state))
        payload = payload | {"status": payload["status"] | {"state": spelled}}
    if choices.chance(4):
        payload = payload | {"metadata": None}
    if choices.chance(4):
        kind = {
            "task": "task",
            "statusUpdate": "status-update",
            "artifactUpdate": "artifact-update",
        }
        return payload | {"kind": kind[name]}
    return {name: payload}


def _pieces(choices: Choices, body: bytes) -> list[bytes]:
    """The body, cut anywhere."""
    how = choices.below(8)
    if how == 7:  # Seldom, for it takes as long as all others together.
        return [body[at : at + 1] for at in range(len(body))]
    cuts = sorted({choices.below(max(1, min(len(body), 65_536))) for _ in range(how)})
    ends = [*cuts, len(body)]
    return [body[start:end] for start, end in zip([0, *cuts], ends, strict=True)]


# Our side


class _Body(httpx.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        self.is_closed = True


class _Network(httpx.AsyncBaseTransport):
    """Answers every request with one body."""

    def __init__(self, pieces: Sequence[bytes], content_type: str) -> None:
        self.body = _Body(pieces)
        self._headers = [("content-type", content_type)] if content_type else []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=self._headers, stream=self.body)


class Heard(NamedTuple):
    """What came of a subscription, and the code of the error that ended it."""

    reports: list[RemoteReport]
    error: str

    @property
    def meant(self) -> list[RemoteReport]:
        """The reports without how they were said."""
        return [_plain(report) for report in self.reports]


def _plain(report: RemoteReport) -> RemoteReport:
    fields = {name: getattr(report, name) for name in report.__struct_fields__}
    return RemoteReport(**fields | {"anomalies": ()})


async def _hear(pieces: Sequence[bytes], binding: Binding, content_type: str) -> Heard:
    network = _Network(pieces, content_type)
    interface = Interface(url="http://agent.example/a2a", binding=binding)
    card = AgentCard(
        name="a",
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[
            AgentInterface(url=interface.url, protocol_binding=binding, protocol_version="1.0")
        ],
    )
    reports: list[RemoteReport] = []
    take = reports.append  # One by one: what came before an error counts.
    error = ""
    async with WireClient(transport=WireTransport(network, LIMITS), trust_env=False) as http:
        client = AgentClient(
            agent_id="a",
            card=card,
            interface=interface,
            http=http,
            participant_id="locum",
            on_anomaly=lambda agent_id, kind: None,
        )
        try:
            async with asyncio.timeout(SECONDS), aclosing(client.subscribe("t1")) as stream:
                async for heard in stream:
                    take(heard.report)
        except RemoteCallError as refusal:
            error = refusal.code
    assert network.body.is_closed
    return Heard(reports, error)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples."""
    with asyncio.Runner() as one:
        yield one


BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")
CONTENT_TYPES = ("text/event-stream", "", "Text/Event-Stream;charset=x", "application/json")


@fuzzed
@given(meanings, manners, harms)
def test_what_is_meant_is_heard(
    runner: asyncio.Runner, meaning: bytes, manner: bytes, harm: bytes
) -> None:
    """K1, K2: however the same is written and cut, the same is heard; after the end nothing is."""
    meant, choices = Choices(meaning), Choices(harm)
    binding, content_type = choices.of(BINDINGS), choices.of(CONTENT_TYPES)
    frames = _frames(meant)
    plain = runner.run(_hear([_written(frames, binding)], binding, "text/event-stream"))
    assert (plain.error, len(plain.reports)) == ("", len(frames))
    assert not any(report.anomalies for report in plain.reports)
    states = [report.state for report in plain.reports if report.kind != "artifact"]
    said = [f.popitem()[1].get("status", {}).get("state", "") for f in map(dict, frames)]
    assert states == [state.removeprefix("TASK_STATE_") for state in said if state]
    body = _rewritten(Choices(manner), frames, binding)
    if states and states[-1] in TERMINAL and choices.chance(2):
        junk = (b'data: {"x', b"garbage", _written(frames, binding), b"\x00\xff")
        body += b"\n\n" + choices.of(junk)
    heard = runner.run(_hear(_pieces(choices, body), binding, content_type))
    assert heard.error == ""
    assert heard.meant == plain.meant


@fuzzed
@given(meanings, manners, harms)
def test_a_beginning_is_heard(
    runner: asyncio.Runner, meaning: bytes, manner: bytes, harm: bytes
) -> None:
    """K1, case S13: a stream that breaks off anywhere gives the beginning of what was meant."""
    choices = Choices(harm)
    binding = choices.of(BINDINGS)
    frames = _frames(Choices(meaning))
    whole = runner.run(_hear([_written(frames, binding)], binding, "text/event-stream"))
    body = _rewritten(Choices(manner), frames, binding)
    body = body[: choices.below(min(len(body) + 1, 65_536))]
    heard = runner.run(_hear(_pieces(choices, body), binding, choices.of(CONTENT_TYPES)))
    assert heard.meant == whole.meant[: len(heard.reports)]
    assert heard.error in ("", "remote.malformed")


BYTES = (
    b"\n\n",
    b"\r",
    b"\x00",
    b"null",
    b"{",
    b"]",
    b'"',
    b",",
    b"\\ud800",
    b"1e999",
    b"\xff",
    b"data:",
)


@fuzzed
@given(meanings, manners, harms)
def test_what_is_broken_makes_no_end(
    runner: asyncio.Runner, meaning: bytes, manner: bytes, harm: bytes
) -> None:
    """K4, D14: bytes that went wrong end in silence or one typed error, never in another state.

    An end is heard only where the agent has written one, and nothing after it.
    """
    choices = Choices(harm)
    binding = choices.of(BINDINGS)
    frames = _frames(Choices(meaning))
    body = bytearray(_rewritten(Choices(manner), frames, binding))
    for _ in range(1 + choices.below(4)):
        at = choices.below(min(len(body) + 1, 65_536))
        match choices.below(4):
            case 0:
                body[at:at] = choices.of(BYTES)
            case 1:
                del body[at : at + 1 + choices.below(30)]
            case 2:
                body[at : at + 1] = bytes([choices.below(256)])
            case _:
                body[at:at] = body[max(0, at - 40) : at]
    heard = runner.run(_hear(_pieces(choices, bytes(body)), binding, choices.of(CONTENT_TYPES)))
    assert not heard.error or heard.error.startswith("remote.")
    text = json.dumps(frames)
    ends = [report.state for report in heard.reports if report.state in TERMINAL]
    assert all(f"TASK_STATE_{end}" in text for end in ends)
    assert len(ends) <= 1
    if ends:
        assert heard.reports[-1].state == ends[0]
        assert heard.error == ""
