"""What all commands share: their options, how errors end them, and how JSON is printed."""

import functools
import getpass
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import rich_click as click
from rich.console import Console

from locum.core.errors import LocumError

from ..settings import Settings

__all__ = [
    "actor_name",
    "config_option",
    "console",
    "fail",
    "json_option",
    "load_settings",
    "print_json",
    "refusable",
    "server_option",
]

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_CONFIG = "locum.toml"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="LOCUM_CONFIG",
    help=f"The configuration file; {DEFAULT_CONFIG} here when it is there.",
)
server_option = click.option(
    "--server",
    envvar="LOCUM_SERVER",
    help="URL of the running server; by default the one of the configuration.",
)


def console(*, stderr: bool = False) -> Console:
    """A console on standard output (or error) that does not guess at what is a number."""
    return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def actor_name() -> str:
    """Who is at the keyboard: the user's name (API.md)."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def load_settings(config: Path | None) -> Settings:
    """The settings of `--config`, else of ./locum.toml, else the defaults. Raises ConfigError."""
    if config is None and Path(DEFAULT_CONFIG).is_file():
        config = Path(DEFAULT_CONFIG)
    return Settings.load(config)


def fail(error: LocumError, *, wants_json: bool) -> None:
    """Say what went wrong on standard error, as a problem document when JSON is wanted."""
    if wants_json:
        problem = {"title": error.message, "code": error.code, "detail": error.detail}
        click.echo(json.dumps(problem, ensure_ascii=False), err=True)
    else:
        click.echo(f"{error.code}: {error.message}", err=True)


def refusable(command: Callable[P, T]) -> Callable[P, T]:
    """Turn a LocumError into its message and exit status 1; never a stack trace."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except LocumError as error:
            fail(error, wants_json=bool(kwargs.get("as_json")))
            raise SystemExit(1) from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(130) from None

    return wrapped
