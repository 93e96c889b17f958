"""A harness behind a real server, for the tests of the web face: free port, real HTTP, one loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import LimitSettings, Settings
from locum.adapters.web.app import WebApp, build_app
from locum.adapters.web.guarded_http import guarded_http
from tests.agents.plain import plain_http

__all__ = ["Front", "front", "raw_answer", "served"]


@dataclass
class Front:
    """What a test of the web face works with."""

    harness: Harness
    app: WebApp
    url: str
    http: httpx.AsyncClient
    """Calls `url`."""


@contextlib.asynccontextmanager
async def served(
    app: Any, listening: socket.socket, limits: LimitSettings | None = None
) -> AsyncIterator[uvicorn.Server]:
    """Serve `app` on a bound socket, as `locum serve` does, but without its signals."""
    config = uvicorn.Config(
        app,
        http=guarded_http(limits or LimitSettings()),
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:
            await asyncio.sleep(0.005)
        yield server
    finally:
        if isinstance(app, WebApp):
            app.stop()
        server.should_exit = True
        await task


@contextlib.asynccontextmanager
async def front(
    tables: Mapping[str, Any] | None = None,
    *,
    executor: AgentExecutor | None = None,
    keep_alive: float = 15.0,
    token: str = "",
) -> AsyncIterator[Front]:
    """A harness with a store in memory, served; `tables` are settings, `base_url` is set."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        merged: dict[str, Any] = {"store": {"url": "sqlite:///:memory:"}, **(tables or {})}
        merged["server"] = {"base_url": url, **merged.get("server", {})}
        if token:
            merged["server"]["api_token"] = token
        settings = Settings.from_mapping(merged)
        async with Harness(settings, executor=executor) as harness:
            app = build_app(harness, keep_alive=keep_alive)
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            client = plain_http(base_url=url, headers=headers, timeout=30)
            async with served(app, listening, settings.limits), client:
                yield Front(harness, app, url, client)


async def raw_answer(url: str, request: bytes, *, pause: float = 0.0, pieces: int = 1) -> bytes:
    """Send bytes as they are, in `pieces` with a `pause` between; all that comes back.

    A server that stops reading and hangs up is an answer like another one.
    """
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    size = -(-len(request) // pieces)

    async def send() -> None:
        for start in range(0, len(request), size):
            writer.write(request[start : start + size])
            await writer.drain()
            await asyncio.sleep(pause)

    said = b""
    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(20):
            while more := await reader.read(65536):
                said += more
    except ConnectionError:
        pass  # what was said before counts
    finally:
        sending.cancel()
        writer.close()
        await asyncio.gather(sending, writer.wait_closed(), return_exceptions=True)
    return said
