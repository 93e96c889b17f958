"""The door over real HTTP: tokens, hosts, origins, limits, and what is refused before it (J1, J3)."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from .front import front, raw_answer

TOKEN = "correct-horse-battery"
BEHIND = [
    ("GET", "/v1/agents"),
    ("GET", "/v1/roster"),
    ("POST", "/v1/parents/p/sub-tasks"),
    ("GET", "/v1/parents/p/sub-tasks"),
    ("GET", "/v1/sub-tasks/s"),
    ("POST", "/v1/sub-tasks/s/reply"),
    ("POST", "/v1/sub-tasks/s/cancel"),
    ("GET", "/v1/sub-tasks/s/events"),
    ("GET", "/v1/parents/p/notifications"),
    ("GET", "/v1/parents/p/notifications/stream"),
    ("POST", "/v1/parents/p/complete"),
    ("POST", "/v1/parents/p/cancel"),
    ("GET", "/schema"),
    ("GET", "/"),
    ("GET", "/nothing/here"),
    ("OPTIONS", "/v1/agents"),
]


async def test_everything_is_behind_the_token() -> None:
    """J1: without the token nothing of the API answers, not even that a path is not there."""
    async with front(token=TOKEN) as face:
        del face.http.headers["Authorization"]
        for method, path in BEHIND:
            answer = await face.http.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (401, "request.unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        "Bearer \xff\xfe",
        f"Bearer {TOKEN}, Bearer {TOKEN}",
    ],
)
async def test_a_wrong_token(value: str) -> None:
    """J1: what is not the token, as Bearer, is refused."""
    async with front(token=TOKEN) as face:
        answer = await face.http.get(
            "/v1/agents", headers=[(b"Authorization", value.encode("latin-1"))]
        )
        assert answer.status_code == 401


async def test_two_tokens_are_none() -> None:
    """J1: a request with two Authorization headers is refused, though one be right."""
    async with front(token=TOKEN) as face:
        headers = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(f"{face.url}/v1/agents", headers=headers)
        assert answer.status_code == 401


async def test_the_token_opens() -> None:
    """J1: the token opens the API; the scheme's case does not matter (RFC 9110, section 11.1)."""
    async with front(token=TOKEN) as face:
        for scheme in ("Bearer", "bearer"):
            headers = {"Authorization": f"{scheme} {TOKEN}"}
            assert (await face.http.get("/v1/agents", headers=headers)).status_code == 200


async def test_a_token_in_any_letters() -> None:
    """J1: a token of other letters is sent as UTF-8, and one in other bytes is wrong."""
    async with front(token=TOKEN) as face:
        for sent in ("correct-höhe".encode(), "correct-höhe".encode("latin-1")):
            headers = [(b"Authorization", b"Bearer " + sent)]
            assert (await face.http.get("/v1/agents", headers=headers)).status_code == 401


async def test_health_asks_for_nothing() -> None:
    """J1: health answers everybody, by whatever name they call it."""
    async with front(token=TOKEN) as face:
        headers = {"Host": "10.1.2.3", "Origin": "http://evil.example", "Authorization": ""}
        for path in ("/healthz", "/readyz"):
            answer = await face.http.get(path, headers=headers)
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "path",
    [
        "//v1/agents",
        "/healthz/../v1/agents",
        "/healthz/",
        "/v1/agents/",
        "/a2a/push/../../v1/agents",
        "/a2a/push/%2e%2e/%2e%2e/v1/agents",
        "/a2a/push/x/%2fv1/agents",
        "/%76%31/agents",
        "/a2a/push%2f..%2f..%2fv1/agents",
        "/v1/agents%00",
        "/v1/agents?x=/healthz",
    ],
)
async def test_no_spelling_of_a_path_goes_round_the_door(path: str) -> None:
    """J1: the door and the router read a path alike, so none of its spellings needs no token."""
    async with front(token=TOKEN) as face:
        head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        answer = await raw_answer(face.url, head.encode())
        body = answer.partition(b"\r\n\r\n")[2]
        assert b'"agents"' not in body
        assert (b'"status":"ok"' in body) == (path == "/healthz/")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil", "10.0.0.1", ""],
)
async def test_a_name_that_was_rebound(host: str) -> None:
    """J1: on loopback a Host that is not loopback's is a page whose name leads here: refused."""
    async with front() as face:
        head = f"GET /v1/agents HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        answer = await raw_answer(face.url, head.encode())
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"request.foreign_host" in answer


@pytest.mark.parametrize(
    "host", ["127.0.0.1:1", "localhost", "LOCALHOST:8420", "[::1]:8420", "app.localhost", "127.1"]
)
async def test_loopback_by_any_name(host: str) -> None:
    """J1: loopback's own names and addresses are let in, whatever the port says."""
    async with front() as face:
        answer = await face.http.get("/v1/agents", headers={"Host": host})
        assert answer.status_code == 200


async def test_the_public_name() -> None:
    """J1: the host of `server.base_url` is ours, and so is its origin behind a proxy."""
    server = {"base_url": "https://locum.example/below"}
    async with front({"server": server}, token=TOKEN) as face:
        headers = {"Host": "locum.example", "Origin": "https://locum.example"}
        assert (await face.http.get("/v1/agents", headers=headers)).status_code == 200
        headers["Host"] = "127.0.0.1"
        assert (await face.http.get("/v1/agents", headers=headers)).status_code == 200


async def test_off_loopback_addresses_are_names_too() -> None:
    """J1: bound off loopback, where a token is due, any address is a Host; a foreign name is not."""
    async with front({"server": {"host": "0.0.0.0"}}, token=TOKEN) as face:
        answer = await face.http.get("/v1/agents", headers={"Host": "192.0.2.7:8420"})
        assert answer.status_code == 200
        answer = await face.http.get("/v1/agents", headers={"Host": "evil.example"})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", "file://", "x"],
)
@pytest.mark.parametrize("path", ["/v1/agents", "/v1/parents/p/notifications/stream", "/"])
async def test_a_page_elsewhere(origin: str, path: str) -> None:
    """J1: a page on another origin is refused, on the stream too, and gets no CORS header."""
    async with front() as face:
        answer = await face.http.get(path, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.foreign_origin")
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_page_of_our_own() -> None:
    """J1: a page that locum itself has served may call it."""
    async with front() as face:
        port = face.url.rpartition(":")[2]
        for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
            headers = {"Host": host, "Origin": f"http://{host}"}
            assert (await face.http.get("/v1/agents", headers=headers)).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Via", "CF-Connecting-IP", "X-Client-IP"])
async def test_without_a_token_only_this_machine_may_call(header: str) -> None:
    """J1: without a token a sender from elsewhere, as a proxy here reports it, is refused."""
    headers = {header: "203.0.113.9"}
    async with front() as face:
        answer = await face.http.get("/v1/agents", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "request.not_local")
    async with front(token=TOKEN) as face:
        assert (await face.http.get("/v1/agents", headers=headers)).status_code == 200


@pytest.mark.parametrize("actor", ["a" * 201, "tab\there", "\x9c"], ids=["long", "tab", "c1"])
async def test_an_actor_that_is_none(actor: str) -> None:
    """J1: an actor is at most 200 characters, none of them a control."""
    async with front() as face:
        headers = [(b"X-Actor", actor.encode())]
        answer = await face.http.post("/v1/parents/p/cancel", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
        assert "X-Actor" in answer.json()["title"]


async def test_bodies_are_counted_as_they_arrive() -> None:
    """J3: a body past `limits.body_limit` is 413, announced or not."""
    async with front({"limits": {"body_limit": "10KiB"}}) as face:
        path = "/v1/parents/p/sub-tasks"
        announced = await face.http.post(path, content=b"x" * 20_000)
        assert (announced.status_code, announced.json()["code"]) == (413, "request.too_large")
        assert announced.json()["detail"] == {"limit": 10 * 1024}

        async def pieces() -> Any:
            for _ in range(20):
                yield b"x" * 1000

        counted = await face.http.post(path, content=pieces())
        assert counted.status_code == 413


async def test_an_endless_body_is_cut_off() -> None:
    """J3: who goes on sending after the refusal is cut off, and what was sent is not kept."""
    async with front({"limits": {"body_limit": "10KiB"}}) as face:
        head = (
            b"POST /v1/parents/p/sub-tasks HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
        async with asyncio.timeout(10):
            answer = await raw_answer(face.url, head + chunk * 64, pieces=16, pause=0.01)
        assert answer.startswith(b"HTTP/1.1 413 ") or answer == b""


async def test_a_slow_body_is_refused() -> None:
    """J3: a body that does not arrive in time is 408."""
    async with front({"limits": {"body_timeout": "0.2s"}}) as face:
        head = (
            b"POST /v1/parents/p/sub-tasks HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"content-length: 100\r\n\r\n{"
        )
        answer = await raw_answer(face.url, head)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"request.too_slow" in answer


LONG_HEADERS = {
    "line": b"x-long: " + b"a" * 20_000,
    "count": b"\r\n".join(b"x-%d: a" % number for number in range(300)),
    "sum": b"\r\n".join(b"x-%d: %s" % (number, b"a" * 9_000) for number in range(8)),
}


@pytest.mark.parametrize("kind", [*LONG_HEADERS, "endless"])
async def test_heads_are_limited(kind: str) -> None:
    """J3: a head that is too long is 431, a problem document like every refusal."""
    async with front() as face:
        head = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        endless = b"x-endless: " + b"a" * 100_000
        more = endless if kind == "endless" else LONG_HEADERS[kind] + b"\r\n\r\n"
        answer = await raw_answer(face.url, head + more)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "request.head_too_large"


@pytest.mark.parametrize("kind", LONG_HEADERS)
async def test_trailers_are_limited(kind: str) -> None:
    """J3: trailers are headers after the body, with the same limits and the same refusal."""
    async with front() as face:
        head = (
            b"POST /v1/parents/p/sub-tasks HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
        )
        answer = await raw_answer(face.url, head + LONG_HEADERS[kind] + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 431 ")
        problem = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert problem["code"] == "request.head_too_large"
        assert problem["title"].startswith("The trailers are larger than")


@pytest.mark.parametrize("begun", [b"GET / HTTP/1.1\r\nhost:", b"\r\n"])
@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"])
async def test_a_slow_head_is_cut_off(
    before: bytes, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J3: a head that does not get ready ends the connection, the first one and a later one."""
    monkeypatch.setattr("locum.adapters.web.guarded_http._HEAD_TIMEOUT", 0.1)
    async with front() as face:
        answer = await raw_answer(face.url, before + begun)
        assert answer.endswith(b'{"status":"ok"}' if before else b"")
        assert answer.count(b"HTTP/1.1 ") == bool(before)


async def test_what_is_no_http() -> None:
    """J2: bytes that are no request are answered with a problem document, too."""
    async with front() as face:
        answer = await raw_answer(face.url, b"\x16\x03\x01 hello\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"application/problem+json" in answer


async def test_a_connection_is_good_for_many_requests() -> None:
    """J3: the limits of one request are not counted on into the next one."""
    async with front() as face:
        body = json.dumps({"agent": "x", "goal": "g" * 100_000}).encode()
        one = (
            b"POST /v1/parents/p/sub-tasks HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        last = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        answer = await raw_answer(face.url, one * 5 + last)
        assert answer.count(b"HTTP/1.1 404 Not Found") == 5
        assert answer.endswith(b'{"status":"ok"}')


async def test_websockets_are_not_spoken() -> None:
    """J1: a websocket is turned away."""
    async with front() as face:
        head = (
            b"GET /v1/agents HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\n"
            b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
            b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        answer = await raw_answer(face.url, head)
        assert not answer.startswith(b"HTTP/1.1 101 ")
        assert b'"agents"' not in answer
