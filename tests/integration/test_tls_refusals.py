"""TLS that does not come about: what the refusal says is what has to be mended (A4, C7)."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from .authority import Authority
from .registries import refused, registry

OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
versions = pytest.mark.parametrize("version", [OLD, NEW], ids=["1.2", "1.3"])


class Two:
    """An authority that the agent is signed by, and one that it does not know."""

    def __init__(self, folder: Path) -> None:
        (folder / "known").mkdir()
        (folder / "strange").mkdir()
        self.known, self.strange = Authority(folder / "known"), Authority(folder / "strange")

    def mtls(self, *, cert: Authority, ca: Authority) -> dict[str, Any]:
        """An auth with our certificate by `cert`, which trusts `ca`."""
        pair = cert.pair("ours")
        files = {"cert_file": pair.cert_file, "key_file": pair.key_file, "ca_file": ca.ca_file}
        return {"auth": {"type": "mtls", **files}}


@pytest.fixture
def two(tmp_path: Path) -> Two:
    """The two authorities."""
    return Two(tmp_path)


def serve(listening: socket.socket, context: ssl.SSLContext) -> None:
    """Take connections as a server does that says why it refuses a handshake, until it is shut.

    asyncio's hangs up without a word.
    """
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        ) as secured:
            try:
                secured.do_handshake()
                secured.recv(1 << 16)
                secured.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            except OSError:
                hang_up(secured.detach())


def hang_up(connection: int) -> None:
    """Close it without a reset, which could overtake what was said."""
    with socket.socket(fileno=connection) as plain, contextlib.suppress(OSError):
        plain.shutdown(socket.SHUT_WR)
        plain.settimeout(5)
        while plain.recv(1 << 16):
            pass


@asynccontextmanager
async def server(two: Two, version: ssl.TLSVersion) -> AsyncIterator[str]:
    """The URL of a server for those who show a certificate that it knows."""
    context = two.known.server_context(wants_client=True)
    context.maximum_version = version
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(serve, listening, context))
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            await serving


async def reason(url: str, **agent: Any) -> str:
    """Why the agent is refused."""
    async with registry({"id": "a", "url": url, **agent}) as entered:
        code, said = refused(entered)
    assert code == "card.unreachable"
    return said


@versions
async def test_an_authority_that_is_not_ours(two: Two, version: ssl.TLSVersion) -> None:
    """A4: a certificate that is not trusted is called that, and ca_file named."""
    for how in ({}, {"ca_file": two.strange.ca_file}, two.mtls(cert=two.known, ca=two.strange)):
        async with server(two, version) as url:
            said = await reason(url, **how)
        assert "its certificate is not trusted (" in said
        assert "certificate in certificate chain" in said or "issuer certificate" in said
        assert "set ca_file" in said
        assert "runs there" not in said


@versions
async def test_a_certificate_that_is_not_taken(two: Two, version: ssl.TLSVersion) -> None:
    """A4: an agent that wants a certificate, or another one, is told apart from one that is down."""
    for how in ({"ca_file": two.known.ca_file}, two.mtls(cert=two.strange, ca=two.known)):
        async with server(two, version) as url:
            said = await reason(url, **how)
        assert "it refuses our TLS (" in said
        assert "alert" in said
        assert "auth of type mtls" in said


@versions
async def test_a_certificate_that_is_taken(two: Two, version: ssl.TLSVersion) -> None:
    """A3: with the right certificate the agent is heard."""
    async with server(two, version) as url:
        assert "HTTP 404" in await reason(url, **two.mtls(cert=two.known, ca=two.known))


async def test_a_server_that_speaks_no_tls(two: Two) -> None:
    """A4: plain HTTP where TLS was expected is called that."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        said = await reason(f"https://127.0.0.1:{port}")
    assert "no TLS (" in said


async def test_a_server_that_hangs_up_amid_the_handshake(two: Two) -> None:
    """A4: asyncio's server says nothing at all, and that is said."""
    context = two.known.server_context(wants_client=True)
    context.maximum_version = OLD

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("it was reached")

    async with await asyncio.start_server(never, "127.0.0.1", 0, ssl=context) as listening:
        port = listening.sockets[0].getsockname()[1]
        said = await reason(f"https://127.0.0.1:{port}", ca_file=two.known.ca_file)
    assert f"127.0.0.1:{port}, it hung up. See that the agent runs there" in said
