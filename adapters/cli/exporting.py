"""`locum export`: histories as JSON lines, to be replayed elsewhere (H5)."""

import sys
from pathlib import Path

import rich_click as click

from locum.core.errors import RequestError, StoreError

from ..store.exporting import Exported
from ..store.exporting import export as export_store
from .options import config_option, json_option, load_store, refusable
from .output import escaped

__all__ = ["export"]


@click.command()
@click.argument("sub_task_id", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every sub-task of the store.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="F",
    help="Into file F, which must not be there yet; by default to standard output.",
)
@config_option
@json_option
@refusable
def export(
    sub_task_id: str | None,
    everything: bool,
    output: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Print the record as JSON lines, to be replayed elsewhere.

    It is that of sub-task ID, or of all, an event a line, as it is stored.
    `locum replay --history F` and locum.core.histories read it, on any machine.
    """
    if everything == (sub_task_id is not None):
        raise click.UsageError("Name a sub-task, or give --all.")
    url = load_store(config).url
    if output is not None:
        done = _export_to(output, url, sub_task_id)
    else:
        done = _export_to_stdout(url, sub_task_id)
    click.echo(f"{done.events} events of {done.sub_tasks} sub-tasks", err=True)


def _export_to(output: Path, url: str, sub_task_id: str | None) -> Exported:
    try:
        with output.open("xb") as file:
            return export_store(url, file.write, sub_task_id)
    except OSError as error:
        raise RequestError(f"--output {output}: {error.strerror}.") from error


def _export_to_stdout(url: str, sub_task_id: str | None) -> Exported:
    try:
        done = export_store(url, _print, sub_task_id)
    except StoreError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            raise error.__cause__ from None  # The reader has gone; the store is all right.
        raise
    sys.stdout.buffer.flush()
    return done


def _print(line: bytes) -> None:
    if sys.stdout.isatty():
        # What an agent wrote must not drive the terminal; a file gets the very bytes.
        click.echo(escaped(line.decode()), nl=False)
    else:
        sys.stdout.buffer.write(line)
