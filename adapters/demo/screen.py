"""What the demonstration shows: in a terminal rows that change in place, elsewhere lines. Asks nobody.

Nothing is wider than 80 columns.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..cli.output import is_live, plain
from ..cli.show import state_text

__all__ = ["Screen"]

WIDTH = 80


class Screen:
    """A console, and the time since the story began."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.out.width = min(self.out.width, WIDTH)
        self._began = time.monotonic()
        self._live: Live | None = None
        self._rows: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def begin(self) -> None:
        """The story begins now: times are counted from here."""
        self._began = time.monotonic()

    def head(self, title: str) -> None:
        """A chapter begins."""
        self.out.print()
        self.out.print(Text(title, "bold"))

    def say(self, text: str, style: str = "") -> None:
        """A line of its own."""
        self._print(Text(text, style))

    def act(self, text: str) -> None:
        """What the parent does."""
        self._print(Text(f"{self._time(time.monotonic())} the parent {text}", "italic"))

    def _print(self, line: Text) -> None:
        line.rstrip()
        self.out.print(line, no_wrap=True, overflow="ellipsis")

    def _time(self, moment: float) -> str:
        return f"{moment - self._began:5.1f}s"

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Something that takes a while is under way."""
        if is_live(self.out):
            with self.out.status(text, spinner="dots"):
                yield
        else:
            yield

    @contextmanager
    def rows(self) -> Iterator[None]:
        """Rows that are shown meanwhile change in place, where that can be."""
        self._rows.clear()
        if not is_live(self.out):
            yield
            return
        with Live(console=self.out, get_renderable=self._table, refresh_per_second=8) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def row(self, row: Mapping[str, Any]) -> None:
        """A row is new, or has changed."""
        now = time.monotonic()
        if self._live is not None:
            self._rows[row["id"]] = (now, row)
            self._live.refresh()
            return
        self._print(Text(" ").join(self._cells(now, row)))

    def _cells(self, moment: float, row: Mapping[str, Any]) -> Iterator[Text]:
        yield Text(self._time(moment))
        yield _padded(plain(row["name"], 30), 6)
        yield _padded(state_text(row["state"]), 14)
        yield _padded(Text(row["watch"] or "", "dim"), 6)
        yield plain(row["text"], WIDTH)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for _ in range(5):
            table.add_column(no_wrap=True, overflow="ellipsis")
        for moment, row in self._rows.values():
            table.add_row(*self._cells(moment, row))
        return table

    def notes(self, notes: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> None:
        """What the model was told."""
        for note in notes:
            line = Text(f"{note['cursor']:>3} ")
            line.append_text(_padded(plain(names[note["sub_task_id"]], 30), 7))
            line.append_text(_padded(state_text(note["state"]), 15))
            self._print(line.append_text(plain(note["text"] or "(no words)", WIDTH)))

    def events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """A sub-task's record."""
        for event in events:
            said = event.get("state") or event.get("outcome") or ""
            line = Text(f"{event['version']:>2} {event['at'][11:23]} {event['type']:<12}")
            line.append(f"{event['cause']:<9}{event['actor']:<17}")
            line.append_text(_padded(state_text(said), 15))
            line.append(event["hash"][:8], "dim")
            self._print(line)


def _padded(text: Text, width: int) -> Text:
    text.truncate(width, pad=True)
    return text
