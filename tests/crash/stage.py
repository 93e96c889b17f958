"""Plays many stories at one locum that is killed in the middle, and keeps how each one ended.

A story is an async generator about one agent of its own. It brings its sub-task to a boundary and
yields `KILL`; when it goes on, locum has been killed and started again on the same file. One that
yields `FREEZE` first goes on while locum is stopped (SIGSTOP): what its agent says then has
arrived, and locum will never hear it. Stories assert; this only plays and reads.
"""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from tests.agents.frames import Binding, Json
from tests.agents.raw import RawAgent
from tests.agents.seen import Seen

from .audit import faults
from .process import LocumProcess

__all__ = ["FREEZE", "KILL", "Outcomes", "Stage", "Story", "Telling", "cases", "play", "story"]

FREEZE: Literal["freeze"] = "freeze"
KILL: Literal["kill"] = "kill"
BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")
STEP_LIMIT = 25.0
"""Seconds that a story may take from one boundary to the next."""

Telling = AsyncGenerator[Literal["freeze", "kill"], None]
Outcomes = dict[str, Exception | None]
"""What went wrong with each story, by its name and binding."""


@dataclass(frozen=True)
class Story:
    """A story and its agent: `agent` goes into RawAgent, `table` into `[[agents]]`."""

    tell: Callable[["Stage"], Telling]
    agent: Mapping[str, Any]
    table: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Where it stands, and its own name."""
        return f"{self.tell.__module__.rpartition('.')[2]}.{self.tell.__name__}"


def story(
    stories: list[Story], *, agent: Mapping[str, Any] | None = None, **table: Any
) -> Callable[[Callable[["Stage"], Telling]], Callable[["Stage"], Telling]]:
    """Add a story to `stories`; `table` are its agent's settings."""

    def add(tell: Callable[["Stage"], Telling]) -> Callable[["Stage"], Telling]:
        stories.append(Story(tell, agent or {}, table))
        return tell

    return add


@dataclass
class _World:
    """The locum of all stories: its API, the rows last read, and a reader of the feed."""

    locum: LocumProcess
    http: httpx.AsyncClient
    rows: dict[str, Json] = field(default_factory=dict)
    notes: list[Json] = field(default_factory=list)
    """What the reader was told, in order; it keeps its cursor over every restart."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def call(self, method: str, path: str, body: Json | None = None) -> Json:
        response = await self.http.request(method, f"/v1{path}", json=body)
        assert response.is_success, response.text
        return dict(response.json())

    async def watch_rows(self) -> None:
        while True:
            with suppress(httpx.TransportError, AssertionError):
                rows = (await self.call("GET", "/parents/p/sub-tasks"))["sub_tasks"]
                async with self.changed:
                    self.rows = {row["id"]: row for row in rows}
                    self.changed.notify_all()
            await asyncio.sleep(0.15)

    async def read_feed(self) -> None:
        path = "/v1/parents/p/notifications/stream"
        while True:
            last = {"Last-Event-ID": str(self.notes[-1]["cursor"])} if self.notes else {}
            with suppress(httpx.TransportError):
                async with self.http.stream("GET", path, headers=last, timeout=30) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("data: "):
                            self.notes.append(json.loads(line.removeprefix("data: ")))
            await asyncio.sleep(0.1)


class Stage:
    """One story's place: its agent and its sub-tasks."""

    def __init__(self, world: _World, agent: RawAgent, agent_id: str) -> None:
        self._world = world
        self.agent = agent
        self.agent_id = agent_id
        self.id = ""
        """The sub-task that was spawned first."""
        self.ids: list[str] = []

    # What a parent does

    async def spawn(self, **brief: Any) -> str:
        """Hand out a piece of work; its id."""
        body = {"agent": self.agent_id, "goal": "count the chairs"} | brief
        row = await self._world.call("POST", "/parents/p/sub-tasks", body)
        if row["id"] not in self.ids:
            self.ids.append(row["id"])
        self.id = self.ids[0]
        return str(row["id"])

    async def reply(self, text: str = "the red ones") -> None:
        """Answer the open question."""
        await self._world.call("POST", f"/sub-tasks/{self.id}/reply", {"text": text})

    async def cancel(self) -> Json:
        """Cancel it; its row at the end."""
        return await self._world.call("POST", f"/sub-tasks/{self.id}/cancel", {})

    # What a parent reads

    async def until(self, *states: str, sub_task: str = "") -> Json:
        """The row, once it is in one of the states."""
        key, world = sub_task or self.id, self._world
        async with world.changed:
            await world.changed.wait_for(lambda: world.rows.get(key, {}).get("state") in states)
        return await world.call("GET", f"/sub-tasks/{key}")

    async def events(self, kind: str = "", sub_task: str = "") -> list[Json]:
        """The events, all or of one kind."""
        found = await self._world.call("GET", f"/sub-tasks/{sub_task or self.id}/events")
        return [event for event in found["events"] if not kind or event["type"] == kind]

    async def event(self, kind: str, count: int = 1) -> Json:
        """The latest event of a kind, once there are `count` of it."""
        while len(found := await self.events(kind)) < count:
            await asyncio.sleep(0.1)
        assert len(found) == count
        return found[-1]

    async def told(self, *kinds: str, sub_task: str = "") -> list[Json]:
        """What the reader was told of it: these kinds, in this order, and nothing else."""
        key = sub_task or self.id

        def said() -> list[Json]:
            return [note for note in self._world.notes if note["sub_task_id"] == key]

        while len(said()) < len(kinds):
            await asyncio.sleep(0.05)
        assert [note["kind"] for note in said()] == list(kinds)
        return said()

    # What the agent saw

    def sends(self) -> list[Seen]:
        """The requests with a message in them."""
        return [seen for seen in self.agent.requests if seen.message]

    def briefs(self) -> list[Seen]:
        """The briefs among them."""
        return [seen for seen in self.sends() if not seen.message.get("taskId")]

    def replies(self) -> list[Seen]:
        """The replies among them."""
        return [seen for seen in self.sends() if seen.message.get("taskId")]

    async def configs_gone(self) -> None:
        """F1: the agent has no push config any more."""
        await self.agent.until(lambda: not self.agent.push_configs, 10, "push configs gone")


def cases(stories: Iterable[Story]) -> dict[str, tuple[Story, Binding]]:
    """Each story in each binding, by its name."""
    return {f"{one.name}[{binding}]": (one, binding) for one in stories for binding in BINDINGS}


async def play(folder: Path, cast: Mapping[str, tuple[Story, Binding]]) -> Outcomes:
    """Play the stories of `cases`, with one kill in all of them."""
    told = list(cast.values())
    outcomes: Outcomes = dict.fromkeys(cast)
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(RawAgent(binding, **one.agent)) for one, binding in told
        ]
        ids = [f"a{number}" for number in range(len(told))]
        tables = {
            key: {"url": agent.url, **one.table}
            for key, agent, (one, _) in zip(ids, agents, told, strict=True)
        }
        locum = LocumProcess(folder, tables, standin={"cancel_grace": "8s", "send_timeout": "60s"})
        stack.push_async_callback(locum.close)
        await locum.start()
        http = await stack.enter_async_context(
            httpx.AsyncClient(base_url=locum.base_url, trust_env=False, timeout=30)
        )
        world = _World(locum, http)
        stages = [Stage(world, agent, key) for key, agent in zip(ids, agents, strict=True)]
        running = {
            name: (await stack.enter_async_context(aclosing(one.tell(stage))), stage)
            for name, (one, _), stage in zip(outcomes, told, stages, strict=True)
        }
        readers = [asyncio.create_task(read()) for read in (world.watch_rows, world.read_feed)]
        for reader in readers:
            stack.push_async_callback(_ended, reader)
        await _play(locum, running, outcomes)
        await locum.close()
        _check_log(locum.store, running, outcomes)
    return outcomes


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def _play(
    locum: LocumProcess, running: dict[str, tuple[Telling, Stage]], outcomes: Outcomes
) -> None:
    async def step(name: str, advance: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(STEP_LIMIT):
                return await advance
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is the test's
            outcomes[name] = error if isinstance(error, Exception) else RuntimeError(repr(error))
            return None

    async def all_step(names: Iterable[str]) -> dict[str, Any]:
        names = list(names)
        steps = [step(name, anext(running[name][0], "end")) for name in names]
        return dict(zip(names, await asyncio.gather(*steps), strict=True))

    reached = await all_step(running)
    locum.send(signal.SIGSTOP)
    reached |= await all_step(name for name, at in reached.items() if at == FREEZE)
    await asyncio.sleep(0.1)  # what the agents said is on its way to a process that is frozen
    await locum.kill()
    await locum.start()
    ended = await all_step(name for name, at in reached.items() if at == KILL)
    through = [name for name, at in ended.items() if at == "end"]
    for name in set(running) - set(through):
        outcomes[name] = outcomes[name] or AssertionError(f"it stopped at {reached[name]}")
    await asyncio.gather(*(step(name, _check(running[name][1])) for name in through))


async def _check(stage: Stage) -> None:
    """What holds for every story at its end."""
    for sub_task in stage.ids:
        row = await stage.until("COMPLETED", "FAILED", "CANCELED", "REJECTED", sub_task=sub_task)
        events = await stage.events(sub_task=sub_task)
        assert [event["version"] for event in events] == list(range(1, len(events) + 1))
        assert [event["type"] for event in events].count("Resolved") == 1
        assert row["version"] <= len(events)
    # C7: work goes out under one message id, and byte for byte the same if it goes out again.
    by_id: dict[str, set[str]] = {}
    for seen in stage.sends():
        by_id.setdefault(seen.message["messageId"], set()).add(repr(seen.message))
    assert all(len(said) == 1 for said in by_id.values())
    assert len({seen.message["messageId"] for seen in stage.briefs()}) <= len(stage.ids)
    await stage.configs_gone()


def _check_log(
    store: Path, running: Mapping[str, tuple[Telling, Stage]], outcomes: Outcomes
) -> None:
    """H3: the chains hold, and every step was a legal one."""
    found = faults(store)
    for name, (_, stage) in running.items():
        if wrong := {key: found[key] for key in stage.ids if key in found}:
            outcomes[name] = outcomes[name] or AssertionError(str(wrong))
