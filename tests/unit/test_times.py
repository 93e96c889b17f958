"""Times as they are stored: one form, which compares as text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locum.core.times import add_seconds, parse_time, seconds_between, to_text

moments = st.datetimes(timezones=st.just(UTC))


@given(moments, moments)
def test_texts_compare_as_times(one: datetime, other: datetime) -> None:
    """D14, H1: stored times compare as texts as the times do, in every year; and come back."""
    assert (to_text(one) < to_text(other)) == (one < other)
    assert parse_time(to_text(one)) == one
    assert len(to_text(one)) == 27


def test_any_zone_becomes_utc() -> None:
    """H1: a time is stored in UTC, with microseconds."""
    moment = datetime(2026, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    assert to_text(moment) == "2026-01-31T12:00:00.000000Z"
    assert to_text(parse_time("2026-01-31T14:00:00.5+02:00")) == "2026-01-31T12:00:00.500000Z"


def test_lower_case_is_rfc_3339_too() -> None:
    """H1: RFC 3339 section 5.6 allows `t` and `z`."""
    assert parse_time("2026-01-31t12:00:00z") == parse_time("2026-01-31T12:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
    ],
)
def test_what_is_no_time(text: str) -> None:
    """H1: what is no time, names no zone or is out of range is a ValueError, nothing else."""
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


def test_seconds() -> None:
    """C11: seconds between two times are negative the other way round; adding is the inverse."""
    start, end = "2026-01-31T12:00:00.000000Z", "2026-02-01T12:00:01.500000Z"
    assert seconds_between(start, end) == 86_401.5
    assert seconds_between(end, start) == -86_401.5
    assert add_seconds(start, 86_401.5) == end


@pytest.mark.parametrize("seconds", [1e12, 1e30, float("inf"), float("nan")])
def test_adding_too_much(seconds: float) -> None:
    """C11: a time past the year 9999 is a ValueError."""
    with pytest.raises(ValueError, match=r".+"):
        add_seconds("2026-01-31T12:00:00.000000Z", seconds)
