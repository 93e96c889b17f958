"""Reading the body of a response, bounded in size, unpacked where it is packed. Knows no A2A.

The stream that the SDK reads from is here too: it pulls pieces through the framer, and closes the
connection as soon as nothing more counts.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx

from .budget import Place
from .faults import TooLargeError
from .framer import Framer
from .inflate import Inflater
from .notes import CallNotes, WireLimits
from .sse import Kind, SseParser, sniff

__all__ = ["EventStream", "Pieces", "declared_kind", "read_answer", "read_body"]

_SNIFFED: Final = 64


def declared_kind(content_type: str) -> Kind:
    """What the content type says the body is; "words" when it says nothing that is of use."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence == "text/event-stream":
        return "sse"
    return "json" if essence.endswith(("/json", "+json")) else "words"


class Pieces:
    """The body of a response, unpacked, piece by piece; none is empty.

    A packed body ends where its packing does, whatever comes after that: the rest is not read. One
    that ends before is cut off, like one whose connection broke: httpx.RemoteProtocolError.
    """

    def __init__(self, response: httpx.Response, notes: CallNotes) -> None:
        self._inflater = Inflater(response.headers.get("content-encoding", ""))
        if self._inflater.packed:
            notes.note(["http.content_encoding"])
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._notes = notes
        self._raw: AsyncIterator[bytes] = response.stream.__aiter__()
        self._steps: Iterator[bytes] = iter(())

    def __aiter__(self) -> "Pieces":
        return self

    async def __anext__(self) -> bytes:
        while True:
            step = next(self._steps, None)
            if self._inflater.packed:
                # A small piece unpacks to a thousand times its size, and pieces without an end may
                # unpack to nothing at all: others get their turn (J4).
                await asyncio.sleep(0)
            if step:
                return step
            if self._inflater.over:
                self._notes.note(["http.trailing_bytes"])
                raise StopAsyncIteration
            if step is None:
                self._steps = self._inflater.feed(await self._pull())

    async def _pull(self) -> bytes:
        try:
            return await anext(self._raw)
        except StopAsyncIteration:
            self._inflater.finish()
            raise


async def read_body(response: httpx.Response, notes: CallNotes, limit: int, *, cut: bool) -> bytes:
    """All of the body. Over the limit it is cut there, or TooLargeError is raised."""
    length = response.headers.get("content-length", "")
    if not cut and length.isdecimal() and int(length) > limit:
        raise TooLargeError("the answer", limit)
    body = bytearray()
    async for piece in Pieces(response, notes):
        body += piece
        if len(body) > limit:
            if cut:
                return bytes(body[:limit])
            raise TooLargeError("the answer", limit)
    return bytes(body)


async def read_answer(
    response: httpx.Response, notes: CallNotes, limit: int, declared: Kind
) -> tuple[Kind, bytes, bool]:
    """What a call that is no stream was answered with: one JSON body, or events after all.

    Of events the first that holds something is the answer, and nothing after it is waited for: the
    rest can be heard on a stream of its own. The last member tells that it was named an error.
    """
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise TooLargeError("the answer", limit)
    body = bytearray()
    kind: Kind | None = None
    parser = SseParser(limit)
    async for piece in Pieces(response, notes):
        body += piece
        kind = kind or sniff(bytes(body[:_SNIFFED]), declared)
        if kind == "sse":
            for event in parser.feed(bytes(body)):
                if event.data.strip():
                    return kind, event.data, event.name == b"error"
            body.clear()
        if len(body) > limit:
            raise TooLargeError("the answer", limit)
    last = parser.finish() if kind == "sse" else None
    if last is not None:
        return "sse", last.data, last.name == b"error"
    return kind or declared, bytes(body), False


class EventStream(httpx.AsyncByteStream):
    """The frames of one streamed answer, for the SDK to read. Closing it hangs up, at once (D11)."""

    def __init__(
        self,
        response: httpx.Response,
        notes: CallNotes,
        framer: Framer,
        limits: WireLimits,
        place: Place,
    ) -> None:
        self._response = response
        self._pieces = Pieces(response, notes)
        self._notes = notes
        self._framer = framer
        self._limits = limits
        self._place = place
        self._frames: Iterator[bytes] = iter(())
        self._deadline: float | None = None
        self._closed = False

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> bytes:
        try:
            frame = await self._next()
        except BaseException:
            await self.aclose()
            raise
        if frame is None:
            raise StopAsyncIteration
        return frame

    async def aclose(self) -> None:
        """Hang up and give the place back; what was not handed on by then is dropped."""
        self._frames = iter(())
        await self._close()

    async def _close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._response.aclose()
            finally:
                self._place.leave()

    async def _next(self) -> bytes | None:
        while True:
            # What has arrived is looked into when it is the agent's turn to cost something.
            await self._notes.turn()
            frame = next(self._frames, None)
            if self._framer.over and not self._closed:
                if self._limits.closing_time:
                    self._notes.closed = await self._ends_by_itself()
                await self._close()
            if frame is not None or self._closed:
                return frame
            await self._pull()

    async def _ends_by_itself(self) -> bool:
        """True when the agent ends the stream in the time that it is given. What comes is dropped."""
        try:
            async with asyncio.timeout(self._limits.closing_time):
                async for _ in self._pieces:
                    pass
        except TimeoutError:
            return False
        except httpx.TransportError:
            pass  # A connection that breaks now is closed as well (K5).
        return True

    async def _pull(self) -> None:
        """Get the next piece. An answer that is no stream has to be over in time (J3)."""
        self._place.hold(self._framer.held)
        if self._deadline is None and self._framer.kind in ("json", "words"):
            self._deadline = asyncio.get_running_loop().time() + self._limits.call_time
        try:
            if self._deadline is None:
                piece = await anext(self._pieces)
            else:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(self._pieces)
        except TimeoutError as late:
            raise httpx.ReadTimeout("the answer did not end in time") from late
        except StopAsyncIteration:
            # Whatever the end of the body completes comes out, and then nothing more.
            self._frames = self._framer.finish()
            await self._close()
            return
        self._frames = self._framer.feed(piece)
