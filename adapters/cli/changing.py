"""Commands that change something: they talk to the running server."""

import asyncio
from pathlib import Path
from typing import Any

import rich_click as click

from locum.core.errors import LocumError

from .options import (
    Seconds,
    actor_name,
    config_option,
    json_option,
    load_settings,
    refusable,
    server_option,
)
from .output import clean, console, print_json, waiting
from .server import CANCEL_PATIENCE, PATIENCE, Server, segment
from .show import print_result
from .waiting import ENDED, WAITS, attend

__all__ = ["cancel", "complete", "delegate", "reply"]

DEFAULT_PARENT = "terminal"


@click.command()
@click.argument("agent")
@click.argument("goal")
@click.option(
    "--parent", default=DEFAULT_PARENT, show_default=True, metavar="P", help="The parent task's id."
)
@click.option("--name", default="", help="A short name for the row.")
@click.option("--description", default="", help="What the agent should know.")
@click.option("--criterion", "criteria", multiple=True, help="An acceptance criterion; repeatable.")
@click.option("--timeout", type=Seconds(), help="Seconds until it is cancelled and has failed.")
@click.option("--idempotency-key", help="The same key for the same parent gives the same sub-task.")
@click.option("--follows", metavar="ID", help="Go on in the context of this ended sub-task.")
@click.option("--wait", is_flag=True, help="Wait for the end; questions are asked here.")
@server_option
@config_option
@json_option
@refusable
def delegate(  # one parameter an option
    agent: str,
    goal: str,
    parent: str,
    name: str,
    description: str,
    criteria: tuple[str, ...],
    timeout: float | None,
    idempotency_key: str | None,
    follows: str | None,
    wait: bool,
    server: str | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Hand GOAL to AGENT.

    With --wait, exit status 0 means that it was completed, 1 that it ended otherwise, and 3 that the
    agent waits for an answer: without a terminal only the lines of standard input give one. An
    authorisation, which is given elsewhere, is waited for.
    """
    body = {
        "agent": agent,
        "goal": goal,
        "name": name or None,
        "description": description or None,
        "acceptance_criteria": list(criteria) or None,
        "timeout": timeout,
        "idempotency_key": idempotency_key,
        "follows": follows,
    }
    given = {key: value for key, value in body.items() if value is not None}
    path = f"/v1/parents/{segment(parent)}/sub-tasks"
    if wait:
        _wait(path, given, server, config, as_json=as_json)
        return
    row = asyncio.run(_post(path, given, server, config))
    if as_json:
        print_json(row)
    else:
        click.echo(f"{row['id']} {row['state']}")


def _wait(
    path: str, body: dict[str, Any], server: str | None, config: Path | None, *, as_json: bool
) -> None:
    """Post, wait for the end of the sub-task that it is about, and print it; the exit status too."""
    row = asyncio.run(_attended(path, body, server, config, quiet=as_json))
    if as_json:
        print_json(row)
    else:
        print_result(console(), row)
    if row["state"] != "COMPLETED":
        raise SystemExit(1 if row["state"] in ENDED else WAITS)


async def _attended(
    path: str, body: dict[str, Any], server: str | None, config: Path | None, *, quiet: bool
) -> dict[str, Any]:
    async with Server.of(load_settings(config), server, actor=actor_name()) as api:
        row = await api.post(path, body)
        try:
            return await attend(api, row, quiet=quiet)
        except (asyncio.CancelledError, LocumError):
            click.echo(f"\n{row['id']} goes on; look with: locum show {row['id']}", err=True)
            raise


@click.command()
@click.argument("sub_task_id", metavar="ID")
@click.argument("text")
@click.option("--question", type=int, help="The version that is answered; refused when it is old.")
@click.option("--wait", is_flag=True, help="Wait for the end, as `delegate --wait` does.")
@server_option
@config_option
@json_option
@refusable
def reply(
    sub_task_id: str,
    text: str,
    question: int | None,
    wait: bool,
    server: str | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Answer what sub-task ID asks.

    With --wait, the exit status is that of `locum delegate --wait`.
    """
    body: dict[str, Any] = {"text": text}
    if question is not None:
        body["question"] = question
    path = f"/v1/sub-tasks/{segment(sub_task_id)}/reply"
    if wait:
        _wait(path, body, server, config, as_json=as_json)
    else:
        _print_row(asyncio.run(_post(path, body, server, config)), as_json=as_json)


@click.command()
@click.argument("sub_task_id", metavar="ID")
@click.option("--reason", default="", help="Why; it is recorded.")
@server_option
@config_option
@json_option
@refusable
def cancel(
    sub_task_id: str, reason: str, server: str | None, config: Path | None, as_json: bool
) -> None:
    """Cancel sub-task ID."""
    path = f"/v1/sub-tasks/{segment(sub_task_id)}/cancel"
    row = asyncio.run(_post(path, {"reason": reason}, server, config, patience=CANCEL_PATIENCE))
    _print_row(row, as_json=as_json)


@click.command()
@click.argument("parent")
@server_option
@config_option
@json_option
@refusable
def complete(parent: str, server: str | None, config: Path | None, as_json: bool) -> None:
    """Let PARENT complete, when all of its sub-tasks have ended."""
    done = asyncio.run(_post(f"/v1/parents/{segment(parent)}/complete", {}, server, config))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{parent} may complete")


async def _post(
    path: str,
    body: dict[str, Any],
    server: str | None,
    config: Path | None,
    *,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    async with Server.of(load_settings(config), server, actor=actor_name()) as api:
        with waiting("waiting for the server"):
            return await api.post(path, body, patience=patience)


def _print_row(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(row)
    else:
        click.echo(f"{row['id']} {row['state']} {clean(row['text'], 100)}".rstrip())
