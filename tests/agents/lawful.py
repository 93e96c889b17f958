"""A scriptable agent on a2a-sdk's own server, in a process of its own. No product code.

    python -m tests.agents.lawful --port 0

prints one JSON line, {"url": …, "pid": …}, when it can be called, and ends at SIGTERM. What it
does is said by the messages it gets (`script`); what it saw is told at `/control` (`observer`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence

import httpx
import uvicorn
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    PushNotificationConfigStore,
    TaskStore,
)
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from .card import BASE_PATH, card_for
from .frames import Binding, Json
from .observer import Guard, Observer
from .performer import Gates, LawfulHandler, Performer

__all__ = ["main"]

_BINDINGS: dict[str, list[Binding]] = {
    "jsonrpc": ["JSONRPC"],
    "rest": ["HTTP+JSON"],
    "both": ["JSONRPC", "HTTP+JSON"],
}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.agents.lawful", description=__doc__)
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0, help="0 takes a free one")
    add("--binding", choices=sorted(_BINDINGS), default="both")
    add("--name", default="Lawful")
    add("--description", default="A scriptable agent for tests")
    add("--version", default="1.0.0", help="the card's version")
    add("--no-streaming", action="store_true")
    add("--no-push", action="store_true")
    add("--auth", metavar="bearer:ENVVAR", help="ask for the token in this environment variable")
    add("--guard-card", action="store_true", help="ask for the token at the card, too")
    add("--card-extension", action="append", default=[], metavar="URI", help="may be repeated")
    add("--required-extension", action="append", default=[], metavar="URI", help="likewise")
    add("--store", default="memory", metavar="memory|sqlite:PATH")
    add("--with-parent", action="store_true", help="end when standard input is closed")
    return parser.parse_args(arguments)


def _card(url: str, options: argparse.Namespace) -> Json:
    extensions: list[str | Json] = list(options.card_extension)
    extensions += [{"uri": uri, "required": True} for uri in options.required_extension]
    card = card_for(
        url,
        _BINDINGS[options.binding],
        name=options.name,
        description=options.description,
        version=options.version,
        streaming=not options.no_streaming,
        push=not options.no_push,
        extensions=extensions,
    )
    if options.auth:
        card["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        card["securityRequirements"] = [{"schemes": {"bearer": {"list": []}}}]
    return card


def _token(auth: str) -> str:
    kind, _, variable = auth.partition(":")
    token = os.environ.get(variable, "")
    if kind != "bearer" or not token:
        sys.exit(f"--auth {auth}: say bearer:ENVVAR, and set the variable")
    return token


@contextlib.asynccontextmanager
async def _stores(where: str) -> AsyncIterator[tuple[TaskStore, PushNotificationConfigStore]]:
    """The task store and the push config store, in memory or in one SQLite file."""
    if where == "memory":
        yield InMemoryTaskStore(), InMemoryPushNotificationConfigStore()
        return
    # SQLAlchemy is wanted for a lasting store only.
    from a2a.server.tasks import (  # noqa: PLC0415
        DatabasePushNotificationConfigStore,
        DatabaseTaskStore,
    )
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

    engine = create_async_engine("sqlite+aiosqlite:///" + where.removeprefix("sqlite:"))
    try:
        tasks = DatabaseTaskStore(engine)
        configs = DatabasePushNotificationConfigStore(engine)
        await tasks.initialize()
        await configs.initialize()
        yield tasks, configs
    finally:
        await engine.dispose()


async def _serve(options: argparse.Namespace) -> None:
    with socket.create_server((options.host, options.port)) as listening:
        url = f"http://{options.host}:{listening.getsockname()[1]}"
        card = ParseDict(_card(url, options), AgentCard())
        gates = Gates()
        async with (
            _stores(options.store) as (tasks, configs),
            httpx.AsyncClient(trust_env=False) as pushes,
        ):
            handler = LawfulHandler(
                Performer(gates),
                tasks,
                card,
                push_config_store=None if options.no_push else configs,
                push_sender=BasePushNotificationSender(pushes, configs),
            )
            routes: list[BaseRoute] = [*create_agent_card_routes(card)]
            for binding in _BINDINGS[options.binding]:
                path = BASE_PATH[binding]
                if binding == "JSONRPC":
                    routes += create_jsonrpc_routes(handler, path)
                else:
                    routes += create_rest_routes(handler, path_prefix=path)
            app: ASGIApp = Starlette(routes=routes)
            if options.auth:
                app = Guard(app, _token(options.auth), card=options.guard_card)
            app = Observer(app, gates, configs)
            try:
                await _run(app, listening, url, with_parent=options.with_parent)
            finally:
                await handler.aclose()


async def _run(app: ASGIApp, listening: socket.socket, url: str, *, with_parent: bool) -> None:
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        # A client that stays on a stream does not keep the agent from ending.
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    # The socket listens already, so a client that reads this line finds the agent.
    print(json.dumps({"url": url, "pid": os.getpid()}), flush=True)
    if with_parent:
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), _end_with_parent, server)
    await server.serve(sockets=[listening])


def _end_with_parent(server: uvicorn.Server) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        server.should_exit = True


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; the exit status is 0 then."""
    options = _options(arguments)
    # Uvicorn hands a signal on when it has shut down; by then there is nothing left to end.
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, signal.SIG_IGN)
    asyncio.run(_serve(options))


if __name__ == "__main__":
    main()
