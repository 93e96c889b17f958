"""How one setting is read: a rule per kind of value, each refusing with the key's full path.

A rule turns what TOML or the environment says into the typed value, or raises ConfigError with
the key, what was found and what is accepted. It knows no section and no other key.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Protocol

from locum.core.errors import ConfigError

from ..secret import Secret

__all__ = [
    "Duration",
    "EnvText",
    "Flag",
    "ListOf",
    "OneOf",
    "Rule",
    "SecretText",
    "Size",
    "Text",
    "Whole",
    "found",
    "from_variable",
    "plain",
    "refuse",
]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_SHOWN = 80
_TEN_YEARS = 3650 * 86400.0


class EnvText(str):
    """A value from the environment: a text that stands for a value of the rule's own type.

    `name` is the variable's, for messages.
    """

    __slots__ = ("name",)

    name: str

    def __new__(cls, text: str, name: str) -> "EnvText":
        """`text` as found in the variable `name`."""
        made = super().__new__(cls, text)
        made.name = name
        return made


class Rule(Protocol):
    """Reads one value; `key` is its full path."""

    def read(self, value: Any, key: str) -> Any:
        """The typed value. Raises ConfigError."""
        ...


def found(value: Any) -> str:
    """What was found, in words; long texts are cut, so that a message stays one line."""
    match value:
        case bool():
            said = "true" if value else "false"
        case int() | float():
            said = f"the number {value}"
        case str():
            cut = value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"
            said = f"the text {str(cut)!r}"
        case list() | tuple():
            said = f"a list of {len(value)}"
        case _:
            said = _kind(value)
    return said + from_variable(value)


def _kind(value: Any) -> str:
    """What kind of value was found, in TOML's sense; nothing of the value itself."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case datetime():
            return "a date with a time"
        case date():
            return "a date"
        case time():
            return "a time"
        case _:
            return f"what TOML does not know ({type(value).__name__})"


def from_variable(value: Any) -> str:
    """Which variable the value is from, in words, or nothing."""
    return f" in {value.name}" if isinstance(value, EnvText) else ""


def refuse(value: Any, key: str, accepted: str, *, secret: bool = False) -> ConfigError:
    """The error to raise; a secret is not shown, nor is anything that stands in its place."""
    hidden = f"{_kind(value)} that is not shown{from_variable(value)}"
    return ConfigError(key, found=hidden if secret else found(value), accepted=accepted)


def plain(value: Any, key: str) -> Any:
    """A list or table that the environment gives as TOML's inline form; else `value` itself."""
    if not isinstance(value, EnvText) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        raise refuse(value, key, "a TOML inline list or table", secret=True) from None


@dataclass(frozen=True)
class Flag:
    """A boolean."""

    def read(self, value: Any, key: str) -> bool:
        """True or false."""
        if isinstance(value, bool):
            return value
        if isinstance(value, EnvText) and value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
        raise refuse(value, key, "true or false")


@dataclass(frozen=True)
class Whole:
    """A whole number from `least` to `most`."""

    least: int
    most: int

    def read(self, value: Any, key: str) -> int:
        """The number."""
        number = value
        if isinstance(value, EnvText) and re.fullmatch(r"\s*[0-9]{1,18}\s*", value):
            number = int(value)
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        if is_whole and self.least <= number <= self.most:
            return int(number)
        raise refuse(value, key, f"a whole number from {self.least} to {self.most}")


@dataclass(frozen=True)
class Duration:
    """A time span: a text such as `250ms`, `60s`, `5m`, `1h`, `2d`, or a number of seconds."""

    least: float = 0.01
    most: float = _TEN_YEARS

    def read(self, value: Any, key: str) -> float:
        """Seconds."""
        seconds = _amount(value, _SECONDS, "s")
        if seconds is None or not self.least <= seconds <= self.most:
            bounds = f"at least {self.least:g} s"
            if self.most != _TEN_YEARS:
                bounds += f" and at most {self.most:g} s"
            raise refuse(value, key, f'a duration such as "60s", "5m" or "1h", {bounds}')
        return seconds


@dataclass(frozen=True)
class Size:
    """A number of bytes: a text such as `64KiB`, `4MiB`, or a whole number."""

    least: int = 1
    most: int = 1024**4

    def read(self, value: Any, key: str) -> int:
        """Bytes."""
        size = None if isinstance(value, float) else _amount(value, _BYTES, "B")
        if size is None or not self.least <= size <= self.most:
            accepted = f'a size such as "64KiB" or "4MiB", at least {self.least} bytes'
            raise refuse(value, key, accepted)
        return int(size)


def _amount(value: Any, units: Mapping[str, float], unit: str) -> float | None:
    """A number with a unit; a bare number is in `unit`, as a text only in the environment."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if not isinstance(value, str) or not (parsed := _AMOUNT.fullmatch(value)):
        return None
    if not parsed[2] and not isinstance(value, EnvText):
        return None
    factor = units.get(parsed[2] or unit)
    return None if factor is None else float(parsed[1]) * factor


@dataclass(frozen=True)
class Text:
    """A text; with a pattern, one that matches it as a whole. `secret` keeps it out of errors."""

    accepted: str = "a text"
    pattern: str = ""
    most: int = 4096
    empty: bool = False
    secret: bool = False

    def read(self, value: Any, key: str) -> str:
        """The text; only an `empty` one that may be may be empty."""
        if isinstance(value, str) and len(value) <= self.most and "\0" not in value:
            text = str(value)
            if not text.strip():
                if self.empty:
                    return ""
            elif not self.pattern or re.fullmatch(self.pattern, text):
                return text
        raise refuse(value, key, self.accepted, secret=self.secret)


@dataclass(frozen=True)
class SecretText:
    """A secret, or nothing when the text is empty or blank.

    One with a blank at an end is refused: HTTP drops it from a header, and no request would match.
    """

    def read(self, value: Any, key: str) -> Secret | None:
        """The secret or None."""
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise refuse(value, key, "a text of printable ASCII", secret=True)
        if not value.strip():
            return None
        if value != value.strip():
            raise refuse(value, key, "a text without blanks at its ends", secret=True)
        return Secret(str(value))


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, value: Any, key: str) -> str:
        """The word."""
        if isinstance(value, str) and value in self.words:
            return str(value)
        raise refuse(value, key, "one of " + ", ".join(f'"{word}"' for word in self.words))


@dataclass(frozen=True)
class ListOf:
    """A list whose entries follow one rule; the environment may give it with commas."""

    rule: Rule
    most: int = 1000

    def read(self, value: Any, key: str) -> tuple[Any, ...]:
        """The entries."""
        value = plain(value, key)
        if isinstance(value, EnvText):
            parts = (part.strip() for part in value.split(","))
            value = [EnvText(part, value.name) for part in parts if part]
        if not isinstance(value, list | tuple) or len(value) > self.most:
            raise refuse(value, key, f"a list of at most {self.most}")
        return tuple(self.rule.read(each, f"{key}[{i}]") for i, each in enumerate(value))
