"""locum against other implementations: peer x behaviour x way of watching, through the facade.

Each cell is one sub-task, delegated, perhaps answered or cancelled, and read back from its row.
What a peer cannot do is in `EXPLAINED`, with the reason; everything else has to come out right.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
import uvicorn

from locum.adapters import Harness, Settings
from locum.core import A2AState
from locum.projections import SubTaskRow

from .peers.starter import BEHAVIOURS, PEERS, Peer, running
from .table import TABLE

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

UPDATES = ["push", "follow", "off"]
WITHIN = 30.0
"""Seconds for one cell to come to its end; none takes more than a few."""

EXPECTED: dict[str, tuple[str, str]] = {
    "direct": ("COMPLETED", "hello there"),
    "stream": ("COMPLETED", "Hello, big world"),
    "ask": ("COMPLETED", "the red one"),
    "auth": ("COMPLETED", "authorised"),
    "fail": ("FAILED", "no chairs left"),
    "reject": ("REJECTED", "not my work"),
    "hang": ("CANCELED", ""),
}
"""The end of each behaviour, and what its text holds."""

EXPLAINED: dict[tuple[str, str], str] = {
    ("fasta2a", "direct"): "FastA2A answers every message with a task, never with a message",
    ("fasta2a", "ask"): "FastA2A's store keeps no status message, so GetTask and a later stream"
    " have no question; it takes the reply as another task, which is followed (C13)",
}
"""(library, behaviour) that comes out another way than with the rest, and why."""

NO_PUSH = {"fasta2a": "FastA2A has no push; `push` is followed instead (D2)"}
"""Libraries without push notifications."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harness(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Harness]:
    """One harness, served over HTTP for the pushes, with every peer three times as an agent."""
    folder = tmp_path_factory.mktemp("matrix")
    async with AsyncExitStack() as stack:
        started = await asyncio.gather(
            *(stack.enter_async_context(running(peer)) for peer in PEERS)
        )
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        agents = [
            f'[[agents]]\nid = "{_agent_id(peer, updates)}"\nurl = "{agent.url}"\n'
            f'updates = "{updates}"\nfollow_interval = "1s"\n'
            for peer, agent in zip(PEERS, started, strict=True)
            for updates in UPDATES
        ]
        config = folder / "locum.toml"
        config.write_text(_settings(base_url, folder) + "\n".join(agents), encoding="utf-8")
        entered = await stack.enter_async_context(Harness(Settings.load(config)))
        await stack.enter_async_context(_Served(entered, listening))
        yield entered


class _Served:
    """The harness's HTTP application on a socket, for as long as the `async with`."""

    def __init__(self, harness: Harness, listening: socket.socket) -> None:
        config = uvicorn.Config(harness.asgi_app(), lifespan="off", log_level="warning")
        self._server = uvicorn.Server(config)
        self._listening = listening
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listening]))

    async def __aexit__(self, *error: object) -> None:
        self._server.should_exit = True
        assert self._serving is not None
        await self._serving


def _settings(base_url: str, folder: Path) -> str:
    port = base_url.rpartition(":")[2]
    return (
        f'[server]\nport = {port}\nbase_url = "{base_url}"\n'
        f'[store]\nurl = "sqlite:///{folder / "matrix.db"}"\n'
    )


def _agent_id(peer: Peer, updates: str) -> str:
    return f"{peer.id}-{updates}"


@pytest.mark.parametrize("updates", UPDATES)
@pytest.mark.parametrize("behaviour", list(BEHAVIOURS))
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.id)
async def test_cell(harness: Harness, peer: Peer, behaviour: str, updates: str) -> None:
    """Interop: the sub-task comes to the right end, with the right words, told once."""
    parent = f"{behaviour}-{_agent_id(peer, updates)}"
    TABLE.put(peer.name, updates, behaviour, "broken")
    async with asyncio.timeout(WITHIN):
        row = await harness.spawn(
            parent, agent=_agent_id(peer, updates), goal=peer.told(behaviour), name=behaviour
        )
        row = await _seen_through(harness, row, peer, behaviour, updates)
    state, text = EXPECTED[behaviour]
    if (behaviour, updates) == ("auth", "off"):
        # Unwatched while parked (D9): the cancel meets the agent before or after its end.
        assert row.state in (A2AState.CANCELED, A2AState.COMPLETED)
    else:
        assert row.state == A2AState(state)
        assert text in row.text
    if (behaviour, updates) == ("auth", "push") and peer.library not in NO_PUSH:
        assert row.cause == "push"
    notes, _ = await harness.notes(parent)
    assert notes[-1].state == row.state
    assert len(notes) == len({(note.kind, note.text) for note in notes}), "told twice"
    _fill_in(row, peer, behaviour, updates)


def _fill_in(row: SubTaskRow, peer: Peer, behaviour: str, updates: str) -> None:
    """The cell: how it ended, what brought the news, and what was odd."""
    reasons = [EXPLAINED.get((peer.library, behaviour), "")]
    reasons += [NO_PUSH.get(peer.library, "")] if updates == "push" else []
    reasons += [f"anomalies: {', '.join(row.anomalies)}"] if row.anomalies else []
    cell = f"{row.state} by {row.cause}"
    TABLE.put(peer.name, updates, behaviour, cell, [reason for reason in reasons if reason])


async def _seen_through(
    harness: Harness, row: SubTaskRow, peer: Peer, behaviour: str, updates: str
) -> SubTaskRow:
    """Do the parent's part, and return the row at its end."""
    if behaviour == "hang":
        await harness.linked(row.id)
        return await harness.cancel(row.id, reason="not needed")
    row = await harness.settled(row.id)
    if behaviour == "ask":
        assert row.state == A2AState.INPUT_REQUIRED
        assert "Which hall?" in row.text or (peer.library, behaviour) in EXPLAINED
        await harness.reply(row.id, "the red one", question=row.version)
    elif behaviour == "auth":
        if row.state == A2AState.AUTH_REQUIRED:
            assert "Log in first" in row.text
        if updates == "off":
            return await harness.cancel(row.id, reason="not watched")
    return await _ended(harness, row)


async def _ended(harness: Harness, row: SubTaskRow) -> SubTaskRow:
    """Read the parent's notifications until the sub-task has ended."""
    notes = harness.notifications(row.parent_id)
    try:
        async for note in notes:
            if note.kind == "ended":
                break
    finally:
        await notes.aclose()
    return await harness.sub_task(row.id)
