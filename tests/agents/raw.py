"""A raw A2A agent for tests: a loopback HTTP/1.1 server that says any bytes. No A2A library.

    async with RawAgent("JSONRPC") as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        ...                                   # let the client talk to agent.url
        await agent.seen("GetTask", count=1)

It runs in the test's own event loop and leaves no socket and no task behind. What is not
scripted is answered by `TaskModel`. A handler that fails makes the `async with` fail at its end.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

from .card import BASE_PATH, card_for
from .frames import Binding, Frame, Json
from .model import TaskModel
from .pusher import PushAnswer, post
from .reply import HungUpError, Reply
from .seen import Seen, read_request

__all__ = ["Handler", "RawAgent"]

Handler = Callable[[Seen, Reply], Awaitable[None]]


class RawAgent(TaskModel):
    """One agent on a free port of loopback, in one binding.

    `card` (a dict) is served until a test changes it; options of `card_for` may be given here.
    `keep_alive` lets connections carry several requests; off, each answer closes its own.
    With `ssl` (a server's context) it speaks HTTPS.
    """

    def __init__(
        self,
        binding: Binding = "JSONRPC",
        *,
        host: str = "127.0.0.1",
        keep_alive: bool = False,
        path: str = "",
        ssl: SSLContext | None = None,
        **card: Any,
    ) -> None:
        super().__init__()
        self.binding: Binding = binding
        self.host = host
        self.path = path
        self.port = 0
        """The port it listens on."""
        self.card: Json = {}
        self.requests: list[Seen] = []
        """Every request seen, in order."""
        self._card_options = card
        self._keep_alive = keep_alive
        self._ssl = ssl
        self._scripts: dict[str, list[Any]] = {}
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._busy: set[Seen] = set()
        self._changed: set[asyncio.Future[None]] = set()
        self._failures: list[Exception] = []

    # Life

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self.host, 0, ssl=self._ssl)
        self.port = int(self._server.sockets[0].getsockname()[1])
        self.card = card_for(self.url, [self.binding], **self._card_options)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        if self._failures and error is None:
            raise ExceptionGroup("handlers of the raw agent failed", self._failures)
        for failure in self._failures:
            assert error is not None
            error.add_note(f"a handler of the raw agent failed: {failure!r}")

    async def stop_listening(self) -> None:
        """Refuse new connections from now on; open ones go on."""
        assert self._server is not None
        self._server.close()

    async def listen_again(self) -> None:
        """Take new connections again, on the same port."""
        self._server = await asyncio.start_server(self._accept, self.host, self.port, ssl=self._ssl)

    @property
    def url(self) -> str:
        """The agent's URL: what goes into `[[agents]]`, and the base of its interface's URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "https" if self._ssl else "http"
        return f"{scheme}://{host}:{self.port}{self.path}"

    @property
    def rpc_url(self) -> str:
        """The URL of its interface."""
        return self.url + BASE_PATH[self.binding]

    # Scripts

    def on(self, method: str, *handlers: Any) -> None:
        """Answer `method` with these, one a call; the last one goes on for ever.

        A handler is a list of steps (`Reply.play`), a single step, or an async function of the
        request and the reply. Besides A2A's methods, "AgentCard" and a path ("/token") can be
        scripted. No handler at all gives the method back to the model.
        """
        self._scripts[method] = list(handlers)

    # What happened

    def calls(self, method: str = "") -> list[Seen]:
        """The requests seen so far, of one method or all but the card's."""
        wanted = self.requests if method else [s for s in self.requests if s.method != "AgentCard"]
        return [s for s in wanted if not method or method in (s.method, s.path)]

    async def seen(self, method: str, count: int = 1, timeout: float = 5) -> list[Seen]:
        """Wait until `method` (or a path) was asked for `count` times; all of its requests.

        Raises AssertionError after `timeout` seconds, with what was seen instead.
        """
        await self.until(lambda: len(self.calls(method)) >= count, timeout, f"{count} × {method}")
        return self.calls(method)

    async def all_closed(self, timeout: float = 1) -> None:
        """Wait until no exchange is under way: all are answered or the client hung up.

        Raises AssertionError after `timeout` seconds.
        """
        await self.until(lambda: not self._busy, timeout, "all exchanges over")

    async def until(self, true: Callable[[], bool], timeout: float = 5, what: str = "") -> None:
        """Wait until `true()`; looked at whenever a request comes or an exchange ends.

        Raises AssertionError after `timeout` seconds, with what was seen instead.
        """
        try:
            async with asyncio.timeout(timeout):
                while not true():
                    future = asyncio.get_running_loop().create_future()
                    self._changed.add(future)
                    try:
                        await future
                    finally:
                        self._changed.discard(future)
        except TimeoutError:
            seen = ", ".join(s.method or s.path for s in self.requests) or "nothing"
            busy = ", ".join(s.method or s.path for s in self._busy) or "nothing"
            raise AssertionError(
                f"not within {timeout} s: {what}; seen: {seen}; under way: {busy}"
            ) from None

    @property
    def open_exchanges(self) -> int:
        """How many requests are being answered now, held streams included."""
        return len(self._busy)

    @property
    def open_connections(self) -> int:
        """How many TCP connections clients hold to this agent now."""
        return len(self._connections)

    # Push

    async def push(
        self,
        frame: Frame | bytes | Json | None = None,
        *,
        config: Json | None = None,
        url: str | None = None,
        token: str | None = None,
        token_in: Iterable[str] = ("x-a2a-notification-token", "authorization"),
        content_type: str | None = "application/json",
        headers: Iterable[tuple[str, str]] = (),
    ) -> PushAnswer:
        """Post a notification to a registered config, by default the last one; its answer.

        `frame` is put into a StreamResponse, bytes and other JSON go as they are, and None is the
        snapshot of the config's task. `token_in` names the headers that carry the token.
        """
        config = config or (self.push_configs[-1] if self.push_configs else {})
        if frame is None:
            frame = self.tasks[str(config.get("taskId", "t1"))]
        body = frame.wrapped() if isinstance(frame, Frame) else frame
        token = token if token is not None else str(config.get("token", ""))
        given = list(headers)
        for name in token_in if token else ():
            bearer = name.lower() == "authorization"
            given.append((name, f"Bearer {token}" if bearer else token))
        if content_type is not None:
            given.append(("content-type", content_type))
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await post(url or str(config["url"]), payload, given)

    # Connections

    def _notify(self) -> None:
        for future in self._changed:
            if not future.done():
                future.set_result(None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        self._notify()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lead = b""
        try:
            while True:
                seen = await read_request(reader, len(self.requests) + 1, lead)
                if seen is None:
                    return
                lead, reusable = await self._exchange(seen, reader, writer)
                if not reusable:
                    return
        finally:
            writer.close()
            try:
                await writer.wait_closed()
            except ConnectionError:
                pass  # The client reset it first; it is closed either way.

    async def _exchange(
        self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[bytes, bool]:
        seen.understand(self.binding, self.path + BASE_PATH[self.binding])
        self.requests.append(seen)
        self._busy.add(seen)
        self._notify()
        reply = Reply(seen, self.binding, writer, keep_alive=self._keep_alive)
        watcher = asyncio.create_task(_watch(reader, seen))
        try:
            await self._handle(seen, reply)
            await reply.finish()
        except HungUpError:
            reply.reusable = False
        except Exception as failure:  # noqa: BLE001 (a test's handler; raised in __aexit__)
            failure.add_note(f"while answering {seen.method or seen.path}")
            self._failures.append(failure)
            reply.reusable = False
        finally:
            watcher.cancel()
            (lead,) = await asyncio.gather(watcher, return_exceptions=True)
            self._busy.discard(seen)
            seen.closed.set()
            self._notify()
        return (lead if isinstance(lead, bytes) else b""), reply.reusable

    async def _handle(self, seen: Seen, reply: Reply) -> None:
        key = seen.path if seen.path in self._scripts else seen.method
        scripts = self._scripts.get(key)
        if scripts:
            script = scripts[0] if len(scripts) == 1 else scripts.pop(0)
            if callable(script) and not isinstance(script, type):
                await script(seen, reply)
            else:
                await reply.play(script if isinstance(script, list) else [script])
        elif seen.method == "AgentCard":
            await self._serve_card(seen, reply)
        elif seen.method:
            await self.answer(seen, reply)
        else:
            await reply.respond(404, {"content-type": "text/plain"}, "no such path")

    async def _serve_card(self, seen: Seen, reply: Reply) -> None:
        if seen.path.startswith(self.path + "/."):
            kind = {"content-type": "application/json"}
            await reply.respond(200, kind, json.dumps(self.card))
        else:
            await reply.respond(404, {"content-type": "text/plain"}, "no card here")


async def _watch(reader: asyncio.StreamReader, seen: Seen) -> bytes:
    """Notice that the client hangs up; what it pipelined instead is handed back."""
    try:
        early = await reader.read(1)
    except ConnectionError:
        early = b""
    if not early:
        seen.hung_up.set()
    return early
