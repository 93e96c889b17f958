"""The demo's agent, on a2a-sdk's own server, streaming and push on: a process of its own.

    python -m locum.adapters.demo.agent --port 9000

prints its URL as one JSON line when it listens, and ends at SIGTERM. What it does is told by the
first word of the goal: count, paint, permit, lift or guard; anything else it does not understand.
"""

import argparse
import asyncio
import json
import signal
import socket

import httpx
import uvicorn
from a2a.helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    PushNotificationConfigStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part
from starlette.applications import Starlette

__all__ = ["Caretaker", "card", "main"]

BEAT = 0.6
"""Seconds between two steps of the agent's work: long enough to be seen."""
PATIENCE = 20
"""How many beats the porter waits for somebody who wants to be told."""


class Caretaker(AgentExecutor):
    """Looks after a hall: each kind of work ends in another way.

    The porter comes a while after somebody wants to be told of it, or after a longer while.
    """

    def __init__(self, configs: PushNotificationConfigStore) -> None:
        self._configs = configs

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """One turn of a task: from the brief, or from a reply, to the next stop."""
        message = context.message
        assert message is not None, "the SDK hands over no turn without a message"
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(message)
            await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        brief = task.history[0] if task.history else message
        kind = get_message_text(brief).split(maxsplit=1)[0].lower()
        is_reply = message.message_id != brief.message_id
        await update.start_work()
        await asyncio.sleep(BEAT)
        match kind:
            case "count":
                await self._count(update)
            case "paint" if is_reply:
                await self._say(update, f"Painted {get_message_text(message)}.")
                await update.complete()
            case "paint":
                await update.requires_input(_words(update, "Which colour, red or blue?"))
            case "permit":
                await update.requires_auth(_words(update, "The porter has to let me in."))
                await self._wait_for_porter(task.id)
                await update.start_work(_words(update, "The porter came."))
                await asyncio.sleep(BEAT)
                await self._say(update, "The permit is at the door.")
                await update.complete()
            case "lift":
                await update.failed(_words(update, "The lift is out of order until Monday."))
            case "guard":
                await asyncio.Event().wait()
            case _:
                await update.reject(
                    _words(update, "I count, paint, lift, guard and fetch permits.")
                )

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop at once."""
        assert context.task_id is not None, "a task to cancel has an id"
        assert context.context_id is not None, "and a context"
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _wait_for_porter(self, task_id: str) -> None:
        for _ in range(PATIENCE):
            if await self._configs.get_info_for_dispatch(task_id):
                break
            await asyncio.sleep(BEAT)
        await asyncio.sleep(4 * BEAT)

    async def _count(self, update: TaskUpdater) -> None:
        chunks = ("Row 1: 4 red chairs. ", "Row 2: 5. ", "Together 9.")
        for index, chunk in enumerate(chunks):
            await update.add_artifact(
                [Part(text=chunk)],
                artifact_id="tally",
                name="tally",
                append=index > 0,
                last_chunk=index == len(chunks) - 1,
            )
            await asyncio.sleep(BEAT)
        await update.complete()

    async def _say(self, update: TaskUpdater, text: str) -> None:
        await update.add_artifact([Part(text=text)], artifact_id="report", name="report")


def _words(update: TaskUpdater, text: str) -> Message:
    return update.new_agent_message([Part(text=text)])


def card(url: str) -> AgentCard:
    """The card of the agent at `url`."""
    return AgentCard(
        name="Caretaker",
        description="Looks after the hall: counts, paints, fetches permits, guards the door.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{url}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="hall", name="Hall", description="Work in and around the hall.", tags=["hall"]
            )
        ],
    )


async def _serve(listening: socket.socket, kind: type[Caretaker]) -> None:
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient(trust_env=False) as pushes:
        handler = DefaultRequestHandlerV2(
            kind(configs),
            InMemoryTaskStore(),
            card(url),
            push_config_store=configs,
            push_sender=BasePushNotificationSender(pushes, configs),
        )
        app = Starlette(
            routes=[
                *create_agent_card_routes(card(url)),
                *create_jsonrpc_routes(handler, "/a2a"),
            ]
        )
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        print(json.dumps({"url": url}), flush=True)  # noqa: T201 - this line is the interface
        try:
            await uvicorn.Server(config).serve(sockets=[listening])
        finally:
            await handler.aclose()


def main(kind: type[Caretaker] = Caretaker) -> None:
    """Serve a caretaker until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m locum.adapters.demo.agent")
    parser.add_argument("--port", type=int, default=0, help="of loopback; 0 takes a free one")
    parser.add_argument("--fd", type=int, help="a socket that listens already")
    options = parser.parse_args()
    # uvicorn raises the signal again when it has shut down; there is nothing left to end then.
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, signal.SIG_IGN)
    try:
        listening = (
            socket.create_server(("127.0.0.1", options.port))
            if options.fd is None
            else socket.socket(fileno=options.fd)
        )
    except OSError as error:
        parser.exit(1, f"cannot listen on port {options.port}: {error.strerror}\n")
    with listening:
        asyncio.run(_serve(listening, kind))


if __name__ == "__main__":
    main()
