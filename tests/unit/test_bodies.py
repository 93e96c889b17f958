"""Reading bodies piece by piece, and who gets a turn meanwhile."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from locum.adapters.a2a.wire.bodies import Pieces, read_body
from locum.adapters.a2a.wire.notes import CallNotes

STEPS = 100
_PACKER = zlib.compressobj(wbits=31)
_SYNCED = _PACKER.compress(b"") + _PACKER.flush(zlib.Z_SYNC_FLUSH)
TWO = gzip.compress(b'{"id": ') + gzip.compress(b'"t1"}')


class _Body(httpx.AsyncByteStream):
    """A body that comes in these pieces, with nothing to wait for. `read` is how many were."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.read += 1
            yield piece


def packed(body: _Body, encoding: str = "gzip") -> httpx.Response:
    """The answer with this body."""
    return httpx.Response(200, headers={"content-encoding": encoding}, stream=body)


async def turns_of_others(response: httpx.Response) -> tuple[int, int]:
    """How much the body unpacks to, and how many turns others had while it was read."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(others())
    size = sum([len(step) async for step in Pieces(response, CallNotes("SubscribeToTask"))])
    task.cancel()
    return size, turns


async def test_what_unpacks_a_thousandfold_takes_turns() -> None:
    """J4: a few KB that unpack to megabytes are read in steps, and others go on between any two.

    All of it was read in one go, and nothing else was done for 20 seconds.
    """
    size, turns = await turns_of_others(packed(_Body(gzip.compress(bytes(STEPS << 16)))))
    assert size == STEPS << 16
    assert turns >= STEPS - 1


@pytest.mark.parametrize(
    "pieces",
    [
        [_SYNCED, *[b"\0\0\0\xff\xff"] * STEPS, b"\3\0" + bytes(8)],
        [gzip.compress(b"")] * STEPS,
        [gzip.compress(b"") * STEPS],
    ],
    ids=["blocks", "members", "one piece"],
)
async def test_what_unpacks_to_nothing_takes_turns(pieces: Sequence[bytes]) -> None:
    """J4: packed pieces that hold nothing go on without an end, and others go on between them."""
    size, turns = await turns_of_others(packed(_Body(*pieces)))
    assert size == 0
    assert turns >= STEPS - 1


@pytest.mark.parametrize("length", [1, 7, len(TWO)])
async def test_members_of_one_body(length: int) -> None:
    """K1: a gzip body may hold several members, cut into pieces anywhere (RFC 1952, 2.2)."""
    notes = CallNotes("GetTask")
    body = _Body(*(TWO[at : at + length] for at in range(0, len(TWO), length)))
    assert await read_body(packed(body), notes, 1024, cut=False) == b'{"id": "t1"}'
    assert notes.anomalies == ["http.content_encoding"]


@pytest.mark.parametrize(
    "encoding,content,rest",
    [
        ("gzip", gzip.compress(b"{}"), b"\0" * 65536),
        ("gzip", gzip.compress(b"{}"), b"\x1f"),
        ("gzip", gzip.compress(b"{}") + b"\0", b"\0"),
        ("deflate", zlib.compress(b"{}"), gzip.compress(b"more")),
    ],
    ids=["zeros", "half a mark", "same piece", "deflate"],
)
async def test_what_comes_after_a_packed_body(encoding: str, content: bytes, rest: bytes) -> None:
    """J3, K2: a packed body ends where its packing does; what follows is neither kept nor read.

    All of it was kept, outside of every limit, and copied anew with each piece.
    """
    notes = CallNotes("GetTask")
    body = _Body(content, *[rest] * STEPS)
    assert await read_body(packed(body, encoding), notes, 1024, cut=False) == b"{}"
    assert body.read <= 3
    assert notes.anomalies == ["http.content_encoding", "http.trailing_bytes"]


async def test_a_second_member_that_is_none() -> None:
    """K4: what begins like a member and is none cannot be unpacked."""
    body = _Body(gzip.compress(b"{}"), b"\x1f\x8b and so on")
    with pytest.raises(httpx.DecodingError):
        await read_body(packed(body), CallNotes("GetTask"), 1024, cut=False)


def _packed_as(encoding: str, content: bytes) -> bytes:
    packer = zlib.compressobj(wbits={"gzip": 31, "zlib": 15, "raw": -15}[encoding])
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize("encoding", ["gzip", "zlib", "raw"])
async def test_a_packed_body_that_is_cut_off(encoding: str) -> None:
    """K4: wherever a packed body is cut off, that is told as a connection that broke.

    It was taken for the whole of it, as long as what came could be read.
    """
    whole = _packed_as(encoding, b"y" + bytes(3 << 16))
    header = "gzip" if encoding == "gzip" else "deflate"
    for length in (1, 10, len(whole) // 2, len(whole) - 1):
        for size in (7, length):
            body = _Body(*(whole[at : min(at + size, length)] for at in range(0, length, size)))
            with pytest.raises(httpx.RemoteProtocolError, match="cut off"):
                await read_body(packed(body, header), CallNotes("GetTask"), 1 << 20, cut=False)


@pytest.mark.parametrize("encoding", ["gzip", "zlib", "raw"])
@pytest.mark.parametrize("odd", range(-2, 3))
async def test_what_unpacks_to_whole_steps_is_not_cut_off(encoding: str, odd: int) -> None:
    """J3: the last byte read, some of what it unpacks to may still be to come; that is read too."""
    content = bytes((2 << 16) + odd)
    whole = _packed_as(encoding, content)
    header = "gzip" if encoding == "gzip" else "deflate"
    notes = CallNotes("GetTask")
    assert await read_body(packed(_Body(whole), header), notes, 1 << 20, cut=False) == content


async def test_an_empty_body_is_not_cut_off() -> None:
    """K2: an answer that says it is packed and has nothing in it is an empty one."""
    assert await read_body(packed(_Body()), CallNotes("GetTask"), 1024, cut=False) == b""
