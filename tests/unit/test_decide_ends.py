"""Deciding about ends: the agent's own, too large ones, final ones, and those from this side."""

import pytest

from locum.core.commands import HearLimits
from locum.core.ending import REASON_KEPT
from locum.core.errors import SubTaskResolvedError
from locum.core.events import PushRevoked, Resolved
from locum.core.lifecycle import A2AState
from tests.lives import FOLLOW, Life, artifact, chunk, kinds, push, remote, spawn, status, task

# --- ends


def test_an_end_is_recorded_whole() -> None:
    """H1, D12: state, text, artifacts, time and anomalies."""
    life = Life.linked()
    life.hear(chunk("a", "12 "))
    life.hear(chunk("a", "chairs", append=True, last=True))
    (resolved,) = life.get(task("COMPLETED", "done", remote_at=remote(9), anomalies=("x.y",)))
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == ("COMPLETED", "12 chairs")
    assert resolved.artifacts == (artifact("a", "12 chairs"),)
    assert (resolved.remote_at, resolved.anomalies) == (remote(9), ("x.y",))
    assert life.sub_task.remote_at == remote(9)
    assert (resolved.code, resolved.delivery, resolved.confirmed) == (None, None, True)


def test_an_end_without_a_word_takes_the_last_one() -> None:
    """D12, case Q7: the last text while it worked, also one that came too soon to be recorded; no
    question.
    """
    for waiting, expected in (("", "11"), ("12", "12")):
        life = Life.linked()
        life.hear(status("WORKING", "11", remote_at=remote(2)))
        (resolved,) = life.get(task("COMPLETED", remote_at=remote(3)), waiting_text=waiting)
        assert isinstance(resolved, Resolved)
        assert (resolved.text, resolved.artifacts) == (expected, ())
    life = Life.parked()
    life.get(task("COMPLETED", remote_at=remote(3)), waiting_text="12")
    assert life.sub_task.text == ""


@pytest.mark.parametrize("size, is_kept", [(100, True), (101, False)])
@pytest.mark.parametrize("where", ["artifact", "message"])
def test_a_result_over_the_limit_is_no_success(*, size: int, is_kept: bool, where: str) -> None:
    """J3: a result past `result_limit` is FAILED with a code and kept out; one at it is kept."""
    life = Life.linked()
    words = "x" * (size - (1 if where == "artifact" else 0))
    if where == "artifact":
        life.hear(chunk("a", words))
        report = task("COMPLETED")
    else:
        report = task("COMPLETED", words)
    (resolved,) = life.get(report, limits=HearLimits(result_bytes=100))
    assert isinstance(resolved, Resolved)
    if is_kept:
        assert (resolved.state, resolved.text, resolved.code) == ("COMPLETED", words, None)
        return
    assert (resolved.state, resolved.code) == ("FAILED", "result.too_large")
    assert "100 bytes" in resolved.account
    assert (resolved.text, resolved.artifacts) == ("", ())


@pytest.mark.parametrize("state", ["FAILED", "CANCELED", "REJECTED"])
def test_a_failure_over_the_limit_stays_what_it_is(state: str) -> None:
    """J3, E7: the state and the beginning of the reason are kept."""
    for size in (REASON_KEPT, REASON_KEPT + 1):
        life = Life.linked()
        (resolved,) = life.get(task(state, "x" * size), limits=HearLimits(result_bytes=100))
        assert isinstance(resolved, Resolved)
        assert (resolved.state, resolved.code) == (state, "result.too_large")
        assert resolved.text == "x" * REASON_KEPT + ("…" if size > REASON_KEPT else "")
        assert "100 bytes" in resolved.account


def test_the_end_is_final() -> None:
    """F3: after Resolved no command records anything but PushRevoked; a reply is refused."""
    life = Life.parked(watch=push())
    life.get(task("COMPLETED", "12", remote_at=remote(9)))
    before = life.events
    with pytest.raises(SubTaskResolvedError):
        life.reply()
    for state in A2AState:
        assert life.get(task(state, "late", remote_at=remote(99)), moved=True) == ()
    assert life.refuse_reply() == ()
    assert life.rewatch(FOLLOW) == ()
    assert life.cancel() == ()
    assert life.expire() == ()
    assert life.fail() == ()
    assert life.do(spawn()) == ()
    assert life.events == before
    assert kinds(life.revoke()) == [PushRevoked]
    assert life.revoke() == ()


# --- ends from this side


def test_cancel() -> None:
    """F2: CANCELED with the reason; unconfirmed is said, and is an anomaly."""
    life = Life.parked()
    (resolved,) = life.cancel("not needed")
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.reason, resolved.text) == ("CANCELED", "not needed", "")
    assert resolved.confirmed
    assert (resolved.actor, resolved.anomalies) == ("planner", ())
    (resolved,) = Life().cancel(confirmed=False)
    assert isinstance(resolved, Resolved)
    assert (resolved.confirmed, resolved.anomalies) == (False, ("cancel.unconfirmed",))


@pytest.mark.parametrize("state", ["CANCELED", "COMPLETED", "FAILED"])
def test_what_the_agent_makes_of_a_cancel(state: str) -> None:
    """F2: how the agent says it ended, in its own words, beside why this side wanted the end."""
    life = Life.linked()
    (resolved,) = life.hear(task(state, "12 so far"), "cancel", reason="not needed")
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == (state, "12 so far")
    assert (resolved.reason, resolved.confirmed) == ("not needed", True)


def test_a_cancel_beats_a_reply() -> None:
    """F2: a reply that was queued beside a cancel is lost with it."""
    life = Life.replied()
    life.cancel()
    assert life.sub_task.reply is None
    assert life.refuse_reply() == ()


def test_expire() -> None:
    """C11: the deadline passed: FAILED `deadline`; without a deadline nothing expires."""
    life = Life.linked(deadline=remote(60))
    (resolved,) = life.expire(confirmed=False)
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.code, resolved.cause) == ("FAILED", "deadline", "deadline")
    assert (resolved.confirmed, resolved.anomalies) == (False, ("cancel.unconfirmed",))
    assert remote(60) in resolved.account
    assert resolved.text == ""
    (resolved,) = Life.linked(deadline=remote(60)).expire()
    assert resolved.anomalies == ()
    assert Life.linked().expire() == ()


def test_fail() -> None:
    """C7, D10: FAILED with the code and what is known of the brief's delivery."""
    fields = {"delivery": "refused", "account": "It was refused.", "anomalies": ("x.y",)}
    (resolved,) = Life().fail("remote.refused", "no", **fields)
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.code, resolved.text) == ("FAILED", "remote.refused", "no")
    assert resolved.account == "It was refused."
    assert (resolved.delivery, resolved.anomalies) == ("refused", ("x.y",))
    (resolved,) = Life.parked().fail(state=A2AState.REJECTED)
    assert isinstance(resolved, Resolved)
    assert resolved.state is A2AState.REJECTED
