"""`locum verify`: walk the record again and say which event was tampered with, or is illegal (H3)."""

from pathlib import Path

import rich_click as click

from ..store.verify import Fault
from ..store.verify import verify as verify_store
from .options import config_option, json_option, load_store, refusable
from .output import print_json

__all__ = ["verify"]


@click.command()
@click.argument("sub_task_id", metavar="[ID]", required=False)
@config_option
@json_option
@refusable
def verify(sub_task_id: str | None, config: Path | None, as_json: bool) -> None:
    """Walk the record again, and say which event is not as it was.

    An event is at fault that was altered, removed or moved, or that is illegal.
    """
    found = verify_store(load_store(config).url, sub_task_id)
    if as_json:
        print_json(
            {
                "sub_tasks": found.sub_tasks,
                "events": found.events,
                "faults": [
                    {"sub_task_id": fault.sub_task_id, "version": fault.version, "what": fault.what}
                    for fault in found.faults
                ],
            }
        )
    else:
        for fault in found.faults:
            click.echo(f"{_where(fault)}: {fault.what}")
        faults = f"{len(found.faults)} faults" if found.faults else "nothing is wrong"
        click.echo(f"{found.events} events of {found.sub_tasks} sub-tasks: {faults}")
    if found.faults:
        raise SystemExit(1)


def _where(fault: Fault) -> str:
    return f"{fault.sub_task_id} version {fault.version}" if fault.sub_task_id else "the log"
