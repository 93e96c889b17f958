"""Checking what a caller hands in, before anything is recorded. Each refusal names its field.

What passes here can be stored, sent and shown: text that is valid Unicode, numbers that A2A's
JSON carries, parts with exactly one content.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from locum.core.errors import RequestError
from locum.core.report import Part

from .a2a.envelope import to_wire_part

__all__ = [
    "checked_id",
    "checked_line",
    "checked_parts",
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


def checked_text(field: str, value: object, *, limit: int = TEXT_LIMIT, empty: bool = True) -> str:
    """`value`, when it is a text that can be stored and sent. Raises RequestError."""
    if not isinstance(value, str):
        raise RequestError(f"{field}: found {type(value).__name__}; give a text")
    if not empty and not value.strip():
        raise RequestError(f"{field}: found no text; say what is to be done")
    if len(value) > limit:
        raise RequestError(f"{field}: found {len(value)} characters; at most {limit} are accepted")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"{field}: the character at position {error.start} is half of a surrogate pair and is"
            " no Unicode text; mend or remove it"
        ) from error
    return value


def checked_line(field: str, value: object, *, limit: int = LINE_LIMIT) -> str:
    """`value`, when it is one line without control characters. Raises RequestError."""
    text = checked_text(field, value, limit=limit)
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise RequestError(f"{field}: control characters are not accepted; give one plain line")
    return text


def checked_id(field: str, value: object) -> str:
    """`value`, when it can name something: one line, not empty. Raises RequestError."""
    text = checked_line(field, value, limit=ID_LIMIT)
    if not text.strip():
        raise RequestError(f"{field}: found nothing; give an id of 1 to {ID_LIMIT} characters")
    return text


def checked_timeout(value: object) -> float | None:
    """Seconds, or None for no deadline. Raises RequestError."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) <= TIMEOUT_LIMIT:  # type: ignore[arg-type]  # is a number
        raise RequestError(
            f"timeout: found {value!r}; give seconds, more than 0 and at most {TIMEOUT_LIMIT:.0f}"
        )
    return float(value)  # type: ignore[arg-type]  # is a number


def checked_parts(parts: Sequence[Part | Mapping[str, Any]]) -> tuple[Part, ...]:
    """Parts as given: `Part`s, or mappings with one of text, data, raw (bytes or base64), url.

    Raises RequestError for a part that cannot be sent as it is.
    """
    if isinstance(parts, str | bytes | Mapping) or not isinstance(parts, Sequence):
        raise RequestError(f"parts: found {type(parts).__name__}; give a list of parts")
    if len(parts) > PARTS_LIMIT:
        raise RequestError(f"parts: found {len(parts)}; at most {PARTS_LIMIT} are accepted")
    return tuple(_part(f"parts[{index}]", part) for index, part in enumerate(parts))


def _part(field: str, given: Part | Mapping[str, Any]) -> Part:
    part = given if isinstance(given, Part) else _converted(field, given)
    contents = (part.text, part.data, part.raw, part.url)
    if sum(content is not UNSET for content in contents) != 1:
        raise RequestError(f"{field}: give exactly one of text, data, raw and url")
    for name in ("text", "raw", "url", "media_type", "filename"):
        value = getattr(part, name)
        if isinstance(value, str):
            checked_text(f"{field}.{name}", value, limit=PART_LIMIT)
    try:
        # What cannot be stored, or what A2A cannot carry, is refused now, not when it goes out.
        msgspec.json.encode(part)
        to_wire_part(part)
    except RequestError as error:
        raise RequestError(f"{field}: {error.message}") from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise RequestError(f"{field}: it cannot be sent as JSON ({error})") from error
    return part


def _converted(field: str, given: object) -> Part:
    if not isinstance(given, Mapping):
        raise RequestError(f"{field}: found {type(given).__name__}; give a mapping")
    fields = dict(given)
    if isinstance(fields.get("raw"), bytes | bytearray):
        fields["raw"] = base64.b64encode(fields["raw"]).decode()
    unknown = set(fields) - set(Part.__struct_fields__)
    if unknown:
        raise RequestError(
            f"{field}: unknown {', '.join(sorted(map(repr, unknown)))}; a part has one of text,"
            " data, raw and url, and may have media_type, filename and metadata"
        )
    try:
        return msgspec.convert(fields, Part)
    except msgspec.ValidationError as error:
        raise RequestError(f"{field}: {error}") from error
