"""How long GetTask has to stick to what it says before it is believed (D7, D8)."""

from locum.adapters.standin.doubts import Doubts
from locum.core.report import RemoteReport
from tests.lives import Life, remote, task

from .verdicts import verdict

SHORT, LONG = 1.0, 60.0


def settled(doubts: Doubts, life: Life, report: RemoteReport, now: float) -> bool:
    """Whether it is believed by now."""
    found = life.artifacts.whole
    return doubts.settle(life.sub_task, report, found, verdict(life, report, "get"), now)


def test_an_older_state_has_to_stay_for_long() -> None:
    """D8, D14: an older state is believed when GetTask sticks to it; another begins anew."""
    life = Life.parked()
    doubts = Doubts(short=SHORT, long=LONG)
    asks = task("AUTH_REQUIRED", "Log in", remote_at=remote(1))
    works = task("WORKING", "busy", remote_at=remote(1))
    assert doubts.due_in(0.0) is None
    assert not settled(doubts, life, asks, 10.0)
    assert doubts.due_in(10.0) == LONG
    assert not settled(doubts, life, asks, 69.0)
    assert settled(doubts, life, asks, 70.0)
    assert doubts.due_in(99.0) == 0.0
    assert not settled(doubts, life, works, 70.0)
    assert not settled(doubts, life, task("WORKING", "busier", remote_at=remote(1)), 129.0)
    assert settled(doubts, life, works, 130.0)


def test_what_ends_a_doubt() -> None:
    """D8: GetTask that says what is known, or nothing that could ever count, ends it."""
    life = Life.parked()
    doubts = Doubts(short=SHORT, long=LONG)
    works = task("WORKING", remote_at=remote(1))
    for ends in (
        task("INPUT_REQUIRED", "Which hall?", remote_at=remote(2)),
        task("SUBMITTED", remote_at=remote(1)),
        task("INPUT_REQUIRED", "Which hall?", remote_at=remote(1)),
    ):
        assert not settled(doubts, life, works, 0.0)
        assert not settled(doubts, life, ends, 100.0)
        assert doubts.due_in(100.0) is None
    assert not settled(doubts, life, works, 0.0)
    doubts.clear()
    assert not settled(doubts, life, works, 100.0)


def test_a_doubt_takes_an_interval() -> None:
    """D7: what may be the answered question takes an interval; at its very time, much longer."""
    life = Life.replied()
    for at, wait in ((None, SHORT), (remote(9), SHORT), (remote(2), LONG), (remote(2.5), LONG)):
        doubts = Doubts(short=SHORT, long=LONG)
        report = task("INPUT_REQUIRED", "Which hall?", remote_at=at)
        assert not settled(doubts, life, report, 0.0)
        assert doubts.due_in(0.0) == wait
        assert settled(doubts, life, report, wait)
