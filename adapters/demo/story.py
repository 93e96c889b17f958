"""The demonstration that `make demo` shows: five pieces of work, and a crash in the middle.

It is a client of locum's HTTP API like any other. The agent and locum run as processes of their
own; both are ended by their own process ids, however the story ends.
"""

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from locum.core.errors import ServerError

from ..cli.server import Server
from .processes import AGENT, Process, agent_running, free_port, locum_running, until_ready
from .screen import Screen
from .work import AFTER_CRASH, WORK, Work, wrong_in_events, wrong_in_notes, wrong_in_row

__all__ = ["run_demo"]

PARENT = "hall"
LIMIT = 180.0
"""Seconds after which the story is given up, on a machine that is very busy."""
LOOK_PAUSE = 0.05
SUB_TASKS = f"/v1/parents/{PARENT}/sub-tasks"


async def run_demo(out: Console, *, agent: Sequence[str] = AGENT) -> list[str]:
    """Tell the story on the console; what was wrong, which is nothing when all went well.

    `agent` is the command of the agent's process. Raises ServerError when the story could not be
    told to its end, CancelledError at SIGTERM or SIGHUP.
    """
    with (
        tempfile.TemporaryDirectory(prefix="locum-demo-") as folder,
        _cancelled_by(signal.SIGTERM, signal.SIGHUP),
    ):
        story = _Story(Screen(out), Path(folder), agent)
        try:
            async with asyncio.timeout(LIMIT):
                return await story.tell()
        except TimeoutError:
            raise ServerError(
                f"The demonstration did not end within {LIMIT:g} s.", code="server.demo"
            ) from None


@contextmanager
def _cancelled_by(*signs: signal.Signals) -> Iterator[None]:
    """As asyncio has it for SIGINT: the task is cancelled, and puts away what it started."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    for sign in signs:
        loop.add_signal_handler(sign, task.cancel)
    try:
        yield
    finally:
        for sign in signs:
            loop.remove_signal_handler(sign)


class _Story:
    def __init__(self, screen: Screen, folder: Path, agent: Sequence[str]) -> None:
        self._screen = screen
        self._folder = folder
        self._agent = agent
        self._config = folder / "locum.toml"
        self._base_url = f"http://127.0.0.1:{free_port()}"
        self._wrong: list[str] = []

    async def tell(self) -> list[str]:
        screen = self._screen
        async with AsyncExitStack() as stack:
            screen.head("An agent and locum, each in a process of its own")
            agent, agent_url = await stack.enter_async_context(
                agent_running(self._folder, self._agent)
            )
            self._configure(agent_url)
            async with locum_running(self._config) as locum, self._api() as api:
                with screen.waiting("both are starting"):
                    await until_ready(self._base_url, agent, locum)
                    await _accepted(api, agent)
                screen.say(f"agent  {agent_url}  (pid {agent.pid}, a2a-sdk)")
                screen.say(f"locum  {self._base_url}  (pid {locum.pid}, SQLite)")
                screen.begin()
                await self._five(api)
                await self._told(api)
                await self._record(api)
                parked = await self._park(api)
                screen.head("SIGKILL: locum dies while a sub-task waits for an answer")
                await locum.kill()
                screen.say(f"pid {locum.pid} is gone; what it recorded is on disk")
            async with locum_running(self._config) as again, self._api() as api:
                with screen.waiting("locum is starting again"):
                    await until_ready(self._base_url, agent, again)
                screen.head(f"locum again (pid {again.pid}): nothing is lost")
                await self._finish(api, parked)
        self._judge()
        return self._wrong

    # --- the chapters

    async def _five(self, api: Server) -> None:
        self._screen.head("Five pieces of work, as their rows change")
        with self._screen.rows():
            try:
                async with asyncio.TaskGroup() as group:
                    for work in WORK:
                        group.create_task(self._hand_out(api, work))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from errors

    async def _hand_out(self, api: Server, work: Work) -> None:
        row = handed = await api.post(
            SUB_TASKS, {"agent": "caretaker", "name": work.name, "goal": work.goal}
        )
        async for row in _changes(api, handed):
            self._screen.row(row)
            if work.name == "door" and row["state"] == "INPUT_REQUIRED":
                await self._reply(api, row, "blue")
            if work.name == "guard" and row["state"] == "WORKING":
                self._screen.act("cancels guard: the show is over")
                body = {"reason": "the show is over"}
                await api.post(f"/v1/sub-tasks/{row['id']}/cancel", body)
        self._wrong += wrong_in_row(work, row)

    async def _told(self, api: Server) -> None:
        self._screen.head("What the model was told: no WORKING, and each thing once")
        page = await api.get(f"/v1/parents/{PARENT}/notifications")
        rows = (await api.get(SUB_TASKS))["sub_tasks"]
        names = {row["id"]: row["name"] for row in rows}
        self._screen.notes(page["notifications"], names)
        self._wrong += wrong_in_notes(page["notifications"], names)

    async def _record(self, api: Server) -> None:
        self._screen.head("The record of one of them (permit): who said what, why, when")
        rows = {row["name"]: row for row in (await api.get(SUB_TASKS))["sub_tasks"]}
        # The push config is deleted right after the end: that is part of the record, too.
        events = await _events_with(api, rows["permit"]["id"], "PushRevoked")
        self._screen.events(events)
        self._wrong += wrong_in_events(events)

    async def _park(self, api: Server) -> dict[str, Any]:
        self._screen.head("One more, which is parked when the power goes")
        row = await api.post(
            f"{SUB_TASKS}?wait=settled&wait_timeout=30",
            {"agent": "caretaker", "name": AFTER_CRASH.name, "goal": AFTER_CRASH.goal},
        )
        self._screen.row(row)
        return row

    async def _finish(self, api: Server, parked: Mapping[str, Any]) -> None:
        row = await api.get(f"/v1/sub-tasks/{parked['id']}")
        self._screen.row(row)
        if row["version"] < parked["version"]:
            self._wrong.append(f"{row['name']} was at version {parked['version']} before the crash")
        handed = await self._reply(api, row, "red")
        async for row in _changes(api, handed):
            self._screen.row(row)
        self._wrong += wrong_in_row(AFTER_CRASH, row)

    async def _reply(self, api: Server, row: Mapping[str, Any], text: str) -> dict[str, Any]:
        self._screen.act(f"answers {row['name']}: {text}")
        body = {"text": text, "question": row["version"]}
        return await api.post(f"/v1/sub-tasks/{row['id']}/reply", body)

    def _judge(self) -> None:
        self._screen.head("Outcome")
        for wrong in self._wrong:
            self._screen.out.print(f"wrong: {wrong}", style="red")
        if not self._wrong:
            self._screen.say(f"All {len(WORK) + 1} sub-tasks ended as they should.", "green")

    # --- how the two are set up

    def _api(self) -> Server:
        return Server(self._base_url, token=None, actor="parent")

    def _configure(self, agent_url: str) -> None:
        port = self._base_url.rpartition(":")[2]
        self._config.write_text(
            f'[server]\nport = {port}\nbase_url = "{self._base_url}"\n'
            f'[store]\nurl = "sqlite:///{self._folder}/locum.db"\n'
            # Both start at once, so that the card may take a while to come.
            '[limits]\ncard_timeout = "60s"\n'
            f'[[agents]]\nid = "caretaker"\nurl = "{agent_url}"\nfollow_interval = "1s"\n'
        )


async def _accepted(api: Server, agent: Process) -> None:
    """Return when locum takes the agent. Raises ServerError when it does not."""
    (listed,) = (await api.get("/v1/agents"))["agents"]
    if listed["state"] != "accepted":
        await agent.look(2)
        raise ServerError(f"The agent is refused: {listed['reason']}", code="server.demo")


async def _changes(api: Server, row: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The row whenever it has changed, until it has ended."""
    seen = ""
    while True:
        shown = f"{row['state']} {row['text']} {row['watch']}"
        if shown != seen:
            yield row
        seen = shown
        if row["state"] in ("COMPLETED", "FAILED", "CANCELED", "REJECTED"):
            return
        await asyncio.sleep(LOOK_PAUSE)
        row = await api.get(f"/v1/sub-tasks/{row['id']}")


async def _events_with(api: Server, sub_task_id: str, kind: str) -> list[dict[str, Any]]:
    """The sub-task's events, as soon as one of `kind` is among them, or after a while without."""
    loop = asyncio.get_running_loop()
    given_up = loop.time() + 10
    while True:
        events: list[dict[str, Any]] = (await api.get(f"/v1/sub-tasks/{sub_task_id}/events"))[
            "events"
        ]
        if loop.time() > given_up or any(event["type"] == kind for event in events):
            return events
        await asyncio.sleep(LOOK_PAUSE)
