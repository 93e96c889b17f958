"""`locum`: the group of all commands, and the entry point."""

import rich_click as click

from .changing import cancel, complete, delegate, reply
from .reading import agents, events, ls, machine, notifications, show
from .running import demo, rebuild, serve

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="locum")
def main() -> None:
    """Hand work to remote A2A agents and stay in charge of it."""


for command in (
    serve, demo, agents, delegate, ls, show, events, reply, cancel, complete, notifications,
    rebuild, machine,
):  # fmt: skip
    main.add_command(command)
