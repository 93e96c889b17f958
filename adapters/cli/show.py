"""Rows, events, notifications and agents as they are shown to people. Asks nobody, changes nothing.

Each is an entry: a head of columns, and a body of somebody's words. On a narrow terminal the body
stands below its head; else an entry is one line, which `grep` and `head` can take.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .output import clean, plain

__all__ = [
    "Entry",
    "agent_entries",
    "event_entries",
    "note_entry",
    "print_entries",
    "print_result",
    "question_parts",
    "row_details",
    "row_entries",
    "state_text",
]

COLOURS = {
    "COMPLETED": "green",
    "FAILED": "red",
    "REJECTED": "red",
    "CANCELED": "yellow",
    "INPUT_REQUIRED": "magenta",
    "AUTH_REQUIRED": "magenta",
    "WORKING": "cyan",
    "SUBMITTED": "dim",
}
STATE_WIDTH = max(map(len, COLOURS))
WIDE = 120
"""Columns from which on a body has room beside its head."""
LINE = 200
"""Characters of somebody's words that are shown in a list."""


class Entry(NamedTuple):
    """One thing of a list."""

    head: Text
    body: Text


def state_text(state: str) -> Text:
    """A state in its colour."""
    return Text(state, COLOURS.get(state, ""))


def print_entries(out: Console, entries: Iterable[Entry]) -> None:
    """Print entries as they come."""
    has_lines = not out.is_terminal or out.width >= WIDE
    for entry in entries:
        if has_lines:
            line = Text("  ").join((entry.head, entry.body)) if entry.body else entry.head
            out.print(line, no_wrap=True, overflow="ellipsis" if out.is_terminal else "ignore")
        else:
            out.print(entry.head, no_wrap=True, overflow="ellipsis")
            if entry.body:
                out.print(Padding(entry.body, (0, 0, 0, 2)))


def _columns(*cells: tuple[Text, int]) -> Text:
    """Cells beside each other, each as wide as told; one that is longer is cut."""
    line = Text()
    for cell, width in cells:
        if width:
            cell.truncate(width, overflow="ellipsis", pad=True)
        line.append_text(cell)
        line.append("  ")
    line.rstrip()
    return line


def _width(texts: Iterable[str], most: int) -> int:
    return min(max(map(len, texts), default=0), most)


def row_entries(rows: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    """Sub-tasks: state, id, agent and name; what the agent said."""
    rows = list(rows)
    agent_width = _width((row["agent"] for row in rows), 20)
    name_width = _width((row["name"] for row in rows), 30)
    for row in rows:
        head = _columns(
            (state_text(row["state"]), STATE_WIDTH),
            (Text(row["id"]), 0),
            (plain(row["agent"], LINE), agent_width),
            (plain(row["name"], LINE), name_width),
        )
        yield Entry(head, plain(row["text"], LINE))


def event_entries(events: Iterable[Mapping[str, Any]], *, is_narrow: bool) -> Iterator[Entry]:
    """A sub-task's events: who said what, why and when; what was odd is named in the body."""
    day = ""
    for event in events:
        known = (event.get(key) for key in ("text", "refusal", "account", "goal", "detail"))
        said = next(filter(None, known), "")
        if event["anomalies"]:
            said = f"{clean(said, LINE)} ({', '.join(event['anomalies'])})".strip()
        if is_narrow and event["at"][:10] != day:
            day = event["at"][:10]
            yield Entry(Text(f"{day} (UTC)", "dim"), Text())
        head = _columns(
            (Text(f"{event['version']:>2}"), 0),
            (Text(event["at"][11:23] if is_narrow else event["at"]), 0),
            (Text(event["type"]), 11),
            (Text(event["cause"]), 8),
            (plain(event["actor"], LINE), 15),
            (state_text(event.get("state") or event.get("outcome") or "–"), STATE_WIDTH),
            (Text(event["hash"][:6], "dim"), 0),
        )
        yield Entry(head, plain(said, 2 * LINE))


def note_entry(note: Mapping[str, Any]) -> Entry:
    """A notification: cursor, state, id and agent; the text, after why a reply was refused."""
    head = _columns(
        (Text(f"{note['cursor']:>5}"), 0),
        (state_text(note["state"]), STATE_WIDTH),
        (Text(note["sub_task_id"]), 0),
        (plain(note["agent"], LINE), 0),
    )
    refusal = note.get("refusal")
    said = note["text"] if refusal is None else f"The reply was refused: {refusal} {note['text']}"
    return Entry(head, plain(said, LINE))


def agent_entries(agents: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    """Agents: accepted or refused, id, what the card says; the reason of a refusal."""
    agents = list(agents)
    id_width = _width((agent["id"] for agent in agents), 64)
    for agent in agents:
        is_accepted = agent["state"] == "accepted"
        named = " ".join(filter(None, (agent["name"], agent["version"])))
        can = [what for what in ("streaming", "push") if agent[what]]
        head = _columns(
            (Text(agent["state"], "green" if is_accepted else "red"), 8),
            (Text(agent["id"]), id_width),
            (plain(named, 80), 0),
            (Text(", ".join(can), "dim"), 0),
        )
        yield Entry(head, plain(agent["reason"] or "", 1000))


def row_details(row: Mapping[str, Any]) -> RenderableType:
    """All of a row, its result too."""
    table = Table.grid(padding=(0, 2))
    for key in (
        "id", "parent_id", "agent", "name", "goal", "state", "watch", "cause", "version",
        "remote_task_id", "context_id", "created_at", "updated_at",
    ):  # fmt: skip
        value = row[key]
        shown = state_text(value) if key == "state" else plain(str(value or "–"))
        table.add_row(Text(key, "dim"), shown)
    table.add_row(Text("anomalies", "dim"), plain(", ".join(row["anomalies"]) or "–"))
    return Group(table, *_said(row))


def print_result(out: Console, row: Mapping[str, Any]) -> None:
    """How a sub-task ended, and its result."""
    head = _columns(
        (state_text(row["state"]), 0), (Text(row["id"]), 0), (plain(row["name"], LINE), 0)
    )
    out.print(head, no_wrap=True, overflow="ellipsis" if out.is_terminal else "ignore")
    out.print(Group(*_said(row)))


def _said(row: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The agent's words: a result is shown by its artifacts, which are what its text is made of.

    Where it did not end by itself, what happened.
    """
    account = row.get("account")
    if account and account != row["text"]:
        yield Text("account", "dim")
        yield plain(account)
    if row["text"] and not (row["state"] == "COMPLETED" and row["artifacts"]):
        yield Text("text", "dim")
        yield plain(row["text"])
    yield from question_parts(row)
    for name in ("reason", "status_text"):
        if words := row.get(name):
            yield Text(name.replace("_", " "), "dim")
            yield plain(words)
    for artifact in row["artifacts"]:
        yield Text("artifact ", "dim").append_text(
            plain(artifact["name"] or artifact["artifact_id"], LINE)
        )
        # The text parts of an artifact are one text that was cut (D12).
        for is_text, parts in groupby(artifact["parts"], key=lambda part: "text" in part):
            if is_text:
                yield plain("".join(part["text"] for part in parts))
            else:
                yield from map(_part, parts)


def question_parts(row: Mapping[str, Any]) -> Iterator[Text]:
    """What the open question has beside its words, a line each; nothing where none is open."""
    # Where it has no words, its data are the text (D16).
    has_words = any(part.get("text", "").strip() for part in row["parts"])
    for part in row["parts"]:
        if "text" not in part and (has_words or "data" not in part):
            yield _part(part)


def _part(part: Mapping[str, Any]) -> Text:
    named = " ".join(filter(None, (part.get("filename"), part.get("media_type"))))
    if "url" in part:
        return plain(f"[{named or 'file'}] {part['url']}")
    if "raw" in part:
        return plain(f"[{named or 'file'}] {len(part['raw']) * 3 // 4} bytes")
    return plain(f"[{named or 'data'}] {json.dumps(part.get('data'), ensure_ascii=False)}")
