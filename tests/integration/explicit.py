"""Explicit clients for test peers, and event loops of their own for them. No tests."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from locum.adapters import A2AClient
from tests.agents.raw import RawAgent

__all__ = ["BINDINGS", "SOON", "card_url", "client_at", "in_thread"]

T = TypeVar("T")

BINDINGS = ["JSONRPC", "HTTP+JSON"]
SOON = 0.05
"""Seconds between two looks at a task, in tests."""


def card_url(agent: RawAgent) -> str:
    """Where the agent's card is."""
    return f"{agent.url}/.well-known/agent-card.json"


def client_at(agent: RawAgent, **options: Any) -> A2AClient:
    """A client that streams and looks often."""
    return A2AClient(card_url(agent), **{"streaming": True, "poll_interval": SOON} | options)


async def in_thread(call: Callable[[], T]) -> T:
    """What `call` returns, made in a thread of its own, which is over then."""
    with ThreadPoolExecutor(1) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, call)
