"""Commands that only read: they open the store themselves and need no server."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from locum.core.errors import SubTaskNotFoundError
from locum.core.render import mermaid, svg
from locum.projections import note_to_json, row_to_json

from ..store.journal import Journal
from .options import config_option, console, json_option, load_settings, print_json, refusable
from .show import agents_table, events_table, note_text, row_details, rows_table

__all__ = ["agents", "events", "ls", "machine", "notifications", "show"]

FEED_PAGE = 200
FEED_PAUSE = 0.5
"""Seconds between two looks at the store: another process writes it, and SQLite tells nobody."""


@asynccontextmanager
async def _journal(config: Path | None) -> AsyncIterator[Journal]:
    settings = load_settings(config)
    async with Journal.open(settings.store.url, create=False) as journal:
        yield journal


@click.command()
@config_option
@json_option
@refusable
def agents(config: Path | None, as_json: bool) -> None:
    """Fetch every agent's card: who is accepted, who is refused and why."""
    asyncio.run(_agents(config, as_json=as_json))


async def _agents(config: Path | None, *, as_json: bool) -> None:
    # Only this command talks to agents, so only it loads what that takes.
    from ..a2a.registry import Registry  # noqa: PLC0415

    async with Registry(load_settings(config)) as registry:
        found = registry.agents()
    if as_json:
        print_json({"agents": found})
    elif not found:
        click.echo("no agent is configured")
    else:
        agents_table(console(), found)


@click.command()
@click.option("--parent", help="Only this parent's sub-tasks.")
@click.option("--unresolved", is_flag=True, help="Only those that have not ended.")
@config_option
@json_option
@refusable
def ls(parent: str | None, unresolved: bool, config: Path | None, as_json: bool) -> None:
    """List sub-tasks."""
    asyncio.run(_ls(parent, config, unresolved=unresolved, as_json=as_json))


async def _ls(parent: str | None, config: Path | None, *, unresolved: bool, as_json: bool) -> None:
    async with _journal(config) as journal:
        found = await journal.views.rows(parent, unresolved=True if unresolved else None)
    rows = [row_to_json(row) for row in found]
    if as_json:
        print_json({"sub_tasks": rows})
    elif rows:
        console().print(rows_table(rows))
    else:
        click.echo("no sub-task")


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
        console().print(events_table(found))


async def _events(sub_task_id: str, config: Path | None) -> list[dict[str, Any]]:
    async with _journal(config) as journal:
        return [msgspec.to_builtins(event) for event in await journal.events(sub_task_id)]


@click.command()
@click.argument("parent")
@click.option("--follow", is_flag=True, help="Go on as they come, until interrupted.")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only those past this cursor.")
@config_option
@json_option
@refusable
def notifications(
    parent: str, follow: bool, after: int, config: Path | None, as_json: bool
) -> None:
    """Show what the model of PARENT was told."""
    asyncio.run(_notifications(parent, after, config, follow=follow, as_json=as_json))


async def _notifications(
    parent: str, after: int, config: Path | None, *, follow: bool, as_json: bool
) -> None:
    async with _journal(config) as journal:
        if not follow:
            await _print_notes(journal, parent, after, as_json=as_json)
            return
        async with aclosing(_feed(journal, parent, after)) as feed:
            async for note in feed:
                if as_json:
                    click.echo(json.dumps(note, ensure_ascii=False))
                else:
                    console().print(note_text(note))


async def _print_notes(journal: Journal, parent: str, after: int, *, as_json: bool) -> None:
    found: list[dict[str, Any]] = []
    cursor = after
    while True:
        notes, cursor = await journal.views.notes(parent, cursor, FEED_PAGE)
        found += [note_to_json(note) for note in notes]
        if len(notes) < FEED_PAGE:
            break
    if as_json:
        print_json({"notifications": found, "cursor": cursor})
        return
    for note in found:
        console().print(note_text(note))


async def _feed(journal: Journal, parent: str, after: int) -> AsyncGenerator[dict[str, Any], None]:
    while True:
        notes, after = await journal.views.notes(parent, after, FEED_PAGE)
        for note in notes:
            yield note_to_json(note)
        if not notes:
            await asyncio.sleep(FEED_PAUSE)


@click.command()
@click.option("--mermaid", "as_mermaid", is_flag=True, help="As a Mermaid diagram (the default).")
@click.option("--svg", "svg_file", type=click.Path(dir_okay=False, path_type=Path), metavar="F")
@refusable
def machine(as_mermaid: bool, svg_file: Path | None) -> None:
    """Draw the state machine."""
    if svg_file is not None:
        svg_file.write_text(svg(), encoding="utf-8")
        click.echo(f"wrote {svg_file}", err=True)
    if as_mermaid or svg_file is None:
        click.echo(mermaid())
