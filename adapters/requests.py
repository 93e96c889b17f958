"""Checking what a caller hands in, before anything is recorded. Each refusal names its field.

What passes here can be stored, sent and shown: text that is valid Unicode, numbers that A2A's
JSON carries, parts with exactly one content.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from locum.core.errors import RequestError
from locum.core.report import Part

from .a2a.envelope import to_wire_part
from .values import Mistake, accepted_in, found_in, refusal, refusal_of

__all__ = [
    "checked_each",
    "checked_id",
    "checked_line",
    "checked_parts",
    "checked_question",
    "checked_string",
    "checked_text",
    "checked_timeout",
]

ID_LIMIT = 200
LINE_LIMIT = 200
TEXT_LIMIT = 1_000_000
PARTS_LIMIT = 1_000
PART_LIMIT = 2**26
TIMEOUT_LIMIT = 366 * 86_400.0
"""The longest timeout of a sub-task, in seconds."""
VERSION_LIMIT = 2**63 - 1


def checked_string(field: str, value: object) -> str:
    """`value`, when it is a string, whatever is in it: there is none of that name, perhaps.

    Raises RequestError.
    """
    if not isinstance(value, str):
        raise refusal(field, found=found_in(value), accepted="a string")
    return value


def checked_text(
    field: str,
    value: object,
    *,
    limit: int = TEXT_LIMIT,
    empty: bool = True,
    wanted: str = "a string with words in it",
) -> str:
    """`value`, when it is a text that can be stored and sent. Raises RequestError.

    `wanted` is what is accepted in the place of one that is empty and may not be.
    """
    text = checked_string(field, value)
    if not empty and not text.strip():
        raise refusal(field, found=found_in(text), accepted=wanted)
    if len(text) > limit:
        found = f"a string of {len(text)} characters"
        raise refusal(field, found=found, accepted=f"at most {limit} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"half of a surrogate pair at position {error.start}"
        raise refusal(field, found=found, accepted="Unicode text") from error
    return text


def checked_each(
    field: str, values: object, check: Callable[[str, object], str]
) -> tuple[str, ...]:
    """What `check` gives of each of several, with its place as its field. Raises RequestError."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise refusal(field, found=found_in(values), accepted="an array of strings")
    return tuple(check(f"{field}[{index}]", value) for index, value in enumerate(values))


def checked_line(field: str, value: object, *, limit: int = LINE_LIMIT) -> str:
    """`value`, when it is one line without control characters. Raises RequestError."""
    text = checked_text(field, value, limit=limit)
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        accepted = "one line, no control characters in it"
        raise refusal(field, found="a control character", accepted=accepted)
    return text


def checked_id(field: str, value: object) -> str:
    """`value`, when it can name something: one line, not empty. Raises RequestError."""
    text = checked_line(field, value, limit=ID_LIMIT)
    if not text.strip():
        accepted = f"an id of 1 to {ID_LIMIT} characters"
        raise refusal(field, found=found_in(text), accepted=accepted)
    return text


def checked_timeout(value: object) -> float | None:
    """Seconds, or None for no deadline. Raises RequestError."""
    if value is None:
        return None
    # Compared as it is: a whole number may be too large for a float.
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value <= TIMEOUT_LIMIT
    ):
        return float(value)
    accepted = f"seconds, a number more than 0 and at most {TIMEOUT_LIMIT:.0f}; or null"
    raise refusal("timeout", found=found_in(value), accepted=accepted)


def checked_question(value: object) -> int | None:
    """The version of a row, or None for any open question. Raises RequestError."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= VERSION_LIMIT:
        return value
    accepted = "the version of the row that was answered, a whole number more than 0; or null"
    raise refusal("question", found=found_in(value), accepted=accepted)


def checked_parts(parts: Sequence[Part | Mapping[str, Any]]) -> tuple[Part, ...]:
    """Parts as given: `Part`s, or mappings with one of text, data, raw (bytes or base64), url.

    Raises RequestError for a part that cannot be sent as it is.
    """
    accepted = f"an array of at most {PARTS_LIMIT} parts"
    if isinstance(parts, str | bytes | Mapping) or not isinstance(parts, Sequence):
        raise refusal("parts", found=found_in(parts), accepted=accepted)
    if len(parts) > PARTS_LIMIT:
        raise refusal("parts", found=found_in(list(parts)), accepted=accepted)
    return tuple(_part(f"parts[{index}]", part) for index, part in enumerate(parts))


def _part(field: str, given: Part | Mapping[str, Any]) -> Part:
    part = given if isinstance(given, Part) else _converted(field, given)
    contents = (part.text, part.data, part.raw, part.url)
    held = sum(content is not UNSET for content in contents)
    if held != 1:
        found = f"{held} of them" if held else "none of them"
        raise refusal(field, found=found, accepted="exactly one of text, data, raw and url")
    for name in ("text", "raw", "url", "media_type", "filename"):
        value = getattr(part, name)
        if isinstance(value, str):
            checked_text(f"{field}.{name}", value, limit=PART_LIMIT)
    try:
        # What cannot be stored, or what A2A cannot carry, is refused now, not when it goes out.
        msgspec.json.encode(part)
        to_wire_part(part)
    except RequestError as error:
        below = (Mistake(**one) for one in error.detail["errors"])
        raise refusal_of([one._replace(path=f"{field}.{one.path}") for one in below]) from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        found = f"what cannot be sent as JSON ({error})"
        raise refusal(field, found=found, accepted="JSON values") from error
    return part


def _converted(field: str, given: object) -> Part:
    if not isinstance(given, Mapping):
        raise refusal(field, found=found_in(given), accepted="an object")
    fields = dict(given)
    if isinstance(fields.get("raw"), bytes | bytearray):
        fields["raw"] = base64.b64encode(fields["raw"]).decode()
    unknown = sorted(str(name) for name in set(fields) - set(Part.__struct_fields__))
    if unknown:
        known = ", ".join(Part.__struct_fields__)
        path = f"{field}.{unknown[0]}"
        raise refusal(path, found="a field that a part does not have", accepted=known)
    for name, value in fields.items():
        try:
            msgspec.convert({name: value}, Part)
        except msgspec.ValidationError as error:
            accepted = accepted_in(str(error)) or "what a part may hold"
            path = f"{field}.{name}"
            raise refusal(path, found=found_in(value), accepted=accepted) from error
    return msgspec.convert(fields, Part)
