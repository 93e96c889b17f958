"""The pool tells truly whether a request can have reached the agent, and dials only what it may."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from locum.adapters.a2a.wire.faults import AddressRefusedError, TooLargeError
from locum.adapters.a2a.wire.notes import CALL, CallNotes, WireLimits
from locum.adapters.a2a.wire.pool import open_pool
from locum.core.errors import CardError

from .certificates import authority

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def server(handler: Handler, **how: Any) -> AsyncIterator[int]:
    """A raw TCP server on loopback; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, **how)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await listening.wait_closed()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """The head of one request."""
    return await reader.readuntil(b"\r\n\r\n")


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset the connection (RST)."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def post(
    port: int, *, pool: httpx.AsyncBaseTransport | None = None, url: str = "", **how: Any
) -> tuple[httpx.Response | Exception, CallNotes]:
    """One POST, and whether the pool says that something left."""
    notes = CallNotes("SendMessage")
    token = CALL.set(notes)
    try:
        async with httpx.AsyncClient(transport=pool or open_pool(), trust_env=False) as http:
            return await http.post(url or f"http://127.0.0.1:{port}/x", json={"a": 1}, **how), notes
    except (httpx.HTTPError, TooLargeError) as fault:
        return fault, notes
    finally:
        CALL.reset(token)


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def test_refused_means_not_sent() -> None:
    """C7: a connection that is refused, or a name without an address, is no doubt."""
    for url in (f"http://127.0.0.1:{unused_port()}/x", "http://nowhere.invalid/x"):
        fault, notes = await post(0, url=url)
        assert isinstance(fault, httpx.ConnectError)
        assert not notes.sent


async def test_hung_up_after_reading_means_sent() -> None:
    """C7: the server that reads the request and hangs up may have acted on it."""

    async def read_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)

    async def read_and_reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        reset(writer)

    for handler in (read_and_close, read_and_reset):
        async with server(handler) as port:
            fault, notes = await post(port)
            assert isinstance(fault, httpx.RemoteProtocolError | httpx.ReadError)
            assert notes.sent


async def test_silence_is_a_read_timeout() -> None:
    """C7: a server that takes the request and says nothing in time."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server(silent) as port:
        fault, notes = await post(port, timeout=httpx.Timeout(5, read=0.1))
        assert isinstance(fault, httpx.ReadTimeout)
        assert notes.sent


async def test_no_handshake_is_no_doubt() -> None:
    """C7: a TLS handshake that never ends, or fails, comes before the request."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with server(silent) as port:
        url = f"https://127.0.0.1:{port}/x"
        fault, notes = await post(port, url=url, timeout=httpx.Timeout(5, connect=0.2))
        assert isinstance(fault, httpx.ConnectTimeout)
        assert not notes.sent
    async with server(plain) as port:
        fault, notes = await post(port, url=f"https://127.0.0.1:{port}/x")
        assert isinstance(fault, httpx.ConnectError)
        assert not notes.sent


async def test_an_untrusted_certificate_is_no_doubt() -> None:
    """C7: a certificate that is not trusted stops everything before the request; a trusted one not."""
    issued = authority()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(OK)
        await writer.drain()

    async with server(answer, ssl=issued.server_context()) as port:
        url = f"https://localhost:{port}/x"
        fault, notes = await post(port, url=url)
        assert isinstance(fault, httpx.ConnectError)
        assert not notes.sent
        trusting = ssl.create_default_context(cadata=issued.pem)
        response, notes = await post(port, url=url, pool=open_pool(ssl_context=trusting))
        assert isinstance(response, httpx.Response)
        assert response.text == "ok"


async def test_hanging_up_is_seen_at_once() -> None:
    """D11: a server sees the close of a half-read body within a second, in the clear and over TLS."""
    issued = authority()
    trusting = ssl.create_default_context(cadata=issued.pem)
    closed = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n")
        await writer.drain()
        assert not await reader.read()
        closed.set()

    for scheme, how in (("http", {}), ("https", {"ssl": issued.server_context()})):
        closed.clear()
        async with server(hold, **how) as port:
            pool = open_pool(ssl_context=trusting)
            request = httpx.Request("GET", f"{scheme}://localhost:{port}/x")
            response = await pool.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            assert await anext(aiter(response.stream)) == b"x"
            await response.aclose()
            async with asyncio.timeout(1):
                await closed.wait()
            await pool.aclose()


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    ],
)
async def test_what_is_no_http(said: bytes) -> None:
    """K4: an answer that is no HTTP comes after the request was read."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(said)
        await writer.drain()
        await reader.read()

    async with server(answer) as port:
        fault, notes = await post(port)
        assert isinstance(fault, httpx.RemoteProtocolError)
        assert notes.sent


@pytest.mark.parametrize("ending", ["close", "reset", "silence"])
async def test_a_body_that_breaks(ending: str) -> None:
    """C7: an answer that is cut off is never taken to be whole."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf")
        await writer.drain()
        if ending == "reset":
            reset(writer)
        if ending == "silence":
            await reader.read()

    async with server(answer) as port:
        fault, _ = await post(port, timeout=httpx.Timeout(5, read=0.2))
        assert isinstance(fault, httpx.ReadTimeout if ending == "silence" else httpx.ReadError)


async def test_an_endless_head_is_refused() -> None:
    """J3: a header line, a status line or a head without an end."""
    for piece in (b"x" * 999, b"a: b\r\n" * 99):

        async def answer(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, piece: bytes = piece
        ) -> None:
            await read_head(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n")
            while not writer.is_closing():
                writer.write(piece)
                await writer.drain()

        async with server(answer) as port:
            limits = WireLimits(header_limit=4096, header_count=50)
            fault, _ = await post(port, pool=open_pool(limits=limits))
            assert isinstance(fault, TooLargeError)


async def test_posts_are_not_sent_again() -> None:
    """C7: a connection that is dropped while a POST is on its way is no reason for another."""
    seen: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_head(reader))
        await reader.readexactly(7)
        writer.write(OK)
        await writer.drain()
        seen.append(await read_head(reader))

    async with server(answer_once) as port, httpx.AsyncClient(transport=open_pool()) as http:
        assert (await http.post(f"http://127.0.0.1:{port}/x", content=b"{'a':1}")).text == "ok"
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(f"http://127.0.0.1:{port}/x", content=b"{'a':1}")
        assert len(seen) == 2


async def test_a_header_that_cannot_be_sent_is_not_sent() -> None:
    """G8, C7: a line break in a header is refused here, before anything leaves."""

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert not await reader.read()

    async with server(never) as port:
        fault, notes = await post(port, headers={"X-A": "a\r\nX-B: b"})
        assert isinstance(fault, httpx.LocalProtocolError)
        assert not notes.sent
    fault, notes = await post(0, url="ftp://127.0.0.1/x")
    assert isinstance(fault, httpx.UnsupportedProtocol)


async def test_large_requests_are_sent_whole() -> None:
    """C3: a brief with megabytes of parts."""
    sizes: list[int] = []

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        sizes.append(len(await reader.readexactly(3 << 20)))
        writer.write(OK)
        await writer.drain()

    async with server(count) as port, httpx.AsyncClient(transport=open_pool()) as http:
        response = await http.post(f"http://127.0.0.1:{port}/x", content=b"x" * (3 << 20))
        assert (response.text, sizes) == ("ok", [3 << 20])


async def test_the_request_says_only_what_httpx_wrote() -> None:
    """A1, G8: no header is added, no cookie is kept, and the path's escapes stay as they are."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            heads.append(await read_head(reader))
            writer.write(b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()

    async with server(answer) as port:
        pool = open_pool()
        url = f"http://127.0.0.1:{port}/a%2Fb/%2E%2E?q=%20%2B"
        for _ in range(2):
            request = httpx.Request("GET", url, headers={"X-One": "1"})
            response = await pool.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            assert [piece async for piece in response.stream] == []
            await response.aclose()
        await pool.aclose()
    expected = f"GET /a%2Fb/%2E%2E?q=%20%2B HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-one: 1\r\n\r\n"
    assert [head.decode().lower() for head in heads] == [expected.lower()] * 2


async def test_a_closed_pool_sends_nothing() -> None:
    """C7, F4: after the shutdown a call is unreachable, not in doubt."""
    pool = open_pool()
    await pool.aclose()
    fault, notes = await post(1, pool=pool)
    assert isinstance(fault, httpx.ConnectError)
    assert not notes.sent


# The guard (A4)


def refuse(host: str, address: str) -> None:
    """A guard that lets nothing through."""
    raise CardError(f"{address} is private", code="card.private_address")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_guard_sees_every_address(host: str) -> None:
    """A4: resolved or literal, an address is looked at before it is dialled."""
    seen: list[tuple[str, str]] = []

    def note(host: str, address: str) -> None:
        seen.append((host, address))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(OK)
        await writer.drain()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("it was dialled")

    async with server(answer) as port:
        response, _ = await post(port, url=f"http://{host}:{port}/x", pool=open_pool(guard=note))
        assert isinstance(response, httpx.Response)
        assert (host, "127.0.0.1") in seen
    async with server(never) as port:
        fault, notes = await post(port, url=f"http://{host}:{port}/x", pool=open_pool(guard=refuse))
        assert isinstance(fault, AddressRefusedError)
        assert isinstance(fault.__cause__, CardError)
        assert not notes.sent


@pytest.mark.parametrize("host", ["[::1]", "2130706433", "127.1", "0x7f.1", "127.0.0.1."])
async def test_other_spellings_of_an_address(host: str) -> None:
    """A4: no spelling of an address slips past the guard."""
    fault, notes = await post(0, url=f"http://{host}:1/x", pool=open_pool(guard=refuse))
    assert isinstance(fault, AddressRefusedError | httpx.UnsupportedProtocol | httpx.ConnectError)
    assert not notes.sent
    if isinstance(fault, httpx.ConnectError) and not isinstance(fault, AddressRefusedError):
        assert "Cannot connect" in str(fault)
