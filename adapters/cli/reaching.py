"""The options that say how an agent is reached which no configuration names. Talks to nobody."""

import tomllib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import rich_click as click

__all__ = ["credential_tables", "reaching_options"]

P = ParamSpec("P")
T = TypeVar("T")

_OPTIONS = (
    click.option(
        "--bearer-env", metavar="NAME", help="The environment variable that holds a bearer token."
    ),
    click.option(
        "--auth",
        metavar="TABLE",
        help="Other credentials, as `auth` of [[agents]] has them: '{ type = \"api_key\", …}'.",
    ),
    click.option(
        "--allow-host", "allowed_hosts", multiple=True, help="A further origin to call; repeatable."
    ),
    click.option("--allow-insecure", is_flag=True, help="Allow plain HTTP off this machine."),
    click.option(
        "--ca-file", default="", help="Certificates (PEM) to hold the agent's TLS against."
    ),
)


def reaching_options(command: Callable[P, T]) -> Callable[P, T]:
    """Give a command `bearer_env`, `auth`, `allowed_hosts`, `allow_insecure` and `ca_file`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def credential_tables(bearer_env: str | None, auth: str | None) -> list[dict[str, Any]]:
    """The credentials that the options name, as tables like `auth` of `[[agents]]`."""
    tables: list[dict[str, Any]] = []
    if bearer_env is not None:
        tables.append({"type": "bearer", "token_env": bearer_env})
    if auth is not None:
        try:
            read = tomllib.loads(f"auth = {auth}")["auth"]
        except tomllib.TOMLDecodeError:
            # Not quoted: somebody may have put a secret there.
            raise click.BadParameter("give a TOML inline table", param_hint="--auth") from None
        tables += read if isinstance(read, list) else [read]
    return tables
