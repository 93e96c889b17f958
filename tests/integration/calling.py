"""Every call of an AgentClient about a task: what the tests of its calls share. No fixtures."""

from contextlib import aclosing
from typing import Any

from locum.adapters.a2a.calls.remote_agent import AgentClient

from .clients import brief

__all__ = ["PUSH", "TOKEN", "call_all"]

TOKEN = "tok-" + "x" * 40
PUSH: dict[str, Any] = {
    "config_id": "cfg-1",
    "url": "http://127.0.0.1:1/a2a/push/s1",
    "token": TOKEN,
}


async def call_all(client: AgentClient, **common: Any) -> None:
    """Every call about a task, each once, in a fixed order."""
    async with aclosing(client.send(brief(), **common)) as stream:
        await anext(stream)
    async with aclosing(client.subscribe("t1", **common)) as stream:
        await anext(stream)
    await client.get("t1", **common)
    await client.list_tasks(**common)
    await client.create_push("t1", **PUSH, **common)
    await client.list_push("t1", **common)
    await client.delete_push("t1", "cfg-1", **common)
    await client.cancel("t1", **common)
