"""Starts a lawful agent in a process of its own, and asks it what it saw. Ends only its own pid.

async with lawful_agent(store="sqlite:…") as agent:
    ...                                  # let the client talk to agent.url
    requests = await agent.wait_for("GetTask", count=2)
    await agent.release("go on")
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from .plain import plain_http

__all__ = ["AgentProcess", "LawfulAgent", "lawful_agent"]

_ROOT = Path(__file__).parents[2]

_WITH_SQL = ["-m", "tests.agents.lawful"]
# a2a-sdk imports SQLAlchemy wherever it finds it, which takes nearly as long as all the rest.
_WITHOUT_SQL = [
    "-c",
    "import sys; sys.modules['sqlalchemy'] = None; from tests.agents.lawful import main; main()",
]


class AgentProcess:
    """An agent in a process of its own that prints a JSON line with its `url` when it is ready.

    It must end at SIGTERM, and when its standard input is closed: so it does not outlive a test
    run that was killed.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = list(command)
        self._env = dict(env)
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""
        """What goes into `[[agents]]`."""
        self.ready: dict[str, Any] = {}
        """The line that it printed."""

    @property
    def pid(self) -> int:
        """The process id of the running agent."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start the process and wait until it can be called. Raises RuntimeError."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=_ROOT,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            line = await self._process.stdout.readline()
        if not line:
            code = await self.stop()
            raise RuntimeError(f"the agent ended with {code} before it was ready")
        self.ready = json.loads(line)
        self.url = self.ready["url"]

    async def stop(self) -> int:
        """End the agent with SIGTERM; its exit status, 0 when all went well."""
        return await self._end(kill=False)

    async def kill(self) -> None:
        """End the agent with SIGKILL, as a crash does."""
        await self._end(kill=True)

    async def _end(self, *, kill: bool) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            (process.kill if kill else process.terminate)()
        try:
            async with asyncio.timeout(10):
                # communicate() reads the pipes to their end, so that their transports close.
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()
        assert process.returncode is not None
        return process.returncode


class LawfulAgent(AgentProcess):
    """A running lawful agent, and what it saw."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        super().__init__(command, env)
        self._http: httpx.AsyncClient | None = None

    async def start(self) -> None:
        """Start the process and wait until it can be called. Raises RuntimeError."""
        await super().start()
        self._http = plain_http(base_url=self.url, timeout=60)

    async def restart(self) -> None:
        """Start it again on the same port, after `stop` or `kill`; it remembers by its store."""
        self._command += ["--port", self.url.rpartition(":")[2]]
        await self.start()

    async def _end(self, *, kill: bool) -> int:
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        return await super()._end(kill=kill)

    # What it saw

    async def requests(self, method: str = "") -> list[dict[str, Any]]:
        """The requests seen, of one A2A method ("AgentCard" for the card) or all.

        Each has number, at (seconds since the epoch), verb, path, query, method, headers (names
        in lower case), body (JSON or None), params, task_id and the HTTP status of the answer.
        """
        told = await self._get("/control/requests", method=method)
        requests: list[dict[str, Any]] = told["requests"]
        return requests

    async def wait_for(
        self, method: str, count: int = 1, timeout: float = 5
    ) -> list[dict[str, Any]]:
        """Wait until `method` was asked for `count` times; all of its requests.

        Raises AssertionError after `timeout` seconds, with what was seen instead.
        """
        told = await self._wait(what="request", method=method, count=count, timeout=timeout)
        requests: list[dict[str, Any]] = told["requests"]
        return requests

    async def wait_streams(self, count: int, timeout: float = 5) -> None:
        """Wait until exactly `count` streams are open. Raises AssertionError."""
        await self._wait(what="open-streams", count=count, timeout=timeout)

    async def wait_gate(self, name: str, count: int = 1, timeout: float = 5) -> None:
        """Wait until `count` scripts wait for `release(name)`. Raises AssertionError."""
        await self._wait(what="gate", name=name, count=count, timeout=timeout)

    async def wait_push_config(self, task_id: str, timeout: float = 5) -> None:
        """Wait until a push config was registered on a task. Raises AssertionError."""
        await self._wait(what="push-config", task=task_id, timeout=timeout)

    async def open_streams(self) -> int:
        """How many server-sent event streams clients hold open now."""
        return int((await self._get("/control/open-streams"))["open"])

    async def push_configs(self, task_id: str) -> list[dict[str, Any]]:
        """The push configs registered on a task."""
        configs: list[dict[str, Any]] = (await self._get("/control/push-configs", task=task_id))[
            "configs"
        ]
        return configs

    async def release(self, name: str) -> None:
        """Let the scripts go on that wait for `name`, now and later."""
        await self._post("/control/release", {"name": name})

    async def forget(self) -> None:
        """Forget the requests seen and close the released gates, for the next test."""
        await self._post("/control/forget", {})

    async def _wait(self, **wanted: Any) -> dict[str, Any]:
        assert self._http is not None
        response = await self._http.post("/control/wait", json=wanted)
        told: dict[str, Any] = response.json()
        if not told["reached"]:
            seen = ", ".join(one["method"] or one["path"] for one in told["requests"])
            raise AssertionError(
                f"not reached: {wanted}; seen: {seen or 'nothing'}; open streams: {told['open']}"
            )
        return told

    async def _get(self, path: str, **query: str) -> dict[str, Any]:
        assert self._http is not None
        response = await self._http.get(path, params=query)
        told: dict[str, Any] = response.raise_for_status().json()
        return told

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        assert self._http is not None
        (await self._http.post(path, json=body)).raise_for_status()


@contextlib.asynccontextmanager
async def lawful_agent(
    *,
    binding: str = "both",
    port: int = 0,
    name: str = "Lawful",
    description: str = "A scriptable agent for tests",
    version: str = "1.0.0",
    streaming: bool = True,
    push: bool = True,
    token: str = "",
    guard_card: bool = False,
    extensions: Sequence[str] = (),
    required_extensions: Sequence[str] = (),
    store: str = "memory",
) -> AsyncIterator[LawfulAgent]:
    """A lawful agent, running until the end of the `async with`.

    `binding` is "jsonrpc", "rest" or "both"; `token` makes it ask for that bearer token, with
    `guard_card` at the card too; `store` is "memory" or "sqlite:PATH".
    """
    start = _WITHOUT_SQL if store == "memory" else _WITH_SQL
    command = [sys.executable, *start, "--with-parent"]
    command += ["--binding", binding, "--port", str(port), "--store", store]
    command += ["--name", name, "--description", description, "--version", version]
    command += [] if streaming else ["--no-streaming"]
    command += [] if push else ["--no-push"]
    command += ["--auth", "bearer:LAWFUL_TOKEN"] if token else []
    command += ["--guard-card"] if guard_card else []
    command += [item for uri in extensions for item in ("--card-extension", uri)]
    command += [item for uri in required_extensions for item in ("--required-extension", uri)]
    agent = LawfulAgent(command, dict(os.environ) | {"LAWFUL_TOKEN": token})
    await agent.start()
    try:
        yield agent
    finally:
        await agent.stop()
