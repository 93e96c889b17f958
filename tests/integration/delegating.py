"""Delegating to one agent over the HTTP API: what the tests of its routes share."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ..agents.frames import EOF, EV, T
from ..agents.raw import RawAgent
from .front import Front, front

__all__ = ["NOTE", "ROW", "SUB_TASKS", "asking", "problem", "spawn", "with_agent"]

ROW = {
    *("id", "parent_id", "agent", "name", "goal", "state", "text", "remote_task_id"),
    *("context_id", "watch", "cause", "anomalies", "version", "created_at", "updated_at"),
    *("parts", "artifacts", "account", "status_text", "reason"),
}
NOTE = {
    *("cursor", "sub_task_id", "parent_id", "agent", "kind", "state", "text", "at"),
    *("account", "refusal", "status_text"),
}
SUB_TASKS = "/v1/parents/p/sub-tasks"


@contextlib.asynccontextmanager
async def with_agent(
    *steps: Any, task: Any = None, updates: str = "follow", **more: Any
) -> AsyncIterator[tuple[Front, RawAgent]]:
    """A front with one agent, `raw`, that answers a send with `steps`."""
    async with RawAgent(keep_alive=True) as agent:
        if steps:
            agent.on("SendStreamingMessage", [*steps, EOF])
        if task is not None:
            agent.task = task
        agents = [{"id": "raw", "url": agent.url, "updates": updates, "follow_interval": "1s"}]
        async with front({"agents": agents}, **more) as face:
            yield face, agent


@contextlib.asynccontextmanager
async def asking() -> AsyncIterator[tuple[Front, RawAgent]]:
    """A front with an agent that asks "Which?" at once."""
    task = T("INPUT_REQUIRED", "Which?")
    async with with_agent(EV(task), task=task) as both:
        yield both


async def spawn(face: Front, wait: str = "settled", **body: Any) -> dict[str, Any]:
    """Spawn at `raw`; the row of the answer."""
    answer = await face.http.post(
        f"{SUB_TASKS}?wait={wait}", json={"agent": "raw", "goal": "g", **body}
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, which must be one."""
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert {"type", "title", "status", "detail", "code"} == set(body)
    assert body["status"] == status
    return body
