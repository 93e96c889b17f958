"""Times as locum stores them: RFC 3339, UTC, microseconds, so that they compare as strings.

No clock here: the time always comes in from outside.
"""

from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

__all__ = ["Order", "add_seconds", "order_of", "parse_time", "seconds_between", "to_text"]

_SECONDS = len("2026-01-31T12:00:00")

Order: TypeAlias = Literal["older", "level", "newer"]
"""How one time stands to another."""


def to_text(moment: datetime) -> str:
    """`2026-01-31T12:00:00.000000Z` for an aware datetime; always 27 characters."""
    # Not strftime: its %Y does not pad, and the zero time of some agents is in the year 1.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The aware datetime of an RFC 3339 text. Raises ValueError for any other text."""
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone; write it like 2026-01-31T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is out of range in UTC") from error


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from `earlier` to `later`; negative when they are the other way round."""
    return (parse_time(later) - parse_time(earlier)).total_seconds()


def add_seconds(text: str, seconds: float) -> str:
    """The time `seconds` after `text`. Raises ValueError when that is past the year 9999."""
    try:
        return to_text(parse_time(text) + timedelta(seconds=seconds))
    except OverflowError as error:
        raise ValueError(f"{seconds} seconds after {text} is out of range") from error


def order_of(heard: str, known: str) -> Order:
    """How `heard` stands to `known`, at the coarser precision of the two (D14).

    One and the same time may be kept in microseconds here and in milliseconds or whole seconds
    there: a time that the other one is cut to is level with it.
    """
    digits = min(_precision(heard), _precision(known))
    one, other = heard[:digits], known[:digits]
    if one == other:
        return "level"
    return "older" if one < other else "newer"


def _precision(text: str) -> int:
    """How much of a stored time says something: to the second, the millisecond, or all of it."""
    fraction = text[_SECONDS + 1 : -1]
    if fraction == "000000":
        return _SECONDS
    return _SECONDS + 4 if fraction.endswith("000") else len(text)
