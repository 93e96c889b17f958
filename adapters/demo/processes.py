"""The processes of the demonstration: its agent, and locum. Each is ended by its own process id."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from locum.core.errors import ServerError

__all__ = ["START_LIMIT", "Process", "agent_running", "free_port", "locum_running"]

START_LIMIT = 30.0
"""Seconds that a process may take to come up."""


class Process:
    """A process that was started here."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self._process.kill()
        await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that is not enough."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(15):
                    await self._process.wait()
            except TimeoutError:
                await self.kill()


@asynccontextmanager
async def agent_running() -> AsyncIterator[str]:
    """The demo's agent; its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "locum.adapters.demo.agent",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None, "it was asked for"
    try:
        async with asyncio.timeout(START_LIMIT):
            line = await process.stdout.readline()
        if not line:
            raise ServerError("the demo's agent did not start", code="server.demo")
        yield json.loads(line)["url"]
    finally:
        await Process(process).stop()


@asynccontextmanager
async def locum_running(config: Path, base_url: str) -> AsyncIterator[Process]:
    """`locum serve` with a configuration, as soon as it is ready."""
    log = config.with_name("locum.log")
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "locum.adapters.cli",
            "serve",
            "--config",
            str(config),
            stdout=stderr,
            stderr=stderr,
            env={key: value for key, value in os.environ.items() if not key.startswith("LOCUM_")},
        )
    running = Process(process)
    try:
        await _until_ready(process, base_url, log)
        yield running
    finally:
        await running.stop()


async def _until_ready(process: asyncio.subprocess.Process, base_url: str, log: Path) -> None:
    async with asyncio.timeout(START_LIMIT), httpx.AsyncClient(trust_env=False) as client:
        while True:
            if process.returncode is not None:
                raise ServerError(f"locum did not start: {_last_line(log)}", code="server.demo")
            try:
                if (await client.get(f"{base_url}/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _last_line(log: Path) -> str:
    return (log.read_text().strip().splitlines() or ["it said nothing"])[-1]
