"""Two harnesses in one process that hand work to each other, one of them below a path (A8)."""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from a2a.helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Part
from starlette.applications import Starlette
from starlette.routing import Mount

from locum.adapters import Harness, Settings

from .front import served
from .support import QUICK, until


class Passer(AgentExecutor):
    """Hands what it is asked on to the other harness, but for `count`, which it does."""

    def __init__(self, other: str) -> None:
        self.other = other
        self.harness: Harness | None = None

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        assert self.harness is not None
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        await update.start_work()
        said = get_message_text(context.message)
        if "count" in said:
            row = await self.harness.spawn(task.id, agent=self.other, goal="finish")
            text = (await until(self.harness, row.id, "COMPLETED")).text
        else:
            text = "12"
        await update.add_artifact([Part(text=text)], artifact_id="a")
        await update.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise AssertionError("nobody cancels")


class Counted:
    """An app that counts the requests for cards."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.cards = 0
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        self.cards += "agent-card" in scope["path"]
        await self.app(scope, receive, send)


@asynccontextmanager
async def pair(
    path: str, slash: str, key: str = "url"
) -> AsyncIterator[tuple[Harness, Counted, Counted]]:
    """The first harness, at the root, and the apps of both; the second is below `path`.

    Each is configured at the other by the URL that `key` names.
    """
    async with AsyncExitStack() as stack:
        # Bound only: nobody answers before the harness is there.
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        root, below = (f"http://127.0.0.1:{one.getsockname()[1]}" for one in sockets)
        urls = {"first": root + slash, "second": below + path + slash}
        tail = "/.well-known/agent-card.json" if key == "card_url" else ""
        harnesses, apps = [], []
        for name, other, listening in zip(urls, reversed(urls), sockets, strict=True):
            passer = Passer(other)
            settings = Settings.from_mapping(
                {
                    "server": {"base_url": urls[name]},
                    "store": {"url": "sqlite:///:memory:"},
                    "standin": QUICK,
                    "card": {"name": name, "description": "Passes on"},
                    "agents": [{"id": other, key: urls[other] + tail, "follow_interval": "1s"}],
                }
            )
            harness = await stack.enter_async_context(Harness(settings, executor=passer))
            passer.harness = harness
            app = harness.asgi_app()
            stack.callback(app.stop)
            where = path if name == "second" else ""
            counted = Counted(Starlette(routes=[Mount(where, app=app)]) if where else app)
            await stack.enter_async_context(served(counted, listening))
            harnesses.append(harness)
            apps.append(counted)
        yield harnesses[0], apps[0], apps[1]


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("path", ["", "/agents/second"])
async def test_work_that_comes_back(path: str, slash: str) -> None:
    """A8, A9: each has the other's card without asking for it, and calls travel over HTTP."""
    async with pair(path, slash) as (first, at_first, at_second):
        row = await first.spawn("p", agent="second", goal="count")
        assert (await until(first, row.id, "COMPLETED", timeout=20)).text == "12"
        assert [view["name"] for view in first.agents() if view["id"] == "second"] == ["second"]
    assert at_second.cards == 0
    assert f"{path}/a2a" in at_second.paths
    assert "/a2a" in at_first.paths


@pytest.mark.parametrize("path", ["", "/agents/second"])
async def test_each_is_known_by_its_cards_url_too(path: str) -> None:
    """A8: where only the URL of the card is configured, it is not asked for either."""
    async with pair(path, "", "card_url") as (first, _, at_second):
        row = await first.spawn("p", agent="second", goal="count")
        assert (await until(first, row.id, "COMPLETED", timeout=20)).text == "12"
    assert at_second.cards == 0
