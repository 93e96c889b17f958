"""`locum`: the group of all commands, each loaded when it is asked for, and the entry point."""

from importlib import import_module

import rich_click as click

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "serve": "running",
    "demo": "running",
    "agents": "reading",
    "delegate": "changing",
    "ask": "asking",
    "ls": "reading",
    "show": "reading",
    "events": "reading",
    "reply": "changing",
    "cancel": "changing",
    "complete": "changing",
    "notifications": "reading",
    "rebuild": "running",
    "machine": "reading",
}
"""Every command and the module it lives in. Only what a command needs is loaded for it."""


class _Lazy(click.RichGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(
            import_module(f".{COMMANDS[cmd_name]}", __package__), cmd_name
        )
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="locum")
def main() -> None:
    """Hand work to remote A2A agents and stay in charge of it."""
