"""A harness behind a real server, with an agent and a configuration file for `locum`. No tests."""

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import Settings
from tests.agents.plain import plain_http
from tests.agents.raw import RawAgent
from tests.crash.process import config_text

from .front import served
from .support import QUICK
from .terminal import Said, cli

__all__ = ["Site", "site"]


class Site:
    """What a test of the command line works with."""

    def __init__(self, agent: RawAgent, harness: Harness, config: Path, port: int) -> None:
        self.agent = agent
        self.harness = harness
        self.config = config
        self.port = port
        self.http = plain_http(base_url=f"http://127.0.0.1:{port}")
        """Calls the server."""
        self._serving = AsyncExitStack()

    async def start_serving(self, listening: socket.socket | None = None) -> None:
        """Serve the harness, on the same port as ever."""
        if listening is None:
            listening = socket.create_server(("127.0.0.1", self.port))
        self._serving.enter_context(listening)
        await self._serving.enter_async_context(served(self.harness.asgi_app(), listening))

    async def stop_serving(self) -> None:
        """Stop the server; the harness goes on."""
        await self._serving.aclose()

    async def cli(self, *arguments: str, **environ: str | None) -> Said:
        """Run a command with this configuration."""
        return await cli(*arguments, LOCUM_CONFIG=str(self.config), **environ)

    async def delegate(self, goal: str = "Count", *more: str) -> str:
        """Hand out work; its id."""
        said = await self.cli("delegate", "raw", goal, "--json", *more)
        assert said.status == 0, said.err
        sub_task_id: str = json.loads(said.out)["id"]
        return sub_task_id


@asynccontextmanager
async def site(
    folder: Path,
    *,
    server: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> AsyncIterator[Site]:
    """A site whose agent `raw` says what the test tells it to; its files are in `folder`."""
    async with RawAgent(keep_alive=True) as raw:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = folder / "locum.toml"
        sections = {
            "server": {"port": port, **(server or {})},
            "store": {"url": f"sqlite:///{folder / 'locum.db'}"},
            "standin": QUICK,
            "limits": dict(limits or {}),
            "agents": [{"id": "raw", "url": raw.url, "follow_interval": "1s"}],
        }
        config.write_text(config_text(sections))
        async with Harness(Settings.load(config, {})) as harness:
            on = Site(raw, harness, config, port)
            try:
                await on.start_serving(listening)
                yield on
            finally:
                await on.stop_serving()
                await on.http.aclose()
