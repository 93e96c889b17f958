"""Showing rows, events and notifications at a terminal. Prints; asks nobody and changes nothing."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

__all__ = ["agents_table", "events_table", "note_text", "row_details", "rows_table", "state_text"]

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


def state_text(state: str) -> Text:
    """A state in its colour."""
    return Text(state, COLOURS.get(state, ""))


def plain(text: str, limit: int = 0) -> Text:
    """An agent's words without control characters, so that they cannot drive the terminal."""
    shown = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    if limit:
        shown = " ".join(shown.split())
        shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return Text(shown)


def rows_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Rows, one a line."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for title in ("id", "agent", "name", "state", "watch", "text"):
        table.add_column(title, overflow="fold" if title == "id" else "ellipsis")
    for row in rows:
        table.add_row(
            Text(row["id"]),
            plain(row["agent"]),
            plain(row["name"], 24),
            state_text(row["state"]),
            row["watch"] or "",
            plain(row["text"], 60),
        )
    return table


def row_details(row: Mapping[str, Any]) -> Group:
    """One row with its whole result."""
    table = Table.grid(padding=(0, 2))
    for key in (
        "id", "parent_id", "agent", "name", "goal", "state", "watch", "cause", "version",
        "remote_task_id", "context_id", "created_at", "updated_at",
    ):  # fmt: skip
        value = row[key]
        shown = state_text(value) if key == "state" else plain(str(value or "–"))
        table.add_row(Text(key, "dim"), shown)
    table.add_row(Text("anomalies", "dim"), plain(", ".join(row["anomalies"]) or "–"))
    parts: list[Any] = [table, Text("text", "dim"), plain(row["text"] or "–")]
    for artifact in row["artifacts"]:
        title = artifact["name"] or artifact["artifact_id"]
        parts += [Text(f"artifact {title}", "dim"), *map(_part, artifact["parts"])]
    return Group(*parts)


def _part(part: Mapping[str, Any]) -> Text:
    named = " ".join(filter(None, (part.get("filename"), part.get("media_type"))))
    if "text" in part:
        return plain(part["text"])
    if "url" in part:
        return plain(f"[{named or 'file'}] {part['url']}")
    if "raw" in part:
        return plain(f"[{named or 'file'}] {len(part['raw']) * 3 // 4} bytes")
    return plain(f"[{named or 'data'}] {part.get('data')!r}")


def events_table(events: Iterable[Mapping[str, Any]]) -> Table:
    """A sub-task's events: who said what, why and when."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for title in ("#", "at", "event", "cause", "actor", "state", "text", "hash"):
        table.add_column(title, no_wrap=title != "text")
    for event in events:
        state = event.get("state") or event.get("outcome") or ""
        said = event.get("text") or event.get("goal") or event.get("detail") or ""
        table.add_row(
            str(event["version"]),
            event["at"][:23].replace("T", " "),
            event["type"],
            event["cause"],
            plain(event["actor"]),
            state_text(state),
            plain(said, 60),
            event["hash"][:8],
        )
    return table


def note_text(note: Mapping[str, Any]) -> Text:
    """One notification, one line."""
    line = Text(f"{note['cursor']:>5}  {note['sub_task_id']}  ")
    line.append(f"{note['kind']:<14}")
    line.append_text(state_text(note["state"]))
    line.append("  ")
    line.append_text(plain(note["text"], 200))
    return line


def agents_table(console: Console, agents: Iterable[Mapping[str, Any]]) -> None:
    """Print the agents, accepted and refused, each with its reason."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for title in ("id", "state", "name", "version", "streaming", "push", "reason"):
        table.add_column(title, overflow="fold")
    for agent in agents:
        is_accepted = agent["state"] == "accepted"
        table.add_row(
            plain(agent["id"]),
            Text(agent["state"], "green" if is_accepted else "red"),
            plain(agent["name"] or "–", 40),
            plain(agent["version"] or "–", 20),
            "yes" if agent["streaming"] else "no",
            "yes" if agent["push"] else "no",
            plain(agent["reason"] or ""),
        )
    console.print(table)
