"""AgentClient's streams, opened and heard to their end: what the tests of them share."""

from contextlib import aclosing
from typing import Any

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.reports import Heard
from locum.core.errors import RemoteCallError

from .clients import brief

__all__ = ["heard_on", "heard_until_error", "opened"]


async def heard_on(stream: Any) -> list[Heard]:
    """All that a stream has to say."""
    async with aclosing(stream):
        return [one async for one in stream]


async def heard_until_error(stream: Any) -> tuple[list[Heard], RemoteCallError]:
    """What a stream has to say before it fails, and how it does."""
    heard: list[Heard] = []
    async with aclosing(stream):
        try:
            while True:
                heard.append(await anext(stream))
        except RemoteCallError as error:
            return heard, error


def opened(client: AgentClient, method: str) -> Any:
    """A stream of either kind."""
    if method == "SubscribeToTask":
        return client.subscribe("t1")
    return client.send(brief())
