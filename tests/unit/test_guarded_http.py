"""The server's protocol, given bytes by hand: its clocks, trailers, and answers broken into (J3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from locum.adapters.settings import LimitSettings
from locum.adapters.web.guarded_http import guarded_http
from tests.loops import Timers

GET = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"


class Line(asyncio.Transport):
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += bytes(data)

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closed

    def pause_reading(self) -> None:
        """Bytes come by hand."""

    def resume_reading(self) -> None:
        """Bytes come by hand."""


class App:
    """Starts an answer, and ends it when told to."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = reads
        self.go_on = asyncio.Event()
        self.started = asyncio.Semaphore(0)
        self.ended = asyncio.Semaphore(0)
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        more = self.reads
        while more:
            more = (await receive()).get("more_body", False)
        self.headers = scope["headers"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        self.started.release()
        await self.go_on.wait()
        await send({"type": "http.response.body", "body": b"done"})
        self.ended.release()


Connect = Callable[[App], tuple[Any, Line]]


@pytest.fixture
def connect() -> Connect:
    """Connects to an application: the protocol that takes bytes, and what it writes to."""

    def connected(app: App) -> tuple[Any, Line]:
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        protocol: Any = guarded_http(LimitSettings(body_limit=10_000))
        line = Line()
        one = protocol(config, ServerState(), {}, asyncio.get_running_loop())
        one.connection_made(line)
        return one, line

    return connected


@pytest.fixture
async def clocks(monkeypatch: pytest.MonkeyPatch) -> Timers:
    """The clocks of heads: nothing else here runs for ten seconds."""
    return Timers(monkeypatch, 10.0)


async def test_no_clock_runs_while_an_answer_is_under_way(connect: Connect, clocks: Timers) -> None:
    """J3: what comes early, an empty line (RFC 9112, section 2.2) or a part of the next head,
    cuts no answer off; the head's time begins when the answer has ended.
    """
    app = App()
    server, line = connect(app)
    assert clocks.running() == 1
    server.data_received(POST + b"{}")
    await app.started.acquire()
    for early in (b"\r\n", b"\r", b"\nGET /x HT", GET.removeprefix(b"GET /x HT")[:-1]):
        server.data_received(early)
        assert clocks.running() == 0
    app.go_on.set()
    await app.ended.acquire()
    assert clocks.running() == 1
    server.data_received(b"\n")
    assert clocks.running() == 0
    await app.ended.acquire()
    assert line.written.count(b"HTTP/1.1 200 OK") == 2
    server.connection_lost(None)


async def test_the_clock_runs_whenever_nothing_is_answered(
    connect: Connect, clocks: Timers
) -> None:
    """J3: an empty line, a head that has begun and the end of a body that was answered before it
    leave no connection open for good.
    """
    app = App(reads=False)
    app.go_on.set()
    server, _ = connect(app)
    server.data_received(POST)
    await app.ended.acquire()
    assert clocks.running() == 0
    for piece in (b"{}", b"\r\n", b"\r\n", b"GE"):
        server.data_received(piece)
        assert clocks.running() == 1
    server.connection_lost(None)
    assert clocks.running() == 0


async def test_a_trailer_is_no_header(connect: Connect) -> None:
    """J1: what comes after the body is not among the headers, which were judged without it."""
    app = App()
    app.go_on.set()
    server, _ = connect(app)
    for _ in range(2):
        server.data_received(CHUNKED + b"1\r\nx\r\n0\r\nx-actor: somebody\r\nx: y\r\n\r\n")
        await app.ended.acquire()
        assert [name for name, _ in app.headers] == [b"host", b"transfer-encoding"]
    server.connection_lost(None)


@pytest.mark.parametrize(
    "piece",
    [b"x-y: z\r\n" * 100, b"x" * 1000, b";x" * 500],
    ids=["trailers", "line", "chunk"],
)
async def test_trailers_have_an_end(connect: Connect, piece: bytes) -> None:
    """J3: endless trailers, one endless trailer and an endless line of a chunk are refused."""
    app = App()
    app.go_on.set()
    server, line = connect(app)
    server.data_received(CHUNKED + b"1\r\nx\r\n")
    server.data_received(b"1" if piece.startswith(b";") else b"0\r\n")
    sent = 0
    while not line.closed and sent < 200_000:
        server.data_received(piece)
        sent += len(piece)
    assert sent <= LimitSettings().header_limit * 5
    assert line.written.startswith(b"HTTP/1.1 431 ")
    server.connection_lost(None)


@pytest.mark.parametrize(
    "piece",
    [b"x-y: z\r\n" * 10, b"x" * 100, b";x" * 50],
    ids=["trailers", "line", "chunk"],
)
async def test_after_an_answer_bytes_are_counted(connect: Connect, piece: bytes) -> None:
    """J3: who was answered already may send on for as long as a body may be, whatever it sends."""
    app = App(reads=False)
    app.go_on.set()
    server, line = connect(app)
    server.data_received(CHUNKED)
    await app.ended.acquire()
    server.data_received(b"1" if piece.startswith(b";") else b"0\r\n")
    sent = 0
    while not line.closed and sent < 20_000:
        server.data_received(piece)
        sent += len(piece)
    assert line.closed
    assert sent <= 10_100
    assert line.written.count(b"HTTP/1.1 ") == 1
    server.connection_lost(None)


@pytest.mark.parametrize(
    "more",
    [
        b"\0\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"\r\n" * 50_000,
    ],
    ids=["no http", "long", "empty lines"],
)
async def test_no_refusal_breaks_into_an_answer(connect: Connect, more: bytes) -> None:
    """J2, J3: what is refused while another answer is under way is hung up on without a word."""
    app = App()
    server, line = connect(app)
    server.data_received(GET)
    await app.started.acquire()
    before = line.written
    server.data_received(more)
    assert line.closed
    assert line.written == before
    app.go_on.set()
    server.connection_lost(None)
    await app.ended.acquire()
