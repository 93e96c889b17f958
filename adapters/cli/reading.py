"""Commands that only read: they open the store themselves and need no server."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from locum.core.errors import SubTaskNotFoundError
from locum.projections import note_to_json, row_to_json

from ..store.journal import Journal
from .options import config_option, json_option, load_store, refusable
from .output import console, print_json
from .show import (
    WIDE,
    event_entries,
    note_entry,
    print_entries,
    row_details,
    row_entries,
)

__all__ = ["events", "ls", "notifications", "show"]

FEED_PAGE = 200
FEED_PAUSE = 0.5
"""Seconds between two looks at the store: another process writes it, and SQLite tells nobody."""


@asynccontextmanager
async def _journal(config: Path | None) -> AsyncIterator[Journal]:
    async with Journal.open(load_store(config).url, create=False) as journal:
        yield journal


@click.command()
@click.option("--parent", metavar="P", help="Only this parent's sub-tasks.")
@click.option("--unresolved", is_flag=True, help="Only those that have not ended.")
@config_option
@json_option
@refusable
def ls(parent: str | None, unresolved: bool, config: Path | None, as_json: bool) -> None:
    """List sub-tasks."""
    rows = asyncio.run(_rows(parent, config, unresolved=unresolved))
    if as_json:
        print_json({"sub_tasks": rows})
    elif rows:
        print_entries(console(), row_entries(rows))
    else:
        click.echo("There is no such sub-task." if parent or unresolved else "No sub-task yet.")


async def _rows(
    parent: str | None, config: Path | None, *, unresolved: bool
) -> list[dict[str, Any]]:
    async with _journal(config) as journal:
        found = await journal.views.rows(parent, unresolved=True if unresolved else None)
    return [row_to_json(row) for row in found]


@click.command()
@click.argument("sub_task_id", metavar="ID")
@config_option
@json_option
@refusable
def show(sub_task_id: str, config: Path | None, as_json: bool) -> None:
    """Show one sub-task with its whole result."""
    row = asyncio.run(_row(sub_task_id, config))
    if as_json:
        print_json(row)
    else:
        console().print(row_details(row))


async def _row(sub_task_id: str, config: Path | None) -> dict[str, Any]:
    async with _journal(config) as journal:
        row = await journal.views.row(sub_task_id)
    if row is None:
        raise SubTaskNotFoundError(sub_task_id)
    return row_to_json(row)


@click.command()
@click.argument("sub_task_id", metavar="ID")
@config_option
@json_option
@refusable
def events(sub_task_id: str, config: Path | None, as_json: bool) -> None:
    """Show a sub-task's record: who said what, why and when."""
    found = asyncio.run(_events(sub_task_id, config))
    if as_json:
        print_json({"events": found})
    else:
        out = console()
        is_narrow = out.is_terminal and out.width < WIDE
        print_entries(out, event_entries(found, is_narrow=is_narrow))


async def _events(sub_task_id: str, config: Path | None) -> list[dict[str, Any]]:
    async with _journal(config) as journal:
        return [msgspec.to_builtins(event) for event in await journal.events(sub_task_id)]


@click.command()
@click.argument("parent")
@click.option("--follow", is_flag=True, help="Go on as they come, until Ctrl-C.")
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Only those past this cursor, the number that each begins with.",
)
@config_option
@json_option
@refusable
def notifications(
    parent: str, follow: bool, after: int, config: Path | None, as_json: bool
) -> None:
    """Show what the model of PARENT was told.

    With --follow and --json, each is a JSON document in one line.
    """
    if not follow:
        asyncio.run(_print_notes(parent, after, config, as_json=as_json))
        return
    try:
        asyncio.run(_follow_notes(parent, after, config, as_json=as_json))
    except KeyboardInterrupt:
        # That is how it is meant to end; the shell's prompt gets a line of its own.
        click.echo(err=True)


async def _print_notes(parent: str, after: int, config: Path | None, *, as_json: bool) -> None:
    found: list[dict[str, Any]] = []
    async with _journal(config) as journal:
        while True:
            notes, after = await journal.views.notes(parent, after, FEED_PAGE)
            found += [note_to_json(note) for note in notes]
            if len(notes) < FEED_PAGE:
                break
    if as_json:
        print_json({"notifications": found, "cursor": after})
    elif found:
        print_entries(console(), map(note_entry, found))
    else:
        click.echo("Nothing was told.")


async def _follow_notes(parent: str, after: int, config: Path | None, *, as_json: bool) -> None:
    out = console()
    async with _journal(config) as journal, aclosing(_feed(journal, parent, after)) as feed:
        async for note in feed:
            if as_json:
                print_json(note, indent=None)
            else:
                print_entries(out, [note_entry(note)])


async def _feed(journal: Journal, parent: str, after: int) -> AsyncGenerator[dict[str, Any], None]:
    while True:
        notes, after = await journal.views.notes(parent, after, FEED_PAGE)
        for note in notes:
            yield note_to_json(note)
        if not notes:
            await asyncio.sleep(FEED_PAUSE)
