"""Starts a peer of the matrix in its own environment. Knows what each is told, not what it says."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.agents.frames import Binding, Json
from tests.agents.process import AgentProcess

from ..environments import HERE, path, python

__all__ = ["BEHAVIOURS", "PEERS", "Peer", "registered", "release", "running"]

BEHAVIOURS = {
    "direct": 'message "hello there"',
    "stream": 'work; artifact result "Hello, "; append result "big "; append result "world" last;'
    " complete",
    "ask": 'work; ask "Which hall?"; artifact result "{reply}"; complete',
    "auth": 'work; auth "Log in first" until KEY; artifact result "authorised"; complete',
    "fail": 'fail "no chairs left"',
    "reject": 'reject "not my work"',
    "hang": "work; hang",
}
"""What every peer can be told to do, and how the lawful agent is told (tests/agents/README.md).

An authorisation is waited for until its KEY is released.
"""


@dataclass(frozen=True)
class Peer:
    """One implementation over one binding."""

    library: str
    binding: Binding

    @property
    def name(self) -> str:
        """How the table names it."""
        return f"{self.library} {self.binding}"

    @property
    def id(self) -> str:
        """Fit for an agent's id."""
        return f"{self.library}-{'rpc' if self.binding == 'JSONRPC' else 'rest'}"

    def told(self, behaviour: str, key: str = "key") -> str:
        """The words that make it behave so; `release` with the same key authorises it."""
        script = BEHAVIOURS[behaviour].replace("KEY", key)
        return f"[[ {script} ]]" if self.library == "a2a-sdk" else f"[[{behaviour} {key}]]"

    def command(self, store: str) -> list[str]:
        """What starts it; `store` is the path of a SQLite file that is not there yet."""
        binding = "jsonrpc" if self.binding == "JSONRPC" else "rest"
        if self.library == "a2a-sdk":
            lawful = [python("a2a-sdk"), "-m", "tests.agents.lawful", "--with-parent"]
            return [*lawful, "--binding", binding, "--store", f"sqlite:{store}"]
        if self.library == "a2a-js":
            return ["node", str(HERE / "peers" / "js_agent.mjs"), "--binding", binding]
        return [python("fasta2a"), str(HERE / "peers" / "fasta2a_agent.py")]


PEERS = [
    Peer("a2a-sdk", "JSONRPC"),
    Peer("a2a-sdk", "HTTP+JSON"),
    Peer("a2a-js", "JSONRPC"),
    Peer("a2a-js", "HTTP+JSON"),
    Peer("fasta2a", "JSONRPC"),
]


async def release(agent_url: str, key: str) -> None:
    """Authorise whoever waits for `key` on the peer at that URL."""
    await _control(f"{agent_url}/control/release", {"name": key})


async def registered(agent_url: str, task_id: str) -> None:
    """Wait until the peer at that URL has a push config on a task."""
    await _control(f"{agent_url}/control/wait", {"what": "push-config", "task": task_id})


async def _control(url: str, body: Json) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        (await http.post(url, json=body)).raise_for_status()


@contextlib.asynccontextmanager
async def running(peer: Peer) -> AsyncIterator[AgentProcess]:
    """The peer, running until the end of the `async with`."""
    with tempfile.TemporaryDirectory() as folder:
        command = peer.command(str(Path(folder) / "peer.db"))
        agent = AgentProcess(command, dict(os.environ) | {"PATH": path()})
        await agent.start()
        try:
            yield agent
        finally:
            await agent.stop()
