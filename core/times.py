"""Times as locum stores them: RFC 3339, UTC, microseconds, so that they compare as strings.

No clock here: the time always comes in from outside.
"""

from datetime import UTC, datetime, timedelta

__all__ = ["add_seconds", "parse_time", "seconds_between", "to_text"]


def to_text(moment: datetime) -> str:
    """`2026-01-31T12:00:00.000000Z` for an aware datetime."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """The aware datetime of an RFC 3339 text. Raises ValueError for any other text."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone; write it like 2026-01-31T12:00:00Z")
    return moment.astimezone(UTC)


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from `earlier` to `later`; negative when they are the other way round."""
    return (parse_time(later) - parse_time(earlier)).total_seconds()


def add_seconds(text: str, seconds: float) -> str:
    """The time `seconds` after `text`."""
    return to_text(parse_time(text) + timedelta(seconds=seconds))
