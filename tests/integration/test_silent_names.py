"""Names whose server does not answer. The system's resolver is told which; the sockets are real."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from locum.adapters.a2a.names import Names
from locum.adapters.a2a.wire.pool import open_pool
from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent

from .support import locum

SILENT = "silent.localhost"
QUICK = "quick.localhost"
MANY = 40  # more than asyncio's own pool has threads for on any machine of a few cores


class Resolver:
    """Says nothing about names that begin with `silent` until it is let go; knows all others."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, host: Any, port: Any, *how: Any, **named: Any) -> Any:
        self.asked.append(host)
        if host.startswith("silent"):
            self.begun.set()
            self.let_go.wait()
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    """What the system's resolver is for a test."""
    it = Resolver()
    really: Callable[..., Any] = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **named: Any) -> Any:
        mine = isinstance(host, str) and host.endswith(".localhost")
        return it(host, *rest, **named) if mine else really(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield it
    it.let_go.set()


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent that answers at once."""
    async with RawAgent() as raw:
        done = T("COMPLETED", artifacts=[A("a", "12")])
        raw.on("SendStreamingMessage", *([EV(done), EOF] for _ in range(3)))
        raw.task = done
        yield raw


async def test_silent_names_hold_up_no_other_agent(resolver: Resolver, agent: RawAgent) -> None:
    """J4, A2: of however many agents the names are not found, another's is looked up at once."""
    agent.card["supportedInterfaces"][0]["url"] = agent.rpc_url.replace("127.0.0.1", QUICK)
    agents = {f"silent{n}": f"http://silent{n}.localhost:{agent.port}" for n in range(MANY)}
    agents["well"] = f"http://{QUICK}:{agent.port}"
    async with locum(agents, limits={"card_timeout": "1s"}) as harness:
        refused = [found for found in harness.agents() if found["state"] == "refused"]
        assert len(refused) == MANY
        row = await harness.spawn("p", agent="well", goal="count")
        row = await harness.settled(row.id, timeout=10)
        assert (row.state, row.text) == ("COMPLETED", "12")


async def test_a_silent_name_holds_up_no_other_of_its_agent(
    resolver: Resolver, agent: RawAgent
) -> None:
    """J4: requests for one name wait in one thread, and those for another are not behind them."""
    pool = open_pool(guard=lambda host, address: None)
    async with httpx.AsyncClient(transport=pool, trust_env=False, timeout=60) as http:
        waiting = [
            asyncio.create_task(http.get(f"http://{SILENT}:{agent.port}/x")) for _ in range(MANY)
        ]
        await asyncio.to_thread(resolver.begun.wait)
        await http.get(f"http://{QUICK}:{agent.port}/x")
        assert resolver.asked == [SILENT, QUICK]
        resolver.let_go.set()
        for task in waiting:
            with pytest.raises(httpx.ConnectError, match="no answer"):
                await task


async def test_one_that_waits_no_longer(resolver: Resolver) -> None:
    """J4: whose time is over leaves the look-up to the others, and to nobody at last."""
    names = Names(limit=2)
    first, other = (asyncio.create_task(names.look_up(SILENT, 80)) for _ in range(2))
    await asyncio.to_thread(resolver.begun.wait)
    first.cancel()
    await asyncio.wait({first})
    assert not other.done()
    resolver.let_go.set()
    with pytest.raises(socket.gaierror, match="no answer"):
        await other
    assert [found.host for found in await names.look_up(QUICK, 80)] == ["127.0.0.1"]
    assert resolver.asked == [SILENT, QUICK]


async def test_too_many_names_at_once(resolver: Resolver) -> None:
    """J3: no more than so many threads, whatever names are asked for; then there is room again."""
    names = Names(limit=2)
    waiting = [asyncio.create_task(names.look_up(f"silent{n}.localhost", 80)) for n in range(2)]
    await asyncio.to_thread(resolver.begun.wait)
    with pytest.raises(socket.gaierror, match="2 other names are being looked up"):
        await names.look_up(QUICK, 80)
    resolver.let_go.set()
    await asyncio.wait(waiting)
    assert await names.look_up(QUICK, 80)
    assert all(isinstance(task.exception(), socket.gaierror) for task in waiting)


async def test_what_is_no_name() -> None:
    """A4: an error that is not the resolver's is told, too, to who asks."""
    with pytest.raises(UnicodeError):
        await Names(limit=1).look_up("a" * 70 + ".localhost", 80)


def test_a_loop_that_ended_before_its_names_were_found(resolver: Resolver) -> None:
    """F4, D11: a look-up holds up no end, and takes no room when nobody waits for it."""
    names = Names(limit=1)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await names.look_up(SILENT, 80)

    asyncio.run(give_up())
    (thread,) = [one for one in threading.enumerate() if one.name == f"look-up of {SILENT}"]
    assert thread.daemon
    resolver.let_go.set()
    thread.join()
    assert asyncio.run(names.look_up(QUICK, 80))
