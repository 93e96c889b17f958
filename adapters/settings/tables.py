"""How one table of settings is read into its struct: each field by the rule in its annotation.

A field is written `key: Annotated[type, Rule(…)] = default`. Unknown keys are refused by name.
It knows no particular section.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from locum.core.errors import ConfigError

from .rules import Rule, found, from_variable, plain, refuse

__all__ = ["Table", "Tagged", "build", "read_fields"]

S = TypeVar("S", bound=msgspec.Struct)


@cache
def _rules(struct: type[msgspec.Struct]) -> dict[str, tuple[str, Rule]]:
    """Key as configured → (attribute, rule). A key that is a Python word has `_` behind it."""
    hints = get_type_hints(struct, include_extras=True)
    rules: dict[str, tuple[str, Rule]] = {}
    for name in struct.__struct_fields__:
        rules[name.removesuffix("_")] = (name, hints[name].__metadata__[0])
    return rules


def read_fields(struct: type[msgspec.Struct], table: Any, key: str) -> dict[str, Any]:
    """The values of the keys that are there, typed, by attribute name; no defaults are added.

    Raises ConfigError for what is no table, an unknown key or a value that its rule refuses.
    """
    table = plain(table, key)
    if not isinstance(table, Mapping):
        raise refuse(
            table, key, f"one table: [{key}]" if _has_a_head(key) else "a table", secret=True
        )
    rules = _rules(struct)
    values: dict[str, Any] = {}
    for name, value in table.items():
        path = f"{key}.{name}" if key else str(name)
        if name not in rules:
            raise _unknown(path, str(name), value, list(rules))
        attribute, rule = rules[name]
        values[attribute] = rule.read(value, path)
    return values


def _has_a_head(key: str) -> bool:
    """Whether a table at this path can stand under a head of its own."""
    return bool(key) and "[" not in key


def _unknown(path: str, name: str, value: Any, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (is {near[0]} meant?)" if near else ""
    said = f"an unknown key{from_variable(value)}{hint}"
    return ConfigError(path, found=said, accepted=", ".join(known))


def build(struct: type[S], values: Mapping[str, Any], key: str) -> S:
    """The struct from read values. Raises ConfigError for a key that must be there and is not."""
    for field in msgspec.structs.fields(struct):
        if field.required and field.name not in values:
            path = f"{key}.{field.name}" if key else field.name
            accepted = f"a value; {path} has no default"
            raise ConfigError(path, found="nothing", accepted=accepted)
    return struct(**values)


@dataclass(frozen=True)
class Table:
    """A table that is read into `struct`."""

    struct: type[msgspec.Struct]

    def read(self, value: Any, key: str) -> msgspec.Struct:
        """The struct."""
        return build(self.struct, read_fields(self.struct, value, key), key)


@dataclass(frozen=True)
class Tagged:
    """A table whose `type` says which struct it is read into; or a list of such tables."""

    structs: Mapping[str, type[msgspec.Struct]]

    def read(self, value: Any, key: str) -> tuple[msgspec.Struct, ...]:
        """The structs; one table is a list of one. Nothing in it is ever shown in an error."""
        value = plain(value, key)
        if isinstance(value, list):
            return tuple(self._one(each, f"{key}[{i}]") for i, each in enumerate(value))
        return (self._one(value, key),)

    def _one(self, value: Any, key: str) -> msgspec.Struct:
        value = plain(value, key)
        accepted = "a table whose type is one of " + ", ".join(f'"{t}"' for t in self.structs)
        if not isinstance(value, Mapping):
            raise refuse(value, key, accepted, secret=True)
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in self.structs:
            said = "nothing" if kind is None else found(kind)
            raise ConfigError(f"{key}.type", found=said, accepted=accepted)
        rest = {name: each for name, each in value.items() if name != "type"}
        struct = self.structs[kind]
        return build(struct, read_fields(struct, rest, key), key)
