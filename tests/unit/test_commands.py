"""The list of commands, which is shown without loading them, against the commands themselves."""

import json
from importlib import import_module

import pytest
import rich_click as click

from locum.adapters.cli.main import COMMANDS, main
from locum.adapters.cli.output import clean, json_text


def _command(name: str) -> click.Command:
    home = COMMANDS[name]
    command: click.Command = getattr(import_module(f"locum.adapters.cli.{home.module}"), name)
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_each_command_says_itself(name: str) -> None:
    """CLI: `locum --help` has the first sentence of each command's own help."""
    command = _command(name)
    assert command.name == name
    assert command.help is not None
    assert command.help.split("\n\n")[0].replace("\n", " ").strip() == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_knows_json(name: str) -> None:
    """CLI: `--json` is an option of each command, and every option says what it is for."""
    options = [one for one in _command(name).params if isinstance(one, click.Option)]
    assert "--json" in {text for option in options for text in option.opts}
    assert [option.name for option in options if not option.help] == []


def test_commands_are_loaded_when_they_are_run() -> None:
    """CLI: the list is there without them, and each of them is what it promised."""
    context = click.Context(main)
    assert main.list_commands(context) == list(COMMANDS)
    assert main.get_command(context, "nonesuch") is None
    listed = main.get_command(context, "ls")
    assert listed is not None
    assert listed.make_context("ls", ["--parent", "p"], context).params["parent"] == "p"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain, Zoë, 漢字, 👩\u200d🔧", "plain, Zoë, 漢字, 👩\u200d🔧"),
        ("a\tb\r\nc\rd\u2028e", "a    b\nc\nd\ne"),
        ("\x1b[31m", "�[31m"),
        ("\x9b2J\x07\x7f\u202e\ud800\ufeff", "�2J�����"),
    ],
    ids=["letters", "white", "escape", "others"],
)
def test_what_a_terminal_is_shown(text: str, shown: str) -> None:
    """CLI: letters stay as they are; what could drive a terminal is put out of action."""
    assert clean(text) == shown


def test_a_limit_makes_it_one_line() -> None:
    """CLI: with a limit, a text is one line, and one that is longer ends in `…`."""
    assert clean(" a\n\n b ", 10) == "a b"
    assert clean("x" * 10, 10) == "x" * 10
    assert clean("x" * 11, 10) == "x" * 9 + "…"


def test_json_is_the_same_value_in_safe_letters() -> None:
    """CLI: JSON escapes what is not printable, and nothing else; it reads back as it was."""
    value = {"é": ["\x1b\x7f\x9b\u202e\u2028\ud800\U000e0001", "漢字 \n\t", 1, None]}
    text = json_text(value)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "漢字" in text
    assert json.loads(text) == value
    assert "\n" not in json_text(value, indent=None)
