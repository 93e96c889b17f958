"""The processes of the demonstration: its agent, and locum. Each is ended by its own process id."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from locum.core.errors import ServerError

__all__ = ["AGENT", "Process", "agent_running", "free_port", "locum_running", "until_ready"]

_TETHERED = (sys.executable, "-m", "locum.adapters.demo.tethered")
AGENT = (*_TETHERED, "locum.adapters.demo.agent")
"""The command of the demo's agent; `--fd N` is added."""
START_LIMIT = 60.0
"""Seconds that a process may take to come up."""
STOP_LIMIT = 12.0
"""Seconds that a process may take to end; locum itself takes ten at the most (F4)."""


class Process:
    """A process that was started here, and the file that it logs to."""

    def __init__(self, what: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self._what = what
        self._process = process
        self._log = log
        self.pid = process.pid

    def check(self) -> None:
        """Raise ServerError when it has ended, with the last that it said."""
        if self._process.returncode is not None:
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise ServerError(
                f"{self._what} has ended. The last that it said: {['nothing', *lines][-1]}",
                code="server.demo",
            )

    async def look(self, seconds: float) -> None:
        """The same, but wait for so long whether it ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        self.check()

    async def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self._process.kill()
        await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that is not enough, or when there is no time for it."""
        if self._process.returncode is not None:
            return
        try:
            self._process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(STOP_LIMIT):
                await self._process.wait()
        except TimeoutError:
            await self.kill()
        finally:
            if self._process.returncode is None:
                self._process.kill()


@asynccontextmanager
async def agent_running(folder: Path, command: Sequence[str]) -> AsyncIterator[tuple[Process, str]]:
    """The agent, and its URL, which can be called at once: the agent answers when it is up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        fd = listening.fileno()
        running = await _start(
            "The agent", [*command, "--fd", str(fd)], folder / "agent.log", pass_fds=(fd,)
        )
    # The socket is the agent's alone now: when the agent goes, so does it.
    try:
        yield running, url
    finally:
        await running.stop()


@asynccontextmanager
async def locum_running(config: Path) -> AsyncIterator[Process]:
    """`locum serve` with a configuration; it may not be ready yet."""
    command = [*_TETHERED, "locum.adapters.cli", "serve", "--config", str(config)]
    running = await _start("locum", command, config.with_name("locum.log"))
    try:
        yield running
    finally:
        await running.stop()


async def _start(
    what: str, command: Sequence[str], log: Path, *, pass_fds: Sequence[int] = ()
) -> Process:
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            # Never written to: it ends with this process, however that ends (`tethered.py`).
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=pass_fds,
            env={key: text for key, text in os.environ.items() if not key.startswith("LOCUM_")},
            # Ctrl-C is for whoever tells the story, who ends the others in order.
            process_group=0,
        )
    return Process(what, process, log)


async def until_ready(base_url: str, *needed: Process) -> None:
    """Return when locum is ready. Raises ServerError when a process has ended, or takes too long."""
    try:
        async with asyncio.timeout(START_LIMIT), httpx.AsyncClient(trust_env=False) as client:
            while True:
                for process in needed:
                    process.check()
                try:
                    if (await client.get(f"{base_url}/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass  # Not yet.
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise ServerError(
            f"locum was not ready after {START_LIMIT:g} s.", code="server.demo"
        ) from None


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
