"""Waiting for a sub-task's end at the terminal: progress that moves, questions that are asked here."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from locum.core.errors import LocumError, ServerError

from .keyboard import Keyboard
from .output import clean, console, is_live, plain
from .server import Server, segment
from .show import question_parts, state_text

__all__ = ["ENDED", "WAITS", "attend"]

LOOK_PAUSE = 0.2
"""Seconds between two looks at a row that is waited for."""
ABSENCE = 30.0
"""Seconds that a server may be away while it is waited for: one that was restarted goes on."""
WAITS = 3
"""Exit status when the agent waits for an answer that nobody gave."""
ASKS = ("INPUT_REQUIRED", "AUTH_REQUIRED")
ENDED = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")


async def attend(api: Server, row: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """The row when the sub-task has ended. What the agent asks meanwhile is asked here.

    Without a terminal the lines that are in standard input answer a question, and when there is none
    the row is returned as it is, parked: nobody is there who could be waited for. An authorisation
    is given elsewhere, and is waited for (D15). `quiet`: no progress is
    shown where it cannot move. Raises LocumError.
    """
    keyboard = Keyboard()
    with _progress(console(stderr=True), quiet=quiet) as progress:
        asked = ""
        while row["state"] not in ENDED:
            progress.show(row)
            if row["state"] not in ASKS:
                asked = ""
            elif asked != (question := f"{row['state']} {row['text']}"):
                asked = question
                if keyboard.is_terminal or row["state"] == "AUTH_REQUIRED":
                    row = await _ask(api, row, progress, keyboard)
                elif (answered := await _answer(api, row, progress, keyboard)) is None:
                    return row
                else:
                    row = answered
                continue
            await asyncio.sleep(LOOK_PAUSE)
            row = await _look(api, row, progress)
    return row


async def _answer(
    api: Server, row: dict[str, Any], progress: "_Progress", keyboard: Keyboard
) -> dict[str, Any] | None:
    """Answer with the next line that is there; the row then, or None when there is no line."""
    progress.say(_question(row))
    with suppress(TimeoutError):
        while (text := await asyncio.wait_for(keyboard.line(), LOOK_PAUSE)) is not None:
            if not text.strip():
                continue
            try:
                return await _reply(api, row, text)
            except LocumError as error:
                progress.say(f"{error.code}: {error.message}")
    progress.say("Nobody answers here; answer with:")
    progress.say(f"  locum reply {row['id']} TEXT --wait")
    return None


def _question(row: Mapping[str, Any]) -> str:
    wants = "asks" if row["state"] == "INPUT_REQUIRED" else "needs an authorisation"
    beside = [part.plain for part in question_parts(row)]
    words = row["text"] or ("" if beside else "(it gave no words)")
    return "\n  ".join((f"{row['agent']} {wants}: {words}".rstrip(), *beside))


async def _ask(
    api: Server, row: dict[str, Any], progress: "_Progress", keyboard: Keyboard
) -> dict[str, Any]:
    """Ask at the terminal what the agent asks; the row once it was answered, here or elsewhere."""
    with progress.standing_aside():
        progress.say(_question(row))
        if row["state"] == "AUTH_REQUIRED":
            progress.say("It goes on by itself once it has that; if it wants words, they go with")
            progress.say(f"  locum reply {row['id']} TEXT")
            return row
        keyboard.forget()
        progress.prompt()
        while True:
            try:
                async with asyncio.timeout(LOOK_PAUSE):
                    text = await keyboard.line()
            except TimeoutError:
                now = await _look(api, row, progress)
                if (now["state"], now["text"]) != (row["state"], row["text"]):
                    progress.say("\nThat was answered elsewhere, or is no longer asked.")
                    return now
                continue
            if text is None:
                progress.say(f"\nNobody answers here; answer with: locum reply {row['id']} TEXT")
                return row
            if text.strip():
                try:
                    return await _reply(api, row, text)
                except LocumError as error:
                    progress.say(f"{error.code}: {error.message}")
            progress.prompt()


async def _reply(api: Server, row: dict[str, Any], text: str) -> dict[str, Any]:
    body = {"text": text, "question": row["version"]}
    return await api.post(f"/v1/sub-tasks/{segment(row['id'])}/reply", body)


async def _look(api: Server, row: dict[str, Any], progress: "_Progress") -> dict[str, Any]:
    """The row as it is now. A server that is away is waited for."""
    loop = asyncio.get_running_loop()
    given_up = loop.time() + ABSENCE
    while True:
        try:
            return await api.get(f"/v1/sub-tasks/{segment(row['id'])}")
        except ServerError as error:
            if loop.time() > given_up:
                raise
            progress.show({**row, "state": "…", "text": error.message})
            await asyncio.sleep(LOOK_PAUSE)


@contextmanager
def _progress(out: Console, *, quiet: bool) -> "Iterator[_Progress]":
    progress = _Progress(out, quiet=quiet)
    try:
        yield progress
    finally:
        progress.end()


class _Progress:
    """What is shown of the waiting: a line that moves, or where it cannot a line for each change."""

    def __init__(self, out: Console, *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._status: Status | None = None
        if is_live(out):
            self._status = out.status("", spinner="dots")
            self._status.start()
        self._shown = ""

    def show(self, row: Mapping[str, Any]) -> None:
        line = Text.assemble(
            plain(row["name"], 30), "  ", state_text(row["state"]), "  ", plain(row["text"], 200)
        )
        line.rstrip()
        if self._status is not None:
            line.truncate(self._out.width - 4, overflow="ellipsis")
            self._status.update(line)
        elif line.plain != self._shown and not self._quiet:
            self._out.print(line)
        self._shown = line.plain

    def say(self, text: str) -> None:
        """Something that stays."""
        self._out.print(clean(text))

    def prompt(self) -> None:
        self._out.print("> ", end="")

    @contextmanager
    def standing_aside(self) -> Iterator[None]:
        """Nothing moves meanwhile."""
        if self._status is not None:
            self._status.stop()
        try:
            yield
        finally:
            if self._status is not None:
                self._status.start()

    def end(self) -> None:
        if self._status is not None:
            self._status.stop()
