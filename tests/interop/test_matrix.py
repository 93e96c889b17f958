"""locum against other implementations: peer x behaviour x way of watching, through the facade.

Each cell is one sub-task, delegated, perhaps answered or cancelled, and read back from its row.
What a peer cannot do is in `EXPLAINED`, with the reason; everything else has to come out right.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
import uvicorn

from locum.adapters import Harness, Settings
from locum.core import A2AState
from locum.projections import SubTaskRow

from .peers.starter import BEHAVIOURS, PEERS, Peer, registered, release, running
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

UNWATCHED = ("auth", "off")
"""The behaviour that nobody hears the end of, and how it is watched."""


@dataclass(frozen=True)
class World:
    """The harness and the peers that it delegates to."""

    harness: Harness
    urls: dict[Peer, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One harness, served over HTTP for the pushes, with every peer three times as an agent."""
    folder = tmp_path_factory.mktemp("matrix")
    async with AsyncExitStack() as stack:
        starting = [stack.enter_async_context(running(peer)) for peer in PEERS]
        started = await asyncio.gather(*starting)
        urls = {peer: agent.url for peer, agent in zip(PEERS, started, strict=True)}
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        config = folder / "locum.toml"
        config.write_text(_settings(listening.getsockname()[1], folder, urls), encoding="utf-8")
        harness = await stack.enter_async_context(Harness(Settings.load(config)))
        await stack.enter_async_context(_Served(harness, listening))
        yield World(harness, urls)


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


def _settings(port: int, folder: Path, urls: dict[Peer, str]) -> str:
    lines = [
        f'[server]\nport = {port}\nbase_url = "http://127.0.0.1:{port}"',
        f'[store]\nurl = "sqlite:///{folder / "matrix.db"}"',
        '[agents_defaults]\nfollow_interval = "1s"',
    ]
    lines += [
        f'[[agents]]\nid = "{peer.id}-{updates}"\nurl = "{url}"\nupdates = "{updates}"'
        for peer, url in urls.items()
        for updates in UPDATES
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Cell:
    """One sub-task: who does what, and how it is watched."""

    peer: Peer
    behaviour: str
    updates: str

    @property
    def id(self) -> str:
        """Names the parent, and the authorisation that is waited for."""
        return f"{self.behaviour}-{self.peer.id}-{self.updates}"

    @property
    def is_pushed(self) -> bool:
        """True when the peer pushes what becomes of it while it is parked."""
        return self.updates == "push" and self.peer.library not in NO_PUSH

    @property
    def reasons(self) -> list[str]:
        """Why it comes out another way than with other peers."""
        reasons = [EXPLAINED.get((self.peer.library, self.behaviour), "")]
        if self.updates == "push":
            reasons.append(NO_PUSH.get(self.peer.library, ""))
        if (self.behaviour, self.updates) == UNWATCHED:
            reasons.append("nobody watches it while it is parked, so it was cancelled (D9)")
        return [reason for reason in reasons if reason]

    def show(self, outcome: str, *notes: str) -> None:
        """Put it into the table."""
        TABLE.put(self.peer.name, self.updates, self.behaviour, outcome, notes)


CELLS = [
    Cell(peer, behaviour, updates)
    for peer in PEERS
    for behaviour in BEHAVIOURS
    for updates in UPDATES
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
async def test_cell(world: World, cell: Cell) -> None:
    """Interop: the sub-task comes to the right end, with the right words, told once."""
    cell.show("broken")
    async with asyncio.timeout(WITHIN):
        row = await _delegate(world, cell)
    notes, _ = await world.harness.notes(cell.id)
    assert notes[-1].state == row.state
    assert len(notes) == len({(note.kind, note.text) for note in notes}), "told twice"
    if (cell.behaviour, cell.updates) == UNWATCHED:
        assert row.state == A2AState.CANCELED
    else:
        state, text = EXPECTED[cell.behaviour]
        assert row.state == A2AState(state)
        assert text in row.text
    if cell.behaviour == "auth" and cell.is_pushed:
        events = await world.harness.events(row.id)
        parked = [event["type"] for event in events].index("Parked")
        # The look right after registering may have been the first to see it (D2).
        assert events[parked + 1]["cause"] in ("push", "recheck")
    odd = [f"anomalies: {', '.join(row.anomalies)}"] if row.anomalies else []
    cell.show(f"{row.state} by {row.cause}", *cell.reasons, *odd)


async def _delegate(world: World, cell: Cell) -> SubTaskRow:
    """Do the parent's part of it; the row at its end."""
    harness = world.harness
    row = await harness.spawn(
        cell.id,
        agent=f"{cell.peer.id}-{cell.updates}",
        goal=cell.peer.told(cell.behaviour, cell.id),
        name=cell.behaviour,
    )
    if cell.behaviour == "hang":
        await harness.linked(row.id)
        return await harness.cancel(row.id, reason="not needed")
    row = await harness.settled(row.id)
    if cell.behaviour == "ask":
        assert row.state == A2AState.INPUT_REQUIRED
        assert "Which hall?" in row.text or (cell.peer.library, "ask") in EXPLAINED
        await harness.reply(row.id, "the red one", question=row.version)
    elif cell.behaviour == "auth":
        assert row.state == A2AState.AUTH_REQUIRED
        assert "Log in first" in row.text
        if cell.updates == "off":
            return await harness.cancel(row.id, reason="not watched")
        if cell.is_pushed:
            await registered(world.urls[cell.peer], row.remote_task_id)
        await release(world.urls[cell.peer], cell.id)
    async with aclosing(harness.notifications(cell.id)) as notes:
        async for note in notes:
            if note.kind == "ended":
                break
    return await harness.sub_task(row.id)
