"""`locum`: the group of all commands, and the entry point. Loads a command when it is run."""

from importlib import import_module
from typing import Any, NamedTuple

import rich_click as click

from .output import make_streams_total

__all__ = ["COMMANDS", "main"]


class Home(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    help: str


COMMANDS = {
    "serve": Home("running", "Serve the HTTP API, and stand in for every open sub-task."),
    "demo": Home("running", "See the whole job done against an agent in another process."),
    "agents": Home("agents", "Show which agents take work, and why the others do not."),
    "delegate": Home("changing", "Hand GOAL to AGENT."),
    "ask": Home("asking", "Ask an agent once, without store or server."),
    "ls": Home("reading", "List sub-tasks."),
    "show": Home("reading", "Show one sub-task with its whole result."),
    "events": Home("reading", "Show a sub-task's record: who said what, why and when."),
    "replay": Home("replaying", "Show a sub-task as it was, and what was to be done next."),
    "reply": Home("changing", "Answer what sub-task ID asks."),
    "cancel": Home("changing", "Cancel sub-task ID."),
    "complete": Home("changing", "Let PARENT complete, when all of its sub-tasks have ended."),
    "notifications": Home("reading", "Show what the model of PARENT was told."),
    "verify": Home("verifying", "Walk the record again, and say which event is not as it was."),
    "export": Home("exporting", "Print the record as JSON lines, to be replayed elsewhere."),
    "rebuild": Home("running", "Make the rows and notifications again from the events."),
    "machine": Home("drawing", "Draw the state machine."),
}
"""Every command, in the order in which they are listed."""


class _Deferred(click.RichCommand):
    """A command known by its name and its line in the list; the rest is loaded when it is run."""

    def __init__(self, name: str, home: Home) -> None:
        super().__init__(name=name, help=home.help)
        self._module = home.module

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        module = import_module(f".{self._module}", __package__)
        command: click.Command = getattr(module, str(self.name))
        return command.make_context(info_name, args, parent, **extra)


class _Lazy(click.RichGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = COMMANDS.get(cmd_name)
        return None if home is None else _Deferred(cmd_name, home)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="locum")
def main() -> None:
    """Hand work to remote A2A agents and stay in charge of it."""
    make_streams_total()
