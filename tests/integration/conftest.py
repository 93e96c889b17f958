"""A store on a file, a journal on it, a raw agent and its client: what many of these tests need.

A file whose tests need another one has a fixture of the same name.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.store import Journal
from tests.agents.frames import Binding
from tests.agents.raw import RawAgent

from .clients import client_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "locum.db"


@pytest.fixture
def url(path: Path) -> str:
    """The store's URL."""
    return f"sqlite:///{path}"


@pytest.fixture(params=["file", "memory"])
async def journal(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Journal]:
    """A journal, on a file and in memory."""
    async with Journal.open(url if request.param == "file" else "sqlite:///:memory:") as opened:
        yield opened


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def agent(request: pytest.FixtureRequest) -> AsyncIterator[RawAgent]:
    """A raw agent, once for each binding."""
    binding: Binding = request.param
    async with RawAgent(binding, keep_alive=True) as raw:
        yield raw


@pytest.fixture
async def client(agent: RawAgent) -> AsyncIterator[AgentClient]:
    """A client of the agent."""
    async with client_of(agent) as made:
        yield made
