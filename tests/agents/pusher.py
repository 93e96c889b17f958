"""One HTTP POST over a plain socket, as an agent sends a push. Keeps no connection."""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["PushAnswer", "post"]


@dataclass(frozen=True)
class PushAnswer:
    """What the receiver of a push answered."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


async def post(
    url: str, body: bytes, headers: Iterable[tuple[str, str]], *, timeout: float = 10
) -> PushAnswer:
    """Post `body` to a plain HTTP `url`; the answer, once the connection is closed.

    An answer that comes before the whole body was taken (`413`) is an answer, too.
    Raises OSError when the receiver cannot be reached, TimeoutError after `timeout` seconds.
    """
    target = urlsplit(url)
    path = (target.path or "/") + (f"?{target.query}" if target.query else "")
    lines = [
        f"POST {path} HTTP/1.1",
        f"host: {target.netloc}",
        f"content-length: {len(body)}",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers),
    ]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    async with asyncio.timeout(timeout):
        reader, writer = await asyncio.open_connection(target.hostname, target.port or 80)
        try:
            # The receiver may stop reading a body that is too large: its answer still counts.
            with contextlib.suppress(ConnectionError):
                writer.write(head + body)
                await writer.drain()
            said = await _read_all(reader)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
    head_said, _, content = said.partition(b"\r\n\r\n")
    first, *rest = head_said.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in rest]
    names = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return PushAnswer(int(first.split(" ")[1]), names, content)


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    said = b""
    try:
        while more := await reader.read(65536):
            said += more
    except ConnectionError:
        if not said:
            raise
    return said
