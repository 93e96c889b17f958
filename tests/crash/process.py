"""locum in a process of its own, for tests that kill, freeze, stop and start it. Asserts nothing.

It is `locum serve` with a configuration file, always on the same port and the same store, which is
in its folder unless `store` names another.
"""

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from locum.adapters.demo.processes import free_port
from tests.integration.support import QUICK

__all__ = ["LocumProcess", "config_text"]

START_LIMIT = 45.0


def config_text(sections: Mapping[str, Any]) -> str:
    """The sections as TOML: tables of plain values, and `agents` a list of tables."""
    lines: list[str] = []
    for name, section in sections.items():
        is_list = isinstance(section, list)
        for table in section if is_list else [section]:
            lines.append(f"[[{name}]]" if is_list else f"[{name}]")
            # What JSON writes of a text, a number, a flag or a list of these, TOML reads alike.
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


class LocumProcess:
    """One server, as often as it is started. Its standard error goes to `log`."""

    def __init__(
        self, folder: Path, agents: Mapping[str, Mapping[str, Any]], **sections: Any
    ) -> None:
        self.store = folder / "locum.db"
        self.log = folder / "locum.log"
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._config = folder / "locum.toml"
        self._process: asyncio.subprocess.Process | None = None
        server = {"port": self.port, "base_url": self.base_url} | sections.pop("server", {})
        tables = [{"id": key, "follow_interval": "1s", **table} for key, table in agents.items()]
        self.configure(
            server=server,
            store={"url": f"sqlite:///{self.store}"} | sections.pop("store", {}),
            standin=QUICK | sections.pop("standin", {}),
            agents=tables,
            **sections,
        )

    def configure(self, **sections: Any) -> None:
        """Write the configuration, for the next start."""
        self._config.write_text(config_text(sections))

    async def start(self, *, launcher: tuple[str, ...] = (), ready: bool = True) -> None:
        """Start it, by `launcher` where one is given; return when it is ready."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(launcher or (sys.executable, "-m", "locum.adapters.cli")),
                "serve",
                "--config",
                str(self._config),
                stdout=log,
                stderr=log,
                env={key: text for key, text in os.environ.items() if not key.startswith("LOCUM_")},
            )
        if ready:
            await self.until_ready()

    async def until_ready(self) -> None:
        """Return when it is ready."""
        assert self._process is not None
        async with asyncio.timeout(START_LIMIT), httpx.AsyncClient(trust_env=False) as client:
            while True:
                assert self._process.returncode is None, self.log.read_text()
                try:
                    if (await client.get(f"{self.base_url}/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def send(self, sign: signal.Signals) -> None:
        """Send it a signal, by its own process id."""
        assert self._process is not None
        # Popen's own way looks first whether the process has ended, and takes its exit status away
        # from the loop, which waits for it too.
        os.kill(self._process.pid, sign)

    def limit_files(self, size: int) -> None:
        """Let none of its files grow past `size` bytes, as on a disk that is full."""
        assert self._process is not None
        _, hard = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, hard))

    async def ended(self, timeout: float = 15) -> int:
        """Its exit status, once it has ended."""
        assert self._process is not None
        async with asyncio.timeout(timeout):
            return await self._process.wait()

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.send(signal.SIGKILL)
        assert await self.ended() == -signal.SIGKILL

    async def close(self) -> None:
        """End it in any case. For the end of a test."""
        if self._process is not None and self._process.returncode is None:
            # Told to stop before, it may end by itself just now.
            with suppress(ProcessLookupError):
                self.send(signal.SIGKILL)
            await self.ended()
