"""`locum replay`: a sub-task as it was, and what was to be done next (H4); an export too (H5)."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click
from rich.text import Text

from locum.core.errors import RequestError
from locum.core.histories import history_of, read_histories
from locum.projections.moments import Moment, moment_at, moment_to_json, moments_of
from locum.projections.notifications import note_to_json
from locum.projections.rows import row_to_json

from ..store.journal import Journal
from ..store.moments import moment_in, moments_in
from .options import config_option, json_option, load_store, refusable
from .output import console, print_json
from .show import (
    STATE_WIDTH,
    WIDE,
    Entry,
    note_entry,
    print_entries,
    row_details,
    state_text,
)

__all__ = ["replay"]

_NEXT = {
    "send": "send the brief",
    "send_reply": "send the reply",
    "follow": "follow the remote task",
    "poll": "poll the remote task",
    "register_push": "see to the push config",
    "await_push": "wait for a push",
    "cancel": "cancel the remote task",
    "delete_push": "delete the push config",
    "rest": "nothing",
}
"""Each action of the policy, in words."""


@click.command()
@click.argument("sub_task_id", metavar="[ID]", required=False)
@click.option(
    "--at",
    metavar="VERSION|TIME",
    help="As of this version, or of this time (RFC 3339); without it each step is listed.",
)
@click.option(
    "--history",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="F",
    help="From an export instead of the store.",
)
@config_option
@json_option
@refusable
def replay(
    sub_task_id: str | None,
    at: str | None,
    history: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Show a sub-task as it was, and what was to be done next.

    Shown are its row, what the model had been told, and what a stand-in that was started at that
    moment would have done next, going by the record alone. ID may be left out where an export holds
    one sub-task.
    """
    if sub_task_id is None and history is None:
        raise click.UsageError("Name a sub-task, or give --history.")
    if at is None and not as_json:
        _print_steps(_moments(sub_task_id, history, config))
        return
    moment = _moment(sub_task_id, at, history, config)
    if as_json:
        print_json(moment_to_json(moment))
    else:
        _print_moment(moment)


def _moments(
    sub_task_id: str | None, history: Path | None, config: Path | None
) -> Iterable[Moment]:
    if history is not None:
        return moments_of(_exported(history, sub_task_id))

    async def read() -> tuple[Moment, ...]:
        async with Journal.open(load_store(config).url, create=False) as journal:
            return await moments_in(journal, str(sub_task_id))

    return asyncio.run(read())


def _moment(
    sub_task_id: str | None, at: str | None, history: Path | None, config: Path | None
) -> Moment:
    version, time = (int(at), None) if at is not None and _is_version(at) else (None, at)
    if history is not None:
        return moment_at(_exported(history, sub_task_id), version=version, at=time)

    async def read() -> Moment:
        async with Journal.open(load_store(config).url, create=False) as journal:
            return await moment_in(journal, str(sub_task_id), version=version, at=time)

    return asyncio.run(read())


def _is_version(at: str) -> bool:
    return at.isascii() and at.isdigit() and len(at) < 10


def _exported(history: Path, sub_task_id: str | None) -> tuple[Any, ...]:
    try:
        with history.open("rb") as lines:
            return history_of(read_histories(lines), sub_task_id).events
    except OSError as error:
        raise RequestError(f"--history {history}: {error.strerror}.") from error


def _print_steps(moments: Iterable[Moment]) -> None:
    out = console()
    print_entries(out, _steps(moments, is_narrow=out.is_terminal and out.width < WIDE))


def _steps(moments: Iterable[Moment], *, is_narrow: bool) -> Iterator[Entry]:
    told = 0
    for moment in moments:
        event, row = moment.event, moment.row
        at = event.at[11:23] if is_narrow else event.at
        head = Text(f"{event.version:>2}  {at}  {type(event).__name__:<11}  ")
        head.append_text(state_text(row.state.value))
        head.pad_right(max(STATE_WIDTH - len(row.state.value), 0))
        then = Text("next: ", "dim").append(_words(moment)[0])
        if len(moment.notifications) > told:
            told = len(moment.notifications)
            then.append("; the model was told", "dim")
        yield Entry(head, then)


def _words(moment: Moment) -> tuple[str, str]:
    """The next action, and what is known of it."""
    action = msgspec.to_builtins(moment.next_action)
    name = _NEXT[action.pop("action")]
    return name, ", ".join(f"{key} {value}" for key, value in action.items())


def _print_moment(moment: Moment) -> None:
    out = console()
    out.print(row_details(row_to_json(moment.row)))
    told = [note_entry(note_to_json(note)) for note in moment.notifications]
    out.print(Text("told", "dim") if told else Text("told  nothing", "dim"))
    print_entries(out, told)
    name, known = _words(moment)
    out.print(Text("next  ", "dim").append(name).append(f"  ({known})" if known else "", "dim"))
