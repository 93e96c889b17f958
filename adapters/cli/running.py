"""Commands that run something: `serve`, `demo`, `rebuild`."""

import asyncio
from pathlib import Path

import rich_click as click

from ..demo.story import run_demo
from ..store.journal import Journal
from .options import config_option, json_option, load_settings, print_json, refusable

__all__ = ["demo", "rebuild", "serve"]


@click.command()
@config_option
@click.option(
    "--log-level",
    default="INFO",
    show_default=True,
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
)
@refusable
def serve(config: Path | None, log_level: str) -> None:
    """Serve the HTTP API, and stand in for every open sub-task."""
    # The web framework and the SDK take their time to load: only for who serves.
    from ..serving import log_to_stderr, run  # noqa: PLC0415

    log_to_stderr(log_level.upper())
    run(load_settings(config))


@click.command()
@refusable
def demo() -> None:
    """Show the whole job against an agent in another process, a crash included."""
    if not asyncio.run(run_demo()):
        raise SystemExit(1)


@click.command()
@config_option
@json_option
@refusable
def rebuild(config: Path | None, as_json: bool) -> None:
    """Drop the projections and make them again from the events."""
    position = asyncio.run(_rebuild(load_settings(config).store.url))
    if as_json:
        print_json({"position": position})
    else:
        click.echo(f"rebuilt up to position {position}")


async def _rebuild(url: str) -> int:
    async with Journal.open(url, create=False) as journal:
        return await journal.rebuild()
