"""Commands that run something: `serve`, `demo`, `rebuild`. Each loads what it runs when it is run."""

import asyncio
import sys
from pathlib import Path

import rich_click as click

from .options import config_option, json_option, load_settings, load_store, refusable
from .output import console, print_json, waiting

__all__ = ["demo", "rebuild", "serve"]


@click.command()
@config_option
@click.option(
    "--log-level",
    default="INFO",
    show_default=True,
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    help="What is logged, to standard error.",
)
@json_option
@refusable
def serve(config: Path | None, log_level: str, as_json: bool) -> None:
    """Serve the HTTP API, and stand in for every open sub-task.

    With --json, one line on standard output says where it listens: {"url": …}.
    """
    settings = load_settings(config)
    from ..serving import log_to_stderr, run  # noqa: PLC0415 - it takes long to load

    log_to_stderr(log_level.upper())
    # The executor of `self` may be a module beside the configuration (A9).
    sys.path.append(str(Path.cwd()))
    run(
        settings,
        on_listening=lambda url: print_json({"url": url}, indent=None) if as_json else None,
    )


@click.command()
@json_option
@refusable
def demo(as_json: bool) -> None:
    """See the whole job done against an agent in another process.

    There is a crash in the middle. Exit status 0 means that every outcome was the right one. With --json only that is printed:
    {"right": …, "wrong": […]}.
    """
    from ..demo.story import run_demo  # noqa: PLC0415 - it takes long to load

    out = console()
    out.quiet = as_json
    try:
        wrong = asyncio.run(run_demo(out))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    if as_json:
        print_json({"right": not wrong, "wrong": wrong})
    if wrong:
        raise SystemExit(1)


@click.command()
@config_option
@json_option
@refusable
def rebuild(config: Path | None, as_json: bool) -> None:
    """Make the rows and notifications again from the events.

    A server that runs may go on running.
    """
    url = load_store(config).url
    with waiting("reading the events"):
        position = asyncio.run(_rebuild(url))
    if as_json:
        print_json({"position": position})
    else:
        click.echo(f"rebuilt up to position {position}")


async def _rebuild(url: str) -> int:
    from ..store.journal import Journal  # noqa: PLC0415 - `serve` needs none of it from here

    async with Journal.open(url, create=False) as journal:
        return await journal.rebuild()
