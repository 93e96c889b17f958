"""Starts locum for a test: a harness, its real server on a free port, quick timings. No asserts."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import uvicorn

from locum.adapters import Harness, Settings
from locum.projections import SubTaskRow

__all__ = ["QUICK", "history", "kinds", "locum", "serving", "settings_for", "until"]

QUICK: dict[str, Any] = {
    "quiet_check": "1s",
    "push_backstop": "60s",
    "cancel_grace": "2s",
    "cancel_link_wait": "300ms",
    "send_timeout": "5s",
    "retry_first": "50ms",
    "push_recheck": ["50ms", "100ms", "200ms"],
    "status_interval": "200ms",
}
"""Timings of `[standin]` that suit a test."""


def settings_for(
    agents: Mapping[str, str | Mapping[str, Any]],
    *,
    store: str = "sqlite:///:memory:",
    base_url: str = "",
    standin: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Settings:
    """Settings with quick timings; `agents` maps an id to a URL or to its whole table."""
    tables: list[dict[str, Any]] = []
    for agent_id, given in agents.items():
        table = {"url": given} if isinstance(given, str) else dict(given)
        tables.append({"id": agent_id, "follow_interval": "1s", **table})
    server = {"base_url": base_url} if base_url else {}
    return Settings.from_mapping(
        {
            "server": {**server, **sections.pop("server", {})},
            "store": {"url": store},
            "standin": {**QUICK, **(standin or {})},
            "agents": tables,
            **sections,
        }
    )


@asynccontextmanager
async def locum(
    agents: Mapping[str, str | Mapping[str, Any]],
    *,
    push: bool = False,
    port: int = 0,
    **options: Any,
) -> AsyncIterator[Harness]:
    """A harness that is entered; with `push`, its real server runs too and has a base URL.

    It is on a free port, or on `port`: to be found where it was before.
    """
    async with AsyncExitStack() as stack:
        if not push:
            yield await stack.enter_async_context(Harness(settings_for(agents, **options)))
            return
        listening = stack.enter_context(await _listening(port))
        base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        harness = Harness(settings_for(agents, base_url=base_url, **options))
        await stack.enter_async_context(harness)
        await stack.enter_async_context(serving(harness, listening))
        yield harness


async def _listening(port: int) -> socket.socket:
    """A listening socket on the port, as soon as it is free: somebody else's call may have it."""
    async with asyncio.timeout(20):
        while True:
            try:
                return socket.create_server(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            await asyncio.sleep(0.1)


@asynccontextmanager
async def serving(harness: Harness, listening: socket.socket) -> AsyncIterator[str]:
    """The harness's HTTP API on a socket that listens already; the base URL."""
    app = harness.asgi_app()
    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
    )
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        host, port = listening.getsockname()[:2]
        yield f"http://{host}:{port}"
    finally:
        app.stop()
        server.should_exit = True
        await task


async def until(
    harness: Harness, sub_task_id: str, *states: str, timeout: float = 10
) -> SubTaskRow:
    """The row as soon as it is in one of `states`."""
    async with asyncio.timeout(timeout):
        with harness.changes(sub_task_id) as changed:
            while True:
                row = await harness.sub_task(sub_task_id)
                if row.state in states:
                    return row
                await changed.wait()
                changed.clear()


async def history(harness: Harness, sub_task_id: str) -> list[dict[str, Any]]:
    """The sub-task's events."""
    return await harness.events(sub_task_id)


async def kinds(harness: Harness, sub_task_id: str) -> list[str]:
    """The types of the sub-task's events, in order."""
    return [event["type"] for event in await harness.events(sub_task_id)]
