"""What reaches the terminal: texts without control characters, JSON, and a console. Shapes nothing.

An agent's words can hold anything. Whatever is printed goes through `clean`, or through `json_text`,
which escapes the same characters, so that no agent can drive the terminal.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rich_click as click
from rich.console import Console
from rich.text import Text

from locum.core.errors import LocumError

__all__ = [
    "clean",
    "console",
    "escaped",
    "is_live",
    "json_text",
    "make_streams_total",
    "plain",
    "print_json",
    "print_problem",
    "waiting",
]

_JOINERS = "\u200c\u200d"
"""Invisible, and needed: scripts and emoji are put together with them."""
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\u0085]")


def clean(text: str, limit: int = 0) -> str:
    """`text` without what could drive a terminal; with a limit, in one line of so many characters."""
    if limit:
        # What is cut off need not be cleaned; white space may shrink, so a little more is kept.
        text = " ".join(text[: 4 * limit].split())
        text = text if len(text) <= limit else text[: limit - 1] + "…"
    text = _LINE_ENDS.sub("\n", text).replace("\t", "    ")
    return "".join(c if c.isprintable() or c in _JOINERS or c == "\n" else "�" for c in text)


def plain(text: str, limit: int = 0) -> Text:
    """The same for the console, which takes nothing in it for markup."""
    return Text(clean(text, limit))


def console(*, stderr: bool = False) -> Console:
    """A console on standard output (or error) that prints what it is given, and guesses at nothing.

    Lines are wrapped for a terminal only.
    """
    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    out.soft_wrap = not out.is_terminal
    return out


def is_live(out: Console) -> bool:
    """True where a line can be written over: a terminal that is not a dumb one."""
    return out.is_terminal and not out.is_dumb_terminal


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Something that may take a while is under way; at a terminal a line moves meanwhile."""
    out = console(stderr=True)
    if is_live(out):
        with out.status(text, spinner="dots"):
            yield
    else:
        yield


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """A JSON document. What is not printable in its texts is escaped; the value is the same."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """JSON in which what is not printable is escaped too."""
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    # ensure_ascii makes a surrogate pair where one is needed.
    return json.dumps(char)[1:-1] if ord(char) > 0x7F else f"\\u{ord(char):04x}"


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document on standard output; without an indent it is one line."""
    click.echo(json_text(value, indent=indent))


def print_problem(error: LocumError, *, as_json: bool) -> None:
    """Say on standard error what went wrong; as a problem document when JSON is wanted (J2)."""
    if as_json:
        import msgspec  # noqa: PLC0415 - `--help` needs none

        from ..problem import problem_of  # noqa: PLC0415 - `--help` needs none

        click.echo(json_text(msgspec.to_builtins(problem_of(error)), indent=None), err=True)
    else:
        click.echo(f"{error.code}: {clean(error.message)}", err=True)


def make_streams_total() -> None:
    """Let standard output and error print every text, in whatever encoding they have."""
    for stream in (sys.stdout, sys.stderr):
        # Anything but a real stream was put there by somebody who knows what it takes.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
