"""`locum serve`: the harness behind a real server, with logging and an orderly end (F4).

It starts and stops; what is served is the harness's own application.
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn

from locum.core.errors import ServerError

from .bootstrap import Harness
from .settings import Settings
from .web.guarded_http import guarded_http

__all__ = ["log_to_stderr", "run", "serve"]

logger = logging.getLogger("locum")

CLOSING_SHARE = 0.4
"""Part of `server.shutdown_timeout` that open requests get to end by themselves."""


def log_to_stderr(level: str = "INFO") -> None:
    """One line a record, with the time and the level's name, to standard error (B4)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore", "a2a", "uvicorn.access", "uvicorn.error", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


class _OneLine(logging.Formatter):
    """A record in one line, whatever an agent put into it."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return " ⏎ ".join(part.strip() for part in text.splitlines() if part.strip())


class _Server(uvicorn.Server):
    """uvicorn's server, which tells the harness as soon as it is to end."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._on_exit)
        super().handle_exit(sig, frame)


async def serve(settings: Settings, *, on_listening: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Raises ServerError when the address cannot be bound.

    `on_listening` is called once with the URL when requests are taken.
    """
    server = settings.server
    listening = _bind(server.host, server.port)
    with listening:
        harness = Harness(settings)
        async with harness:
            app = harness.asgi_app()

            def stop() -> None:
                app.stop()
                harness.stop_waiting()

            config = uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                http=guarded_http(settings.limits),
                timeout_graceful_shutdown=max(int(server.shutdown_timeout * CLOSING_SHARE), 1),
            )
            running = _Server(config, stop)
            host, port = listening.getsockname()[:2]
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            logger.info("locum serves %s", url)
            if on_listening is not None:
                on_listening(url)
            await running.serve(sockets=[listening])


def run(settings: Settings, *, on_listening: Callable[[str], None] | None = None) -> None:
    """`serve` in an event loop of its own; the signals that ended it do not end the process."""
    for ending in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises a signal again when it has shut down; by then all is in order.
        signal.signal(ending, signal.SIG_IGN)
    asyncio.run(serve(settings, on_listening=on_listening))


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ServerError(
            f"locum cannot listen on {host}:{port} ({error.strerror or error}); is another one"
            " running there? Choose another server.port.",
            code="server.address",
        ) from error
