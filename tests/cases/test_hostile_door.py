"""Agents and callers that attack: echoed secrets, bombs, odd requests. Each broke something once."""

import base64
import json
import logging
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pytest

from locum.adapters.json_measure import is_crowded
from tests.agents.frames import EOF, ERR, EV, A, Binding, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.credentialed import JSON, http_for, oauth2
from tests.integration.credentialed import SECRET as TOKEN_SECRET
from tests.integration.front import Front, front
from tests.integration.registries import refused, registry, with_interface
from tests.integration.support import QUICK, locum, until

SECRET = "s3cr3t/0f+the=client"
AUTHS: dict[str, dict[str, Any]] = {
    "bearer": {"type": "bearer", "token_env": "THE_SECRET"},
    "basic": {"type": "basic", "username": "u", "password_env": "THE_SECRET"},
    "header": {"type": "api_key", "name": "X-Key", "value_env": "THE_SECRET"},
    "query": {"type": "api_key", "name": "key", "in": "query", "value_env": "THE_SECRET"},
    "cookie": {"type": "api_key", "name": "sid", "in": "cookie", "value_env": "THE_SECRET"},
}
HIDDEN = (
    SECRET,
    quote(SECRET, safe=""),
    base64.b64encode(f"u:{SECRET}".encode()).decode(),
    SECRET.replace("/", r"\/"),
)


# What an agent quotes of what it was sent


def _sent(seen: Seen) -> str:
    return f"you sent {seen.target} {seen.headers} and {SECRET}"


async def _quote_in_results(seen: Seen, reply: Reply) -> None:
    said = _sent(seen)
    await reply.play([EV(T("WORKING", said)), EV(S("WORKING", said)), EV(A("a", said)), EOF])


async def _quote_at_the_end(seen: Seen, reply: Reply) -> None:
    await reply.play([T("COMPLETED", _sent(seen), artifacts=[A("a", _sent(seen))])])


async def _quote_in_an_error(seen: Seen, reply: Reply) -> None:
    await reply.play([ERR(-32603, _sent(seen), data=[{"headers": dict(seen.headers)}])])


async def _quote_in_the_status_line(seen: Seen, reply: Reply) -> None:
    line = f"HTTP/1.1 500 {seen.headers.get('authorization', '')} {SECRET}\r\n"
    await reply.raw(f"{line}content-length: 0\r\nconnection: close\r\n\r\n".encode())


async def _quote_in_a_redirect(seen: Seen, reply: Reply) -> None:
    await reply.respond(307, {"location": f"https://x.example/{quote(SECRET, safe='')}"}, "")


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that the auths name."""
    monkeypatch.setenv("THE_SECRET", SECRET)


@asynccontextmanager
async def _faced(agent: RawAgent, **table: Any) -> AsyncIterator[Front]:
    agents = [{"id": "a", "url": agent.url, "follow_interval": "1s", **table}]
    async with front({"agents": agents, "standin": {**QUICK, "send_timeout": "1s"}}) as face:
        yield face


async def _shown(face: Front, *more: str) -> str:
    """Everything that the API tells of one sub-task of the parent `p`."""
    paths = ["/v1/agents", "/v1/roster", "/v1/parents/p/notifications", *more]
    return "\n".join([(await face.http.get(path)).text for path in paths])


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("kind", AUTHS)
@pytest.mark.parametrize(
    "script",
    [
        _quote_in_results,
        _quote_in_an_error,
        _quote_in_the_status_line,
        _quote_in_a_redirect,
    ],
)
async def test_what_an_agent_quotes_is_seen_nowhere(
    script: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """G8: a credential that an agent puts into a result, an error or its status line is masked.

    Results were kept as they came, and httpx logged the status line's words.
    """
    caplog.set_level(logging.DEBUG)
    binding: Binding = "JSONRPC" if kind in ("bearer", "query") else "HTTP+JSON"
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", script)
        agent.on("SubscribeToTask", script)
        agent.on("GetTask", _quote_at_the_end)
        async with _faced(agent, auth=AUTHS[kind]) as face:
            row = await face.harness.spawn("p", agent="a", goal="count")
            row = await face.harness.settled(row.id, timeout=10)
            one = f"/v1/sub-tasks/{row.id}"
            shown = await _shown(face, one, f"{one}/events")
    shown += caplog.text + repr([record.__dict__ for record in caplog.records])
    for hidden in HIDDEN:
        assert hidden not in shown
    if script is _quote_in_results:
        assert "you sent" in row.text
        assert "json.secret_quoted" in shown


@pytest.mark.usefixtures("secret")
async def test_a_card_that_quotes(caplog: pytest.LogCaptureFixture) -> None:
    """G8: a card made from the request's own headers shows no credential, nor does its refusal."""
    caplog.set_level(logging.DEBUG)
    async with RawAgent() as agent:

        async def card(seen: Seen, reply: Reply) -> None:
            said = seen.headers["authorization"]
            quoting = agent.card | {
                "description": f"{said} for work",
                "skills": [{"id": "s", "name": said}],
            }
            await reply.respond(200, JSON, json.dumps(quoting))

        agent.on("AgentCard", card)
        async with _faced(agent, auth=AUTHS["bearer"]) as face:
            shown = await _shown(face)
            assert "**** for work" in shown
        agent.card = agent.card | {"supportedInterfaces": [{"url": SECRET, "protocolBinding": 1}]}
        async with _faced(agent, auth=AUTHS["bearer"]) as face:
            shown += await _shown(face)
    assert SECRET not in shown + caplog.text


async def test_versions_of_thousands_of_digits(caplog: pytest.LogCaptureFixture) -> None:
    """A4: versions that are too long for a number are refused as what they are, and not logged as
    a failure of ours.
    """
    digits = "1" * 5000
    async with RawAgent(version=digits) as agent:
        async with registry({"id": "a", "url": agent.url, "version": ">=1"}) as entered:
            assert refused(entered)[0] == "card.version_mismatch"
        agent.card = with_interface(agent.card, protocolVersion=digits)
        async with registry({"id": "a", "url": agent.url}) as entered:
            assert refused(entered)[0] == "card.no_interface"
    assert "Traceback" not in caplog.text


async def test_a_key_of_digits_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """K4: an error whose data holds the key as a number stays the agent's error.

    The key was masked in the JSON's text, which was no JSON any more.
    """
    monkeypatch.setenv("THE_SECRET", "12345678")
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", ERR(-32602, "no such key", data=[{"key": 12345678}]))
        async with locum({"a": {"url": agent.url, "auth": AUTHS["header"]}}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert "no such key" in row.text


@pytest.mark.parametrize("code", ["--5", "9" * 5000, "-", "٣²", "1e9", " 7"])
async def test_an_error_with_a_code_that_is_no_number(code: str) -> None:
    """K4: an odd code keeps nobody from hearing the error; the send was taken to be in doubt."""
    async with RawAgent() as agent:
        said = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "not today"}}
        agent.on("SendStreamingMessage", (200, JSON, json.dumps(said)))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert "not today" in row.text


async def test_a_token_endpoint_that_redirects_to_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A6: the refusal of a redirect names its target, unless that quotes the secret (G8)."""
    hidden = "verysecret"
    monkeypatch.setattr("tests.integration.credentialed.SECRET", hidden)
    async with RawAgent() as agent, RawAgent() as issuer:
        issuer.on("/token", (302, {"location": f"https://{hidden.upper()}.example/"}, ""))
        async with http_for(agent.url, auth=oauth2(issuer)) as http:
            with pytest.raises(Exception, match="redirects to an address that quotes") as caught:
                await http.get(f"{agent.url}/x")
        assert hidden not in str(caught.value).lower()
    assert hidden != TOKEN_SECRET


# Small things that take long to read


def _answer(result: bytes) -> Any:
    async def answer(seen: Seen, reply: Reply) -> None:
        head, tail = b'{"jsonrpc":"2.0","id":1,"result":', b"}"
        await reply.respond(200, JSON, head + result + tail)

    return answer


def _ended_with(artifacts: bytes) -> bytes:
    status = b'{"state":"TASK_STATE_COMPLETED","timestamp":"2099-01-01T00:00:00Z"}'
    return b'{"id":"t1","contextId":"c1","status":%s,"artifacts":%s}' % (status, artifacts)


@pytest.mark.parametrize(
    "artifacts",
    [
        b'[{"artifactId":"a","parts":[' + b",".join([b'{"text":"a"}'] * 500_000) + b"]}]",
        b"[" + b",".join([b'{"artifactId":"a","parts":[]}'] * 300_000) + b"]",
        b'[{"artifactId":"a","parts":[' + b",".join([b"1"] * 3_000_000) + b"]}]",
        b'[{"artifactId":"a","parts":[{"data":[' + b",".join([b"1"] * 3_000_000) + b"]}]}]",
        b"[" + b",".join([b"null"] * 2_000_000) + b"]",
        b"[" * 8_000_000,
    ],
    ids=["parts", "artifacts", "no parts", "numbers", "nulls", "brackets"],
)
async def test_an_answer_of_millions_of_values(artifacts: bytes) -> None:
    """J4: an answer within its bytes that holds millions of values is refused before it is read.

    Reading 15 MB of tiny parts held up every other agent for more than a minute.
    """
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), EOF])
        agent.on("GetTask", _answer(_ended_with(artifacts)))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED", timeout=20)
    assert "over the limit of 100000 values" in row.text


async def test_an_event_of_millions_of_values() -> None:
    """J4, case S7: the same as an event of a stream; GetTask decides then."""
    event = b'data: {"jsonrpc":"2.0","id":1,"result":{"task":%s}}\n\n'
    crowd = event % _ended_with(b"[" + b",".join([b"{}"] * 1_000_000) + b"]")
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])

        async def stream(seen: Seen, reply: Reply) -> None:
            await reply.raw(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            )
            await reply.raw(crowd)
            await reply.hold()

        agent.on("SubscribeToTask", stream)
        agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED", timeout=20)
    assert row.text == "done"


@pytest.mark.parametrize(
    "raw, crowded",
    [
        (b"[1,2,3]", False),
        (b"[" + b"1," * 20 + b"1]", True),
        (b'["' + b",{[" * 100 + b'"]', False),
        (b'["' + b'\\",' * 100 + b'"]', False),
        (b'["' + b"\\\\" * 100 + b'",' + b'"a",' * 20 + b"1]", True),
        (b'["\\\\",' * 1 + b"1," * 20 + b"1]", True),
        (b'"' + b'"' * 100, False),
        (b"", False),
    ],
)
def test_signs_inside_of_texts_are_no_values(raw: bytes, crowded: bool) -> None:
    """J3: a long text with many commas is one value; what an escaped quote ends is not taken in."""
    assert is_crowded(raw, 10) is crowded


async def test_a_bomb_of_comments() -> None:
    """J3: 7 KB that unpack to three million comment lines cost the answer behind them nothing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b":\n" * 32768) for _ in range(100))
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.put(T("WORKING"))

        async def stream(seen: Seen, reply: Reply) -> None:
            await reply.raw(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                b"content-encoding: gzip\r\nconnection: close\r\n\r\n"
            )
            end = packer.compress(reply.event_bytes(EV(T("COMPLETED", "at last"))))
            await reply.raw(bomb + end + packer.flush())
            await reply.hold()

        agent.on("SubscribeToTask", stream)
        async with locum({"bad": agent.url}) as harness:
            row = await harness.spawn("p", agent="bad", goal="count")
            await agent.seen("SubscribeToTask")
            ended = await until(harness, row.id, "COMPLETED")
            assert ended.text == "at last"


# What callers send


async def test_a_forwarded_address_is_nobodys_own() -> None:
    """D5: a sender that writes another X-Forwarded-For each time is refused like one that does not.

    The server believed the header of whoever is on this machine.
    """
    async with front({"limits": {"push_refusals": 5}}) as face:
        statuses = []
        for count in range(8):
            headers = {"X-Forwarded-For": f"198.51.100.{count}", "Authorization": "Bearer wrong"}
            answer = await face.http.post("/a2a/push/st-1", json={}, headers=headers)
            statuses.append(answer.status_code)
    assert statuses == [401] * 5 + [429] * 3


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_what_a_proxy_hands_on_is_not_local(name: str) -> None:
    """J1: without a token, what came through a proxy is not taken for this machine's."""
    async with front() as face:
        assert (await face.http.get("/v1/agents")).status_code == 200
        answer = await face.http.get("/v1/agents", headers={name: "127.0.0.1"})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.not_local")


@pytest.mark.parametrize("cursor", [2**63, 10**30])
async def test_a_cursor_beyond_all_cursors(cursor: int) -> None:
    """J2: a cursor that no store can hold is refused; it was an internal error."""
    async with front() as face:
        for path in ("notifications", "notifications/stream"):
            answer = await face.http.get(f"/v1/parents/p/{path}", params={"after": cursor})
            assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
        answer = await face.http.get("/v1/parents/p/notifications", params={"after": 2**63 - 1})
        assert answer.json() == {"notifications": [], "cursor": 2**63 - 1}


def _nested(levels: int, *, lists: bool) -> Any:
    data: Any = 1
    for _ in range(levels):
        data = [data] if lists else {"a": data}
    return data


@pytest.mark.parametrize("lists", [True, False])
async def test_data_that_protobuf_cannot_hold(lists: bool) -> None:
    """J2: data nested deeper than A2A can carry is refused as that; it was an internal error."""
    async with RawAgent() as agent, _faced(agent) as face:
        for levels, status in ((32, 201), (33, 400), (60, 400), (64, 400)):
            body = {"agent": "a", "goal": "g", "parts": [{"data": _nested(levels, lists=lists)}]}
            answer = await face.http.post("/v1/parents/p/sub-tasks", json=body)
            assert answer.status_code == status
        _, *more = await agent.seen("SendStreamingMessage")
        assert not more
        assert len((await face.http.get("/v1/parents/p/sub-tasks")).json()["sub_tasks"]) == 1
