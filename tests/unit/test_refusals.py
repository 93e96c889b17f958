"""Counting refused pushes by source, by a clock that the test sets (D5)."""

import logging

import pytest

from locum.adapters.web.refusals import Refusals, source_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_past_the_limit_a_source_waits() -> None:
    """D5: a source is told to wait once its refusals of the last minute are at the limit."""
    clock = Clock()
    refusals = Refusals(3, clock)
    for _ in range(3):
        assert refusals.wait("a") == 0
        refusals.add("a", "refused")
        clock.now += 10
    assert refusals.wait("a") == 30
    assert refusals.wait("b") == 0
    refusals.add_limited()
    assert refusals.by_reason == {"refused": 3, "limited": 1}
    clock.now += 30
    assert refusals.wait("a") == 0


def test_the_minute_slides() -> None:
    """D5: it is any minute that counts, not the clock's; a 429 does not lengthen it."""
    clock = Clock()
    refusals = Refusals(2, clock)
    refusals.add("a", "refused")
    clock.now += 59
    refusals.add("a", "refused")
    assert refusals.wait("a") == 1
    refusals.add_limited()
    clock.now += 1
    assert refusals.wait("a") == 0
    refusals.add("a", "refused")
    assert refusals.wait("a") == 59


def test_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """D5: one WARNING says that a source is answered 429, not one for each push."""
    caplog.set_level(logging.WARNING)
    clock = Clock()
    refusals = Refusals(2, clock)
    for _ in range(2):
        refusals.add("a", "refused")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "answering 429" in caplog.text


def test_sources_are_forgotten() -> None:
    """J3: however many sources there are, the table does not grow past its bound."""
    refusals = Refusals(1, Clock())
    for number in range(2000):
        refusals.add(f"s{number}", "refused")
    assert refusals.wait("s0") == 0
    assert refusals.wait("s1999") > 0
    assert len(refusals._by_source) == 1024


@pytest.mark.parametrize(
    "client,source",
    [
        (("192.0.2.1", 1), "192.0.2.1"),
        (("192.0.2.1", 2), "192.0.2.1"),
        (("::ffff:192.0.2.1", 2), "192.0.2.1"),
        (("2001:db8:0:1:2:3:4:5", 1), "2001:db8:0:1::/64"),
        (("2001:db8:0:1:ffff::9", 1), "2001:db8:0:1::/64"),
        (("proxy", 1), "proxy"),
        (None, "local"),
    ],
)
def test_who_is_one_source(client: tuple[str, int] | None, source: str) -> None:
    """D5: a source is an address, of IPv6 the /64 that one host can fill."""
    assert source_of(client) == source
