"""What all commands share: their options, where they find settings, and how an error ends them."""

import functools
import getpass
import math
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import rich_click as click
from click.exceptions import Exit

from locum.core.errors import LocumError

from .output import print_problem

if TYPE_CHECKING:
    from ..settings import Settings, StoreSettings

__all__ = [
    "Seconds",
    "actor_name",
    "config_option",
    "json_option",
    "load_settings",
    "load_store",
    "refusable",
    "server_option",
]

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_CONFIG = "locum.toml"
INTERRUPTED = 130
"""The exit status that shells know for Ctrl-C."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, errors too.")
config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="LOCUM_CONFIG",
    metavar="F",
    help=f"The configuration; {DEFAULT_CONFIG} in this folder when it is there.",
)
server_option = click.option(
    "--server",
    envvar="LOCUM_SERVER",
    metavar="URL",
    help="The running server; by default the one that the configuration describes.",
)


class Seconds(click.FloatRange):
    """A time in seconds: more than none, and not for ever."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Fails for one that is none."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


def actor_name() -> str:
    """Who is at the keyboard: the user's name (H1)."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def load_settings(config: Path | None) -> "Settings":
    """The settings of `--config`, else of ./locum.toml, else the defaults. Raises ConfigError."""
    from ..settings import Settings  # noqa: PLC0415 - `--help` needs none

    return Settings.load(_found(config))


def load_store(config: Path | None) -> "StoreSettings":
    """Of the same settings only `[store]`, which is all that reading takes. Raises ConfigError."""
    from ..settings import StoreSettings  # noqa: PLC0415 - `--help` needs none

    return StoreSettings.load(_found(config))


def _found(config: Path | None) -> Path | None:
    if config is None and Path(DEFAULT_CONFIG).is_file():
        return Path(DEFAULT_CONFIG)
    return config


def refusable(command: Callable[P, T]) -> Callable[P, T]:
    """Turn what goes wrong into a sentence and exit status 1; never a stack trace."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        as_json = bool(kwargs.get("as_json"))
        try:
            return command(*args, **kwargs)
        except (click.ClickException, click.Abort, Exit, BrokenPipeError):
            raise  # Click knows what to do with these.
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None
        except Exception as error:
            # The last one to hear of it, and it says so.
            print_problem(_told(error), as_json=as_json)
            raise SystemExit(1) from error

    return wrapped


def _told(error: Exception) -> LocumError:
    """The error to tell of: ours as it is, another one as the mistake of this program that it is."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, LocumError):
        return error
    *_, last = traceback.extract_tb(error.__traceback__)
    where = f"{Path(last.filename).name}:{last.lineno}"
    return LocumError(
        f"locum made a mistake: {type(error).__name__}: {error} ({where}). Please report it.",
        code="locum.mistake",
    )
