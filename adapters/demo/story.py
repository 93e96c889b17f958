"""The demonstration that `make demo` shows: five pieces of work, and a crash in the middle.

It is a client of locum's HTTP API like any other. The agent and locum run as processes of their
own; both are ended by their own process ids.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from rich.text import Text

from locum.core.errors import ServerError

from .processes import START_LIMIT, agent_running, free_port, locum_running

__all__ = ["run_demo"]

PARENT = "hall"
STORY_LIMIT = 40.0
"""Seconds in which the story has to end."""
COLOURS = {
    "COMPLETED": "green",
    "FAILED": "red",
    "REJECTED": "red",
    "CANCELED": "yellow",
    "INPUT_REQUIRED": "magenta",
    "AUTH_REQUIRED": "magenta",
    "WORKING": "cyan",
    "SUBMITTED": "dim",
}


@dataclass(frozen=True)
class Work:
    """A piece of work that is handed out, and how it has to end."""

    name: str
    goal: str
    shows: str
    state: str
    text: str


WORK = (
    Work("chairs", "Count the red chairs", "a result in chunks", "COMPLETED",
         "Row 1: 4 red chairs. Row 2: 5 red chairs. Together 9."),
    Work("door", "Paint the door", "a question, answered", "COMPLETED", "Painted blue."),
    Work("permit", "Permit for the stage", "a wait that clears by itself", "COMPLETED",
         "The permit is at the door."),
    Work("lift", "Lift the piano", "a failure with its reason", "FAILED",
         "The lift is out of order until Monday."),
    Work("guard", "Guard the entrance", "a cancel", "CANCELED", ""),
)  # fmt: skip
AFTER_CRASH = Work("fence", "Paint the fence", "a crash while parked", "COMPLETED", "Painted red.")


async def run_demo(console: Console | None = None) -> bool:
    """Tell the story on the console; True when every outcome was the right one."""
    out = console or Console(highlight=False, width=min(Console().width, 80))
    with tempfile.TemporaryDirectory(prefix="locum-demo-") as folder:
        story = _Story(out, Path(folder))
        async with asyncio.timeout(STORY_LIMIT + 2 * START_LIMIT):
            return await story.tell()


class _Story:
    def __init__(self, out: Console, folder: Path) -> None:
        self._out = out
        self._store = folder / "locum.db"
        self._config = folder / "locum.toml"
        self._started = time.monotonic()
        self._wrong: list[str] = []

    async def tell(self) -> bool:
        self._head("An agent and locum, each in a process of its own")
        async with agent_running() as agent_url:
            base_url = f"http://127.0.0.1:{free_port()}"
            self._configure(agent_url, base_url)
            self._say(f"agent  {agent_url}")
            async with locum_running(self._config, base_url) as locum:
                self._say(f"locum  {base_url}, store {self._store.name}")
                async with httpx.AsyncClient(base_url=base_url, trust_env=False) as api:
                    await self._five(api)
                    await self._told(api)
                    await self._log(api)
                    fence = await self._park(api)
                self._head("SIGKILL: locum dies while a sub-task waits for an answer")
                await locum.kill()
                self._say(f"pid {locum.pid} is gone; the store is on disk")
            async with (
                locum_running(self._config, base_url) as again,
                httpx.AsyncClient(base_url=base_url, trust_env=False) as api,
            ):
                await self._finish(api, fence, again.pid)
        self._verdict()
        return not self._wrong

    # --- the chapters

    async def _five(self, api: httpx.AsyncClient) -> None:
        self._head("Five pieces of work, as their rows change")
        async with asyncio.TaskGroup() as group:
            for work in WORK:
                group.create_task(self._hand_out(api, work))

    async def _hand_out(self, api: httpx.AsyncClient, work: Work) -> None:
        row = handed = await _post(
            api,
            f"/v1/parents/{PARENT}/sub-tasks",
            {"agent": "caretaker", "name": work.name, "goal": work.goal},
        )
        async for row in _changes(api, handed):
            self._row(row)
            if work.name == "door" and row["state"] == "INPUT_REQUIRED":
                self._say("       parent answers: blue")
                await _post(
                    api,
                    f"/v1/sub-tasks/{row['id']}/reply",
                    {"text": "blue", "question": row["version"]},
                )
            if work.name == "guard" and row["state"] == "WORKING":
                self._say("       parent cancels: the show is over")
                await _post(
                    api, f"/v1/sub-tasks/{row['id']}/cancel", {"reason": "the show is over"}
                )
        self._check(work, row)

    async def _told(self, api: httpx.AsyncClient) -> None:
        self._head("What the model was told: no WORKING, each thing once")
        page = await _get(api, f"/v1/parents/{PARENT}/notifications")
        table = Table(box=None, padding=(0, 1), show_edge=False)
        for title in ("#", "about", "kind", "state", "text"):
            table.add_column(title, no_wrap=title != "text")
        names = {row["id"]: row["name"] for row in await self._rows(api)}
        for note in page["notifications"]:
            table.add_row(
                str(note["cursor"]),
                names[note["sub_task_id"]],
                note["kind"],
                Text(note["state"], COLOURS.get(note["state"], "")),
                note["text"] or "–",
            )
        self._out.print(table)
        if any(note["state"] in ("WORKING", "SUBMITTED") for note in page["notifications"]):
            self._wrong.append("the model was told of WORKING")

    async def _log(self, api: httpx.AsyncClient) -> None:
        self._head("The record of one sub-task (permit): who said what, why, when")
        rows = {row["name"]: row for row in await self._rows(api)}
        # The push config is deleted right after the end: that is part of the record, too.
        events = await _events_with(api, rows["permit"]["id"], "PushRevoked")
        for event in events:
            said = event.get("state") or event.get("outcome") or ""
            self._out.print(
                f"{event['version']:>2} {event['at'][11:23]} {event['type']:<12}"
                f"{event['cause']:<9}{event['actor']:<17}{said:<15}{event['hash'][:8]}"
            )
        causes = [event["cause"] for event in events]
        if "push" not in causes:
            self._wrong.append("the permit was not heard by push")

    async def _park(self, api: httpx.AsyncClient) -> dict[str, Any]:
        self._head("One more, which is parked when the power goes")
        row: dict[str, Any] = await _post(
            api,
            f"/v1/parents/{PARENT}/sub-tasks?wait=settled&wait_timeout=20",
            {"agent": "caretaker", "name": AFTER_CRASH.name, "goal": AFTER_CRASH.goal},
        )
        self._row(row)
        return row

    async def _finish(self, api: httpx.AsyncClient, row: dict[str, Any], pid: int) -> None:
        self._head(f"locum again (pid {pid}): nothing is lost")
        row = await _get(api, f"/v1/sub-tasks/{row['id']}")
        self._row(row)
        self._say("       parent answers: red")
        handed = await _post(
            api,
            f"/v1/sub-tasks/{row['id']}/reply",
            {"text": "red", "question": row["version"]},
        )
        async for row in _changes(api, handed):
            self._row(row)
        self._check(AFTER_CRASH, row)

    # --- what is shown

    def _configure(self, agent_url: str, base_url: str) -> None:
        port = base_url.rpartition(":")[2]
        self._config.write_text(
            f'[server]\nport = {port}\nbase_url = "{base_url}"\n'
            f'[store]\nurl = "sqlite:///{self._store}"\n'
            f'[[agents]]\nid = "caretaker"\nurl = "{agent_url}"\nfollow_interval = "1s"\n'
        )

    async def _rows(self, api: httpx.AsyncClient) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (await _get(api, f"/v1/parents/{PARENT}/sub-tasks"))[
            "sub_tasks"
        ]
        return rows

    def _head(self, title: str) -> None:
        self._out.print(Text(f"\n{title}", "bold"))

    def _say(self, text: str) -> None:
        self._out.print(Text(text), overflow="ellipsis", no_wrap=True)

    def _row(self, row: Mapping[str, Any]) -> None:
        line = Text(f"{time.monotonic() - self._started:5.1f}s ")
        line.append(f"{row['name']:<7}")
        line.append(f"{row['state']:<15}", COLOURS.get(row["state"], ""))
        line.append(f"{row['watch'] or '':<7}", "dim")
        line.append(row["text"])
        self._out.print(line, overflow="ellipsis", no_wrap=True)

    def _check(self, work: Work, row: Mapping[str, Any]) -> None:
        if (row["state"], row["text"]) != (work.state, work.text):
            self._wrong.append(
                f"{work.name}: {row['state']} {row['text']!r}, not {work.state} {work.text!r}"
            )

    def _verdict(self) -> None:
        self._head("Outcome")
        for wrong in self._wrong:
            self._out.print(Text(f"wrong: {wrong}", "red"))
        if not self._wrong:
            count = len(WORK) + 1
            self._out.print(Text(f"all {count} sub-tasks ended as they should", "green"))


# --- the API, as any client uses it


async def _get(api: httpx.AsyncClient, path: str) -> Any:
    return _answer(await api.get(path))


async def _post(api: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> Any:
    return _answer(await api.post(path, json=body, timeout=30))


def _answer(response: httpx.Response) -> Any:
    body = response.json()
    if response.is_error:
        raise ServerError(f"{body.get('title')} ({body.get('code')})", code="server.refused")
    return body


async def _changes(api: httpx.AsyncClient, row: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The row whenever it has changed, until it has ended."""
    seen = ""
    while True:
        shown = f"{row['state']} {row['text']} {row['watch']}"
        if shown != seen:
            yield row
        seen = shown
        if row["state"] in ("COMPLETED", "FAILED", "CANCELED", "REJECTED"):
            return
        await asyncio.sleep(0.05)
        row = await _get(api, f"/v1/sub-tasks/{row['id']}")


async def _events_with(api: httpx.AsyncClient, sub_task_id: str, kind: str) -> list[dict[str, Any]]:
    """The sub-task's events, as soon as one of `kind` is among them."""
    async with asyncio.timeout(10):
        while True:
            events: list[dict[str, Any]] = (await _get(api, f"/v1/sub-tasks/{sub_task_id}/events"))[
                "events"
            ]
            if any(event["type"] == kind for event in events):
                return events
            await asyncio.sleep(0.05)
