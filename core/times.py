"""Times as locum stores them: RFC 3339, UTC, microseconds, so that they compare as strings.

No clock here: the time always comes in from outside.
"""

from datetime import UTC, datetime, timedelta

__all__ = ["add_seconds", "parse_time", "seconds_between", "to_text"]


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
