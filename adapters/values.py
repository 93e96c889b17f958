"""Values that were handed in, as a refusal speaks of them: in JSON's words, and in one shape (J2).

Every refusal of a value says where it is, what was found there and what is accepted; programs find
the same in `detail.errors`. It judges nothing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from locum.core.errors import RequestError

__all__ = ["Mistake", "accepted_in", "found_in", "refusal", "refusal_of"]

SHOWN = 60
"""Characters of a string that are shown; of a longer one only the length is told."""

_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_COUNTED = {"str": "character", "array": "entry"}
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`(?: (?P<length>of length )?(?P<sign>[<>]=?) (?P<bound>[\d.e+]+))?"
)
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


class Mistake(NamedTuple):
    """One value that cannot be used.

    `path` is its place as the caller wrote it: `parts[0].raw`, a parameter's or a header's name,
    or nothing for the whole of a body.
    """

    path: str
    found: str
    accepted: str


def refusal(path: str, *, found: str, accepted: str) -> RequestError:
    """The error to raise for one value."""
    return refusal_of([Mistake(path, found, accepted)])


def refusal_of(mistakes: Sequence[Mistake]) -> RequestError:
    """The error to raise for several; `detail.errors` has `path`, `found`, `accepted` of each."""
    said = (f"{m.path or 'the body'}: found {m.found}; accepted: {m.accepted}." for m in mistakes)
    return RequestError(" ".join(said), detail={"errors": [one._asdict() for one in mistakes]})


def found_in(value: object) -> str:
    """What a value is, in JSON's words; a short string as it is."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= 10**SHOWN:
            return "a very large number"
        case int() | float():
            return f"the number {value}"
        case str():
            return _string(value)
        case list() | tuple():
            return _counted(len(value), "an array of", "entry") if value else "an empty array"
        case Mapping():
            return "an object"
        case _:
            return f"what is no JSON value ({type(value).__name__})"


def _string(text: str) -> str:
    if not text:
        return "an empty string"
    if len(text) > SHOWN:
        return _counted(len(text), "a string of", "character")
    if not text.strip():
        return "a string of white space"
    quoted = json.dumps(text, ensure_ascii=False)
    # Half of a surrogate pair could not be told in any encoding.
    return f"the string {quoted.encode(errors='backslashreplace').decode()}"


def accepted_in(said: str) -> str | None:
    """What a message of msgspec's ("Expected `str` of length >= 1") says is accepted; None: nothing."""
    expected = _EXPECTED.match(said)
    if expected is None:
        return None
    kinds = expected["kinds"].split(" | ")
    words = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
    if expected["bound"] is None:
        return words
    bound = float(expected["bound"])
    if expected["length"]:
        sign, counted = _BOUNDS[expected["sign"]], _COUNTED.get(kinds[0], "entry")
        return _counted(int(bound), f"{words} of {sign}", counted)
    return f"{words}, {_BOUNDS[expected['sign']]} {bound:.15g}"


def _counted(count: int, before: str, what: str) -> str:
    many = {"entry": "entries"}.get(what, f"{what}s")
    return f"{before} {count} {what if count == 1 else many}"
