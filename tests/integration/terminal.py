"""`locum` as a user runs it: in a thread, in a process, or in a process at a terminal. No tests.

`cli` runs a command in a thread, which starts much sooner than a process; `started` and `Terminal`
are for what takes a process: signals, pipes, and a keyboard.
"""

import asyncio
import fcntl
import os
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from click.testing import CliRunner

from locum.adapters.cli import main

from .explicit import in_thread

__all__ = [
    "LOCUM",
    "PATIENCE",
    "Said",
    "Terminal",
    "clean_environ",
    "cli",
    "ended",
    "started",
    "without_escapes",
]

LOCUM = (sys.executable, "-m", "locum.adapters.cli")
PATIENCE = 45
"""Seconds for a process to do its next step, on a machine that is busy."""
_ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|.)")
# Makes standard input the terminal that Ctrl-C comes from, and becomes the command.
_AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass
class Said:
    """What a run of a command said, and how it ended."""

    status: int
    out: str
    err: str


async def cli(*arguments: str, typed: str = "", **environ: str | None) -> Said:
    """Run a command; an environment variable that is None is not set."""
    runner = CliRunner(env={"COLUMNS": "80", "LOCUM_SERVER": None, **environ})
    ran = await in_thread(
        lambda: runner.invoke(main, list(arguments), input=typed, prog_name="locum")
    )
    return Said(ran.exit_code, ran.stdout, ran.stderr)


def clean_environ(**environ: str) -> dict[str, str]:
    """This environment without what tells locum and rich anything."""
    told = ("LOCUM_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM")
    kept = {key: text for key, text in os.environ.items() if not key.startswith(told)}
    return {**kept, "TERM": "xterm-256color", **environ}


@asynccontextmanager
async def started(
    *arguments: str, command: Sequence[str] = LOCUM, cwd: Any = None, **environ: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command in a process, with pipes; it is killed if it still runs at the end."""
    process = await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environ(**environ),
        cwd=cwd,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def ended(process: asyncio.subprocess.Process, typed: str = "") -> Said:
    """What the process said until it ended."""
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate(typed.encode())
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


def without_escapes(text: str) -> str:
    """`text` without the sequences that move the cursor and colour what is printed."""
    return _ESCAPE.sub("", text)


class Terminal:
    """A command at a terminal of 80 columns, whose keyboard is a test's. `async with`."""

    def __init__(
        self, *arguments: str, command: Sequence[str] = LOCUM, columns: int = 80, **environ: str
    ) -> None:
        self._command = [sys.executable, "-c", _AT_TERMINAL, *command, *arguments]
        self._columns = columns
        self._environ = clean_environ(**environ)
        self._raw = b""
        self._changed = asyncio.Event()
        self._process: asyncio.subprocess.Process
        self._master = -1

    async def __aenter__(self) -> Self:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self._columns, 0, 0))
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=self._environ,
                start_new_session=True,
            )
        finally:
            os.close(slave)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)

    def _read(self) -> None:
        try:
            self._raw += os.read(self._master, 65536)
        except OSError:  # Linux's way to say that nobody is left at the other end.
            asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()

    @property
    def pid(self) -> int:
        """The command's process id."""
        return self._process.pid

    @property
    def raw(self) -> str:
        """All that was written, escape sequences and all."""
        return self._raw.decode(errors="replace")

    @property
    def text(self) -> str:
        """All that was written, without escape sequences; what was written over is there, too."""
        return without_escapes(self.raw).replace("\r", "")

    def type(self, text: str) -> None:
        """Press keys: a line feed is Enter, U+0003 Ctrl-C, U+0004 Ctrl-D."""
        os.write(self._master, text.encode())

    async def shows(self, wanted: str, count: int = 1, *, patience: float = PATIENCE) -> None:
        """Wait until the text holds `wanted`, so many times. Raises AssertionError."""
        try:
            async with asyncio.timeout(patience):
                while self.text.count(wanted) < count:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{wanted!r} was not shown: {self.text[-4000:]}") from None

    async def ends(self) -> int:
        """Wait until the command has ended; its exit status."""
        async with asyncio.timeout(PATIENCE):
            status = await self._process.wait()
        with suppress(OSError):
            while more := os.read(self._master, 65536):
                self._raw += more
        return status

    def hang_up(self) -> None:
        """Close the terminal's window, as far as the command can tell."""
        os.kill(self._process.pid, signal.SIGHUP)
