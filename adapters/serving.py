"""`locum serve`: the harness behind a real server, with logging and an orderly end (F4).

It starts and stops; what is served is the harness's own application.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from msgspec.structs import replace

from locum.core.errors import ServerError

from .bootstrap import Harness
from .hard_end import HardEnd
from .settings import Settings
from .web.guarded_http import guarded_http

__all__ = ["log_to_stderr", "run"]

logger = logging.getLogger("locum")

CLOSING_SHARE = 0.4
"""Part of `server.shutdown_timeout` that open requests get to end by themselves."""

OnListening = Callable[[str], None]
"""Called once with the URL, when requests are taken."""


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
    """A record in one line that cannot drive a terminal, whatever an agent put into it."""

    def format(self, record: logging.LogRecord) -> str:
        lines = (line.strip() for line in super().format(record).splitlines())
        text = " ⏎ ".join(line for line in lines if line)
        return "".join(c if c.isprintable() else "�" for c in text)


class _Server(uvicorn.Server):
    """uvicorn's server without its ways with signals: it ends when it is told to."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def end(self) -> None:
        """End as soon as open requests have ended, or at once when told so again."""
        self._stop()
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Ending:
    """What a signal to end does: it breaks off the start, and later on ends the server."""

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self._task = task
        self.server: _Server | None = None

    def __call__(self) -> None:
        if self.server is None:
            self._task.cancel()
        else:
            self.server.end()


async def _serve(settings: Settings, end: HardEnd, on_listening: OnListening | None) -> None:
    """Serve until SIGTERM or SIGINT, and tell `end` of each that comes."""
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    loop = asyncio.get_running_loop()
    ending = _Ending(task)

    def signalled(_number: int, _frame: FrameType | None) -> None:
        end.signal()
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(ending)

    for sign in (signal.SIGTERM, signal.SIGINT):
        # The loop's own way with signals hears none while somebody blocks the loop, nor after it.
        signal.signal(sign, signalled)
    with _bind(settings.server.host, settings.server.port) as listening:
        host, port = listening.getsockname()[:2]
        # With port 0 the system has chosen one, which `self` has to know.
        settings = replace(settings, server=replace(settings.server, port=port))
        async with Harness(settings) as harness:
            app = harness.asgi_app()

            def stop() -> None:
                app.stop()
                harness.stop_waiting()

            seconds = int(settings.server.shutdown_timeout * CLOSING_SHARE)
            config = uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # anybody can write X-Forwarded-For (D5)
                http=guarded_http(settings.limits),
                timeout_graceful_shutdown=seconds,
            )
            ending.server = _Server(config, stop)
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            logger.info("locum serves %s", url)
            if on_listening is not None:
                on_listening(url)
            await ending.server.serve(sockets=[listening])
    logger.info("locum has ended in good order")


def run(settings: Settings, *, on_listening: OnListening | None = None) -> None:
    """Serve until SIGTERM or SIGINT, in an event loop of its own, the fastest that is installed.

    The process ends within `server.shutdown_timeout` of the first signal, whatever else it runs.
    Raises ServerError when the address cannot be bound.
    """
    new_loop = uvicorn.Config("", log_config=None).get_loop_factory()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        end = HardEnd(runner.get_loop(), settings.server.shutdown_timeout)
        try:
            runner.run(_serve(settings, end, on_listening))
        except asyncio.CancelledError:
            logger.info("locum was ended while it started")
        end.locum_has_ended()


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
