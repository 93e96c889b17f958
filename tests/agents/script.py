"""The line language that tells the lawful agent what to do. Parses text, does nothing.

A script stands anywhere in a message's text, between double brackets; its statements are divided
by semicolons or line breaks:

    [[ work "Looking"; artifact a "Hello, "; append a "world" last; ask "Which?"; complete ]]

A statement is a verb and its arguments: bare words, texts in double quotes (with JSON's escapes),
and JSON objects or lists. The verbs are in README.md beside this file. In texts and in JSON,
`{reply}` is the text of the message being answered, `{text}` the brief without its script,
`{task}` and `{context}` the ids.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DEFAULT", "PARKS", "VERBS", "Script", "ScriptError", "Statement", "Word"]

VERBS = frozenset(
    {
        *("submit", "work", "artifact", "append", "meta"),
        *("ask", "auth", "complete", "fail", "reject", "cancel", "message"),
        *("hang", "wait", "sleep", "raise", "on-cancel"),
    }
)
PARKS = frozenset({"ask", "auth"})
_OPEN, _CLOSE = "[[", "]]"
_DECODER = json.JSONDecoder(strict=False)


class ScriptError(ValueError):
    """The script cannot be read; the message says where."""


class Word(str):
    """A bare word: a name or a keyword, where a plain str is a quoted text."""

    __slots__ = ()


@dataclass(frozen=True)
class Statement:
    """One verb with its arguments: `Word`, str, or a JSON value."""

    verb: str
    args: tuple[Any, ...] = ()

    @property
    def waits_for_message(self) -> bool:
        """True when the agent stops here until the client sends a message."""
        return self.verb in PARKS and not {"until", "for"} & set(self.words)

    @property
    def words(self) -> list[str]:
        """The bare words among the arguments."""
        return [arg for arg in self.args if isinstance(arg, Word)]

    def filled(self, names: Mapping[str, str]) -> "Statement":
        """This statement with `{name}` replaced in its texts and JSON values."""
        return Statement(self.verb, tuple(_filled(arg, names) for arg in self.args))


@dataclass(frozen=True)
class Script:
    """What one task does, from its first statement to its last."""

    statements: tuple[Statement, ...]
    text: str
    """The message's text without the script."""

    @classmethod
    def found_in(cls, text: str) -> "Script":
        """The script in `text`, or the default one. Raises ScriptError."""
        start = text.find(_OPEN)
        if start < 0:
            return cls(DEFAULT, text.strip())
        statements, end = _parse(text, start + len(_OPEN))
        return cls(tuple(statements), (text[:start] + text[end:]).strip())

    def after(self, messages: int) -> tuple[Statement, ...]:
        """The statements that are left when the client has sent `messages` before this one."""
        parks = [i for i, one in enumerate(self.statements) if one.waits_for_message]
        if messages == 0:
            return self.statements
        if messages > len(parks):
            return ()
        return self.statements[parks[messages - 1] + 1 :]

    def on_cancel(self) -> Statement:
        """What a CancelTask does: the last `on-cancel` of the script, or accepting it."""
        wanted = [one for one in self.statements if one.verb == "on-cancel"]
        return wanted[-1] if wanted else Statement("on-cancel", (Word("accept"),))


DEFAULT = (
    Statement("work"),
    Statement("artifact", (Word("echo"), "{text}")),
    Statement("complete"),
)
"""What an unscripted message makes the agent do: work, echo the text, complete."""


def _parse(text: str, at: int) -> tuple[list[Statement], int]:
    statements: list[Statement] = []
    tokens: list[Any] = []
    while True:
        token, at = _token(text, at)
        if token is not None and not any(token is end for end in _ENDS):
            tokens.append(token)
            continue
        if tokens:
            statements.append(_statement(tokens))
            tokens = []
        if token is None:
            raise ScriptError(f"the script {text!r} has no {_CLOSE}")
        if token is _ENDS[1]:
            return statements, at


_ENDS = (Word(";"), Word(_CLOSE))


def _token(text: str, at: int) -> tuple[Any, int]:
    """The token at `at` and where the next one may begin; None at the end of the text."""
    while at < len(text) and text[at] in " \t":
        at += 1
    if at >= len(text):
        return None, at
    if text.startswith(_CLOSE, at):
        return _ENDS[1], at + len(_CLOSE)
    if text[at] in ";\r\n":
        return _ENDS[0], at + 1
    if text[at] in '"{[':
        try:
            return _DECODER.raw_decode(text, at)
        except ValueError as wrong:
            raise ScriptError(f"at {text[at : at + 20]!r}: {wrong}") from wrong
    end = at
    while end < len(text) and text[end] not in " \t;\r\n" and not text.startswith(_CLOSE, end):
        end += 1
    return Word(text[at:end]), end


def _statement(tokens: list[Any]) -> Statement:
    verb, *args = tokens
    if not isinstance(verb, Word) or verb not in VERBS:
        raise ScriptError(f"{verb!r} is no verb; there are {', '.join(sorted(VERBS))}")
    return Statement(str(verb), tuple(args))


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case Word():
            return value
        case str():
            for name, text in names.items():
                value = value.replace(f"{{{name}}}", text)
            return value
        case list():
            return [_filled(one, names) for one in value]
        case dict():
            return {key: _filled(one, names) for key, one in value.items()}
        case _:
            return value
