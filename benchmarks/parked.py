"""What a parked sub-task costs while nothing happens: memory and CPU, and how soon locum is ready.

    python -m benchmarks.parked [--count 15000]

A store with so many sub-tasks that wait for a push is made, and locum started on it in a process of
its own: each push config is looked for and each task looked at once, and then all is quiet. A second
start on a store with fewer of them is what the memory is compared with. The targets are 4 KiB each,
no CPU, and to be ready within twice the time that SQLite takes to select their rows.
"""

import argparse
import asyncio
import contextlib
import gc
import hashlib
import json
import multiprocessing
import socket
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import Settings
from locum.adapters.store import Journal
from locum.core.commands import Command, Hear, Spawn
from locum.core.events import Watch
from locum.core.lifecycle import A2AState
from locum.core.report import Part, RemoteReport

TARGET = 4.0
"""KiB for each."""
FEW = 5_000
"""Enough to fill what locum keeps a fixed number of, so that only what each one costs is compared."""
QUIET = 5.0
"""Seconds over which CPU is looked at when all is quiet."""
AT = "2026-01-31T12:00:00.000000Z"
WAITING = 256
BASE_URL = "http://127.0.0.1:1"
TOKEN = "t" * 43
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
CARD: dict[str, Any] = {
    "name": "Parked",
    "description": "Asks, and waits for ever",
    "version": "1.0.0",
    "capabilities": {"streaming": True, "pushNotifications": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "any", "name": "Any", "description": "Anything", "tags": ["any"]}],
}


async def agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection: the card, a task that asks, and its push config."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
            asked = json.loads(await reader.readexactly(length) or b"{}")
            host, port = writer.get_extra_info("sockname")[:2]
            answer = json.dumps(_answer(asked, f"http://{host}:{port}")).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(answer), answer)
            )
            await writer.drain()
    writer.close()


def _answer(asked: dict[str, Any], url: str) -> dict[str, Any]:
    if not asked:
        interface = {"url": f"{url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return CARD | {"supportedInterfaces": [interface]}
    params = asked["params"]
    result: dict[str, Any]
    if asked["method"] == "ListTaskPushNotificationConfigs":
        sub_task = params["taskId"].removeprefix("task-")
        config = {"id": f"locum-{sub_task}", "url": f"{BASE_URL}/a2a/push/{sub_task}"}
        result = {"configs": [config | {"taskId": params["taskId"], "token": TOKEN}]}
    else:
        message = {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which hall?"}]}
        status = {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": AT, "message": message}
        result = {"id": params["id"], "contextId": "c", "status": status}
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def life(number: int) -> list[Command]:
    """The commands of a sub-task that asks and waits for a push."""
    key = f"st-{number:028x}"
    report = RemoteReport(
        kind="task",
        remote_task_id=f"task-{key}",
        context_id="c",
        state=A2AState.INPUT_REQUIRED,
        text="Which hall?",
        parts=(Part(text="Which hall?"),),
        remote_at=AT,
        message_id="q",
    )
    watch = Watch(mode="push", config_id=f"locum-{key}", token_digest=DIGEST)
    return [
        Spawn(
            sub_task_id=key,
            at=AT,
            actor="planner",
            parent_id=f"parent-{number % 100}",
            agent_id="raw",
            name="chairs",
            goal="Count the red chairs in the hall",
            description="Only the ones that are whole; benches do not count.",
            acceptance_criteria=("A number",),
            parts=(),
            message_id=f"message-{key}",
            participant_id="locum",
            card_digest="0" * 64,
        ),
        Hear(
            sub_task_id=key,
            at=AT,
            actor="agent:raw",
            cause="send",
            report=report,
            source="get",
            watch=watch,
        ),
    ]


async def fill(store: Path, count: int) -> None:
    """Record so many lives."""
    async with Journal.open(f"sqlite:///{store}", batch=1024) as journal:
        numbers = iter(range(count))

        async def live() -> None:
            for number in numbers:
                for command in life(number):
                    await journal.handle(command)

        await asyncio.gather(*(live() for _ in range(WAITING)))
        await journal.views.wait(journal.position)


def run_locum(pipe: Connection, store: str, agent_url: str) -> None:
    """Enter a harness, wait until all is quiet, and tell what that took."""
    settings = Settings.from_mapping(
        {
            "server": {"base_url": BASE_URL},
            "store": {"url": f"sqlite:///{store}"},
            "standin": {"push_backstop": "1d"},
            "agents": [{"id": "raw", "url": agent_url}],
        }
    )

    async def main() -> None:
        process = psutil.Process()
        began = time.perf_counter()
        async with Harness(settings) as harness:
            ready = time.perf_counter() - began
            pipe.send(ready)
            while any(t.get_name().startswith("locum-st-") for t in asyncio.all_tasks()):  # noqa: ASYNC110 - tasks of others: nothing to await
                await asyncio.sleep(0.5)
            quiet = time.perf_counter() - began
            gc.collect()
            memory, before = process.memory_info().rss, process.cpu_times()
            await asyncio.sleep(QUIET)
            after = process.cpu_times()
            spent = after.user + after.system - before.user - before.system
            assert harness.ready
            pipe.send((quiet, memory, spent / QUIET))

    asyncio.run(main())


async def measure(store: Path, agent_url: str) -> tuple[float, float, int, float]:
    """Seconds until ready and until quiet, bytes of memory, and the share of a CPU when quiet."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run_locum, args=(theirs, str(store), agent_url), daemon=True)
    process.start()
    theirs.close()
    ready: float = await asyncio.to_thread(ours.recv)
    quiet, memory, spent = await asyncio.to_thread(ours.recv)
    await asyncio.to_thread(process.join, 30)
    return ready, quiet, memory, spent


def select(store: Path) -> float:
    """Seconds that SQLite takes to select the rows of what is open."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        began = time.perf_counter()
        connection.execute("SELECT * FROM sub_task_rows").fetchall()
        return time.perf_counter() - began


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[str]:
    """The agent; its URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as free:
        port = free.getsockname()[1]
        async with await asyncio.start_server(agent, sock=free):
            yield f"http://127.0.0.1:{port}"


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with listening() as url:
            found: dict[int, tuple[float, float, int, float]] = {}
            for size in (FEW, count):
                store = Path(folder) / f"{size}.db"
                await fill(store, size)
                found[size] = await measure(store, url)
                print(
                    f"{size:7} parked: ready after {found[size][0]:.2f} s"
                    f" (SQLite selects in {select(store):.2f} s), quiet after {found[size][1]:.1f} s,"
                    f" {found[size][2] / 2**20:.0f} MiB, {found[size][3]:.1%} of a CPU"
                )
    each = (found[count][2] - found[FEW][2]) / (count - FEW) / 1024
    print(f"memory: {each:.1f} KiB for each (target {TARGET} KiB or less)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=15_000)
    asyncio.run(main(parser.parse_args().count))
