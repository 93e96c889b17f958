"""Names with several addresses, of which the guard lets some pass (A4). The system's resolver is
told what they mean; the sockets are real.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.cards.fetch import fetch_card
from locum.adapters.a2a.credentials.placing import credentials_for
from locum.adapters.a2a.guard import AddressGuard
from locum.adapters.a2a.http import open_http
from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.faults import AddressRefusedError
from locum.adapters.a2a.wire.notes import WireLimits
from locum.adapters.a2a.wire.pool import open_pool
from locum.adapters.settings import Settings
from tests.agents.raw import RawAgent

NAME = "both.localhost"
FORBIDDEN = "127.0.0.9"

Names = dict[str, list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """What names mean from now on; a test may change it."""
    meant: Names = {}
    really: Callable[..., Any] = socket.getaddrinfo

    def look_up(host: Any, port: Any, *how: Any, **named: Any) -> Any:
        if host not in meant:
            return really(host, port, *how, **named)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in meant[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return meant


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent at 127.0.0.1 that holds its connections."""
    async with RawAgent(keep_alive=True) as raw:
        yield raw


def forbid(host: str, address: str) -> None:
    """A guard against one address."""
    if address == FORBIDDEN:
        raise ValueError("not there")


async def test_only_what_passes_is_dialled(names: Names, agent: RawAgent) -> None:
    """A4: of a name's addresses the guard's refusals are left out, and the others are used."""
    names[NAME] = [FORBIDDEN, "127.0.0.1"]
    names["bad.localhost"] = [FORBIDDEN]
    async with (
        RawAgent(host=FORBIDDEN) as wrong,
        httpx.AsyncClient(transport=open_pool(guard=forbid), trust_env=False) as http,
    ):
        for _ in range(3):
            await http.get(f"http://{NAME}:{agent.port}/x")
        with pytest.raises(AddressRefusedError, match="not there"):
            await http.get(f"http://bad.localhost:{wrong.port}/x")
        assert wrong.requests == []
    assert len(agent.requests) == 3


async def test_what_is_known_later_counts_for_what_was_found_before(
    names: Names, agent: RawAgent
) -> None:
    """A4: neither a name that was looked up nor a connection that was opened before is used when
    the guard refuses its address by then.
    """
    refused: set[str] = set()

    def guard(host: str, address: str) -> None:
        if address in refused:
            raise ValueError("not any more")

    names[NAME] = ["127.0.0.1"]
    async with httpx.AsyncClient(transport=open_pool(guard=guard), trust_env=False) as http:
        await http.get(f"http://{NAME}:{agent.port}/x")
        assert agent.open_connections == 1
        refused.add("127.0.0.1")
        with pytest.raises(AddressRefusedError, match="not any more"):
            await http.get(f"http://{NAME}:{agent.port}/x")
        await agent.until(lambda: agent.open_connections == 0)
        with pytest.raises(AddressRefusedError, match="not any more"):
            await http.get(f"http://{NAME}:{agent.port}/x")
    assert len(agent.requests) == 1


async def test_a_name_is_not_looked_up_for_each_connection(names: Names) -> None:
    """A4, J4: what a name meant is kept for a moment, and asked of the guard each time."""
    asked: list[str] = []
    names[NAME] = ["127.0.0.1"]

    def guard(host: str, address: str) -> None:
        asked.append(address)

    async with (
        RawAgent() as agent,
        httpx.AsyncClient(transport=open_pool(guard=guard), trust_env=False) as http,
    ):
        await http.get(f"http://{NAME}:{agent.port}/x")
        names[NAME] = []
        await http.get(f"http://{NAME}:{agent.port}/x")
        assert len(agent.requests) == 2
    assert set(asked) == {"127.0.0.1"}


async def test_the_card_came_from_where_it_was_fetched(names: Names, agent: RawAgent) -> None:
    """A4: how far away an agent is, says the address of the connection and not the name."""
    names[NAME] = ["127.0.0.1", "93.184.216.34"]
    settings = Settings.from_mapping(
        {"agents": [{"id": "a", "url": f"http://{NAME}:{agent.port}"}]}
    ).agents[0]
    guard = AddressGuard()
    async with open_http(
        credentials=credentials_for(settings, {}),
        limits=WireLimits(),
        budget=Budget(),
        guard=guard,
    ) as http:
        found = await asyncio.wait_for(fetch_card(http, settings), 10)
    assert found.peer == "127.0.0.1"
    assert guard.came_from(found.url, found.peer) is Reach.LOOPBACK
