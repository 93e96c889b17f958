"""The FastA2A peer: a small agent on fasta2a's own server. Imports nothing of locum's.

It prints one JSON line, {"url": …}, when it can be called, and ends at SIGTERM. A message that
says `[[name key]]` is treated as `_Worker` says; any other is echoed. Whoever waits for an
authorisation goes on when its key is posted to /control/release: {"name": key}.
"""

import asyncio
import json
import os
import platform
import re
import signal
import socket
import sys
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fasta2a import FastA2A
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, Message, TaskIdParams, TaskSendParams, TaskState
from fasta2a.storage import InMemoryStorage
from fasta2a.worker import Worker
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_BEHAVIOUR = re.compile(r"\[\[(\w+) (\S+)\]\]")
_GATES: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


class _Worker(Worker[Any]):
    """Runs each task beside the others: the library hands out one operation at a time."""

    def __init__(self, broker: InMemoryBroker, storage: InMemoryStorage[Any]) -> None:
        super().__init__(broker, storage)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run_task(self, params: TaskSendParams) -> None:
        task_id = params["id"]
        text = "\n".join(part["text"] for part in params["message"]["parts"] if "text" in part)
        name, said = "echo", text
        if found := _BEHAVIOUR.search(text):
            name, said = found.groups()
        task = asyncio.create_task(getattr(self, f"_{name}")(task_id, params["context_id"], said))
        self._running[task_id] = task
        task.add_done_callback(lambda _: self._running.pop(task_id, None))

    async def cancel_task(self, params: TaskIdParams) -> None:
        running = self._running.get(params["id"])
        if running is not None:
            running.cancel()
        # An error here, such as the store's for an unknown id, would end the library's worker.
        if await self.storage.load_task(params["id"]) is not None:
            await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history: list[Message]) -> list[Any]:
        return list(history)

    def build_artifacts(self, result: Any) -> list[Artifact]:
        return [_artifact(str(result))]

    # What it can be told to do; `said` is the key, or the text to echo

    async def _stream(self, task_id: str, context_id: str, said: str) -> None:
        await self._state(task_id, context_id, "working")
        for place, chunk in enumerate(("Hello, ", "big ", "world")):
            await self.publish_artifact(
                task_id, context_id, _artifact(chunk), append=place > 0, last_chunk=place == 2
            )
        await self._end(task_id, context_id, "completed", result="Hello, big world")

    async def _ask(self, task_id: str, context_id: str, said: str) -> None:
        # The reply comes as a new task of the same context, which is echoed: the library knows no
        # message to a task that exists.
        await self._state(task_id, context_id, "working")
        await self._end(task_id, context_id, "input-required", "Which hall?")

    async def _auth(self, task_id: str, context_id: str, said: str) -> None:
        await self._state(task_id, context_id, "auth-required", "Log in first")
        await _GATES[said].wait()
        await self._state(task_id, context_id, "working")
        await self._end(task_id, context_id, "completed", result="authorised")

    async def _fail(self, task_id: str, context_id: str, said: str) -> None:
        await self._end(task_id, context_id, "failed", "no chairs left")

    async def _reject(self, task_id: str, context_id: str, said: str) -> None:
        await self._end(task_id, context_id, "rejected", "not my work")

    async def _hang(self, task_id: str, context_id: str, said: str) -> None:
        await self._state(task_id, context_id, "working")
        await asyncio.Event().wait()

    async def _echo(self, task_id: str, context_id: str, said: str) -> None:
        await self._state(task_id, context_id, "working")
        await self._end(task_id, context_id, "completed", result=said)

    async def _direct(self, task_id: str, context_id: str, said: str) -> None:
        # The library answers every message with a task; this is as direct as it can be.
        await self._end(task_id, context_id, "completed", result="hello there")

    async def _state(self, task_id: str, context_id: str, state: TaskState, says: str = "") -> None:
        message = _message(says) if says else None
        await self.storage.update_task(
            task_id, state=state, new_messages=[message] if message else None
        )
        await self.publish_status(task_id, context_id, state, message)

    async def _end(
        self, task_id: str, context_id: str, state: TaskState, says: str = "", result: str = ""
    ) -> None:
        if result:
            await self.storage.update_task(
                task_id, state="working", new_artifacts=[_artifact(result)]
            )
        await self._state(task_id, context_id, state, says)
        await self.broker.event_bus.close(task_id)


def _artifact(text: str) -> Artifact:
    return Artifact(artifact_id="result", name="result", parts=[{"text": text}])


def _message(text: str) -> Message:
    return Message(role="agent", parts=[{"text": text}], message_id=str(uuid.uuid4()))


async def _release(request: Request) -> Response:
    _GATES[(await request.json())["name"]].set()
    return JSONResponse({"released": True})


def main() -> None:
    """Serve until SIGTERM."""
    broker, storage = InMemoryBroker(), InMemoryStorage[Any]()
    worker = _Worker(broker, storage)

    @asynccontextmanager
    async def lifespan(app: FastA2A) -> AsyncIterator[None]:
        async with app.task_manager, worker.run():
            yield

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = FastA2A(
            storage=storage,
            broker=broker,
            name="FastA2A peer",
            url=url,
            routes=[Route("/control/release", _release, methods=["POST"])],
            lifespan=lifespan,
        )
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Uvicorn hands it on when it has ended.
        print(
            json.dumps({"url": url, "runtime": f"Python {platform.python_version()}"}), flush=True
        )
        asyncio.run(_serve(server, listening))


async def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()

    def end_with_parent() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            loop.remove_reader(sys.stdin.fileno())
            server.should_exit = True

    loop.add_reader(sys.stdin.fileno(), end_with_parent)
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    main()
