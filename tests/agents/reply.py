"""How a raw agent answers one request: any status, any header, any bytes, any ending."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Coroutine, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from .frames import COMMENT, CUT, EOF, ERR, EV, HOLD, RST, WAIT, Binding, End, Frame, Json
from .seen import Seen

__all__ = ["HungUpError", "Reply"]

Got = TypeVar("Got")
Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class HungUpError(Exception):
    """The client closed the connection; raised out of the writer so that a handler just ends."""


class Reply:
    """Writes the answer to `seen`. Every method returns when the bytes are handed to the kernel.

    A handler that returns without an ending gets the fitting one: a stream is ended cleanly, and
    an answer that was never begun is a closed connection.
    """

    def __init__(
        self,
        seen: Seen,
        binding: Binding,
        writer: asyncio.StreamWriter,
        *,
        keep_alive: bool,
    ) -> None:
        self.seen = seen
        self.binding = binding
        self._writer = writer
        self._keep_alive = keep_alive
        self._chunked = False
        self.begun = False
        self.ended = False
        self.reusable = False
        """True when the connection can carry another request."""

    # Whole answers

    async def respond(
        self, status: int = 200, headers: Headers = (), body: bytes | str = b""
    ) -> None:
        """A whole HTTP answer. `content-length` is added unless `headers` frames the body."""
        payload = body.encode() if isinstance(body, str) else body
        given = _pairs(headers)
        names = {name.lower() for name, _ in given}
        if not names & {"content-length", "transfer-encoding"} and status != 204:
            given.append(("content-length", str(len(payload))))
        await self.raw(self._head(status, given) + payload)
        self.reusable = self._keep_alive
        await self._finish()

    async def json(self, result: Any, *, status: int = 200, headers: Headers = ()) -> None:
        """`result` as the binding carries it: in a JSON-RPC response, or bare.

        A task or message that answers a send is put into its `task` or `message` wrapper.
        """
        body = self._dumped(self._enveloped(self._answer(result)))
        await self.respond(status, [("content-type", "application/json"), *_pairs(headers)], body)

    async def error(
        self,
        code: int,
        message: str = "the agent says no",
        *,
        data: Any = None,
        status: int | None = None,
        headers: Headers = (),
    ) -> None:
        """An A2A error by its JSON-RPC code, in the way of the binding; see `ERR`."""
        await self.play([ERR(code, message, data, status, tuple(_pairs(headers)))])

    # Streams

    async def sse(
        self,
        *,
        status: int = 200,
        content_type: str | None = "text/event-stream",
        headers: Headers = (),
        chunked: bool = True,
    ) -> None:
        """The head of a stream; the bodies below open it by themselves when it was left out.

        `content_type` None leaves the header out; `chunked` False ends the body with the
        connection.
        """
        given = [] if content_type is None else [("content-type", content_type)]
        given += [("cache-control", "no-store"), *_pairs(headers)]
        if chunked:
            given.append(("transfer-encoding", "chunked"))
        self._chunked = chunked
        await self.raw(self._head(status, given))

    async def event(self, x: Any, **how: Any) -> None:
        """One server-sent event; `how` as in `EV`."""
        step = x if isinstance(x, EV) else EV(x, **how)
        await self.send(self.event_bytes(step))

    def event_bytes(self, step: EV) -> bytes:
        """The bytes of one event, its blank line included."""
        text = step.x
        if isinstance(text, ERR):
            text = {"error": text.rpc()} if self.binding == "JSONRPC" else text.rest()[1]
            text = self._dumped(self._labelled(text), pretty=step.pretty)
        elif not isinstance(text, str):
            x = text.wrapped() if isinstance(text, Frame) else text
            text = self._dumped(self._enveloped(x), pretty=step.pretty)
        lines = [] if step.name is None else [f"event: {step.name}"]
        lines += [] if step.id is None else [f"id: {step.id}"]
        lines += [f"data: {line}" for line in text.split("\n")]
        return (step.newline.join(lines) + step.newline * 2).encode("utf-8", "surrogatepass")

    async def comment(self, text: str = " ping") -> None:
        """A comment line and a blank one, as keep-alives are sent."""
        await self.send(f":{text}\n\n".encode())

    async def send(self, data: bytes) -> None:
        """A piece of the body, as one chunk. Opens the stream when nothing was said yet."""
        if not self.begun:
            await self.sse()
        if not data:
            return
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)

    async def drip(self, data: bytes, *, pause: float = 0.0, size: int = 1) -> None:
        """A piece of the body, `size` bytes a packet with `pause` seconds between them."""
        for start in range(0, len(data), size):
            await self.send(data[start : start + size])
            await asyncio.sleep(pause)

    async def raw(self, data: bytes) -> None:
        """Bytes straight onto the connection: no head and no chunk is added."""
        self.begun = True
        if self.seen.hung_up.is_set() or self._writer.is_closing():
            raise HungUpError
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as gone:
            self.seen.hung_up.set()
            raise HungUpError from gone

    # Endings

    async def eof(self) -> None:
        """A clean end of the answer."""
        if self._chunked:
            await self.raw(b"0\r\n\r\n")
            self.reusable = self._keep_alive
        await self._finish()

    async def cut(self) -> None:
        """The connection closed (FIN) without the end of the body."""
        await self._finish()

    async def reset(self) -> None:
        """The connection reset (RST)."""
        # What was written must have left for the client, or the reset would overtake it.
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
        sock = self._writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.ended = True
        self._writer.transport.abort()

    async def hold(self) -> None:
        """Say nothing more until the client hangs up."""
        await self.seen.hung_up.wait()
        raise HungUpError

    async def wait(self, event: asyncio.Event) -> None:
        """Wait for `event`; raises HungUpError when the client hangs up first."""
        await self.race(event.wait())

    async def race(self, awaited: Coroutine[Any, Any, Got]) -> Got:
        """The result of `awaited`; raises HungUpError when the client hangs up first."""
        wanted = asyncio.create_task(awaited)
        hung_up = asyncio.create_task(self.seen.hung_up.wait())
        try:
            await asyncio.wait([wanted, hung_up], return_when=asyncio.FIRST_COMPLETED)
            if not wanted.done():
                raise HungUpError
            return wanted.result()
        finally:
            wanted.cancel()
            hung_up.cancel()
            await asyncio.gather(wanted, hung_up, return_exceptions=True)

    # Scripts

    async def play(self, steps: Iterable[Any]) -> None:
        """The steps of a script, one after another: see `frames` for what a step may be.

        Besides those: bytes are a piece of the body, a frame or a JSON object is a whole answer,
        an asyncio.Event is waited for, and `(status, headers, body)` is a whole HTTP answer.
        """
        for step in steps:
            match step:
                case EV():
                    await self.event(step)
                case ERR():
                    await self._play_error(step)
                case COMMENT(text):
                    await self.comment(text)
                case WAIT(seconds):
                    await asyncio.sleep(seconds)
                case asyncio.Event():
                    await self.wait(step)
                case End():
                    await self._play_end(step)
                case bytes():
                    await self.send(step)
                case (int() as status, headers, body):
                    await self.respond(status, headers, body)
                case _:
                    await self.json(step)

    async def _play_error(self, step: ERR) -> None:
        kind = ("content-type", "application/json")
        if self.binding == "JSONRPC":
            body = self._dumped(self._labelled({"error": step.rpc()}))
            await self.respond(step.status or 200, [kind, *step.headers], body)
        else:
            status, payload = step.rest()
            await self.respond(status, [kind, *step.headers], self._dumped(payload))

    async def _play_end(self, step: End) -> None:
        if step is EOF:
            await self.eof()
        elif step is CUT:
            await self.cut()
        elif step is RST:
            await self.reset()
        elif step is HOLD:
            await self.hold()

    async def finish(self) -> None:
        """The fitting ending, when the handler left it out."""
        if not self.ended:
            await (self.eof() if self.begun else self.cut())

    # Inside

    def _answer(self, result: Any) -> Any:
        if not isinstance(result, Frame):
            return result
        sends = ("SendMessage", "SendStreamingMessage", "SubscribeToTask")
        return result.wrapped() if self.seen.method in sends else result.stamped()

    def _enveloped(self, x: Any) -> Any:
        bare = self.binding != "JSONRPC" or self.seen.method in ("", "AgentCard")
        return x if bare else self._labelled({"result": x})

    def _labelled(self, body: Json) -> Json:
        if self.binding != "JSONRPC":
            return body
        return {"jsonrpc": "2.0", "id": self.seen.rpc_id} | body

    def _dumped(self, x: Any, *, pretty: bool = False) -> str:
        return json.dumps(x, indent=1 if pretty else None)

    def _head(self, status: int, headers: list[tuple[str, str]]) -> bytes:
        if not self._keep_alive:
            headers = [*headers, ("connection", "close")]
        known = status in HTTPStatus._value2member_map_
        phrase = HTTPStatus(status).phrase if known else "Said"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def _finish(self) -> None:
        self.ended = True
        if not self.reusable and not self._writer.is_closing():
            self._writer.close()


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    return list(headers.items()) if isinstance(headers, Mapping) else list(headers)
