"""Lines from standard input that can be waited for like anything else, and given up. Prints nothing.

No thread reads: one that waits in a read could not be stopped, not even by Ctrl-C.
"""

import asyncio
import os
import termios

__all__ = ["Keyboard"]

_CHUNK = 65536


class Keyboard:
    """The lines of a file descriptor, standard input by default."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._read = b""
        self._is_over = False

    @property
    def is_terminal(self) -> bool:
        """True where somebody may be sitting."""
        return os.isatty(self._fd)

    def forget(self) -> None:
        """Drop what was typed at a terminal before anything was asked: it is no answer to it."""
        if self.is_terminal:
            termios.tcflush(self._fd, termios.TCIFLUSH)
            self._read = b""

    async def line(self) -> str | None:
        """The next line without its end; None when there is nothing more to come.

        Giving up the wait loses nothing: what was typed is there for the next call.
        """
        while b"\n" not in self._read and not self._is_over:
            await self._wait()
            try:
                more = os.read(self._fd, _CHUNK)
            except OSError:
                more = b""  # Closed, or a terminal that has gone.
            self._read += more
            self._is_over = not more
        line, _, self._read = self._read.partition(b"\n")
        if self._is_over and not line:
            return None
        return line.decode(errors="replace").rstrip("\r")

    async def _wait(self) -> None:
        """Return when a read would not wait."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._fd, ready.set)
        except (OSError, ValueError):
            return  # A file or /dev/null, which never makes one wait; or nothing that can be read.
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._fd)
