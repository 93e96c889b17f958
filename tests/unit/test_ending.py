"""Ends, whoever made them: what was heard until then is kept, and the agent's words are its own."""

from typing import Any

import msgspec
import pytest

from locum.core.chain import decode, encode
from locum.core.commands import HearLimits
from locum.core.ending import CLOSING_KEPT, REASON_KEPT
from locum.core.events import Resolved
from locum.core.lifecycle import A2AState
from locum.core.report import Part, RemoteReport
from tests.lives import Life, artifact, data, remote, status, task

ROWS = (artifact("a", "rows 1-500"),)


def ended(life: Life, how: str, **fields: Any) -> Resolved:
    """The end that this side makes of a life."""
    end = {"cancel": life.cancel, "expire": life.expire, "fail": life.fail}[how]
    (resolved,) = end(artifacts=ROWS, **fields)
    assert isinstance(resolved, Resolved)
    return resolved


@pytest.mark.parametrize("how", ["cancel", "expire", "fail"])
def test_what_was_heard_is_kept(how: str) -> None:
    """D12, C11, F2, D10: an end that the agent did not tell of keeps what it had brought."""
    life = Life.linked(deadline=remote(60))
    assert ended(life, how).artifacts == ROWS
    assert life.sub_task.artifacts == ROWS


@pytest.mark.parametrize("how", ["cancel", "expire", "fail"])
def test_what_is_over_the_limit_is_left_out(how: str) -> None:
    """J3, D12: what is too large is not kept, and both a reader and a program can tell."""
    resolved = ended(Life.linked(deadline=remote(60)), how, result_bytes=5)
    assert resolved.artifacts == ()
    assert "over the limit of 5 bytes" in resolved.account
    assert resolved.account == resolved.account.strip()
    assert "artifact.over_limit" in resolved.anomalies


def test_what_an_agent_brought_stops_no_cancel() -> None:
    """F2: data that JSON does not hold is the agent's fault, and the cancel is recorded."""
    odd = (artifact("a", data(float("nan"))),)
    (resolved,) = Life.linked().cancel("not needed", artifacts=odd)
    assert isinstance(resolved, Resolved)
    assert resolved.state is A2AState.CANCELED


def expired(report: RemoteReport, *brought: Any, **fields: Any) -> Resolved:
    """The deadline has passed and the agent has told that it stopped."""
    life = Life.linked(deadline=remote(60))
    (resolved,) = life.expire(report=report, artifacts=brought, **fields)
    assert isinstance(resolved, Resolved)
    return resolved


def test_the_agents_words_at_the_deadline() -> None:
    """E7, C11: what the agent says as it is stopped is the reason; what happened is locum's."""
    said = task("CANCELED", "stopped at row 500", remote_at=remote(9), anomalies=("x.y",))
    resolved = expired(said, *ROWS)
    assert (resolved.state, resolved.code) == (A2AState.FAILED, "deadline")
    assert (resolved.text, resolved.artifacts) == ("stopped at row 500", ROWS)
    assert resolved.account.startswith("The deadline ")
    assert (resolved.remote_at, resolved.anomalies) == (remote(9), ("x.y",))


def test_a_reason_in_data_or_in_an_artifact() -> None:
    """E7: the reason may be a data part of the message; what the task has of artifacts had been
    brought before this side wanted the end.
    """
    resolved = expired(task("CANCELED", data({"row": 500})))
    assert resolved.text == '{"row":500}'
    assert resolved.artifacts[0].parts[0].data == {"row": 500}
    without = expired(task("CANCELED"), *ROWS)
    assert (without.text, without.artifacts) == ("", ROWS)


def test_a_context_that_is_told_with_the_end() -> None:
    """C14: a context that is first named by the canceled task can be gone on in."""
    life = Life(deadline=remote(60))
    life.hear(task("WORKING", context_id="", remote_at=remote(1)), "send")
    life.expire(report=task("CANCELED", context_id="c7"))
    assert life.sub_task.context_id == "c7"


def test_what_comes_with_the_end_and_is_over_the_limit() -> None:
    """J3, E7: of a reason that is too large the beginning is kept, and the account says so."""
    words = "no " * REASON_KEPT
    resolved = expired(task("CANCELED", words), *ROWS, result_bytes=100)
    assert (resolved.text, resolved.artifacts) == (words[:REASON_KEPT] + "…", ())
    assert resolved.account.endswith("its beginning was kept.")


def test_what_is_said_to_be_kept_of_a_large_end() -> None:
    """J3: the account says what was kept: the whole reason, its beginning, or nothing."""
    for words, kept in (
        ("no room", "; its reason alone was kept."),
        ("x" * REASON_KEPT, "; its reason alone was kept."),
        ("x" * (REASON_KEPT + 1), "; its beginning was kept."),
        ("", " and was not kept."),
    ):
        report = task("CANCELED", words, Part(raw="AAEC" * 100))
        assert expired(report, result_bytes=100).account.endswith(
            f"the limit of 100 bytes (standin.result_limit){kept}"
        )


def closed(report: RemoteReport, *brought: Any, **fields: Any) -> Resolved:
    """The agent has ended the task itself."""
    (resolved,) = Life.linked().get(report, artifacts=brought, **fields)
    assert isinstance(resolved, Resolved)
    return resolved


def test_the_words_beside_a_result_are_kept() -> None:
    """D12, H1: the result is the artifacts' text, and what the last message says is recorded too."""
    done = task("COMPLETED", "Done, but two chairs could not be counted", remote_at=remote(9))
    resolved = closed(done, artifact("a", "12 chairs"))
    assert resolved.text == "12 chairs"
    assert resolved.status_text == "Done, but two chairs could not be counted"


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_words_that_are_told_already_are_kept_once(state: str) -> None:
    """D12: neither is counted twice: what the text says is not said again."""
    assert closed(task(state, "12 chairs")).status_text == ""
    assert closed(task(state, " 12 chairs\n"), artifact("a", "12 chairs")).status_text == ""
    assert closed(task(state, " "), artifact("a", "12 chairs")).status_text == ""
    assert closed(task(state, data(12)), artifact("a", "12 chairs")).status_text == ""


def test_long_words_beside_a_result_are_cut() -> None:
    """J3: an agent that closes with a book makes no record grow without bound."""
    resolved = closed(task("COMPLETED", "x" * (CLOSING_KEPT + 1)), artifact("a", "12"))
    assert resolved.status_text == "x" * (CLOSING_KEPT - 1) + "…"


def test_the_words_beside_a_result_that_is_too_large() -> None:
    """J3, D12: the result is not kept; what the agent said of it is."""
    limits = HearLimits(result_bytes=5)
    resolved = closed(task("COMPLETED", "see below"), artifact("a", "12 chairs"), limits=limits)
    assert (resolved.state, resolved.text) == (A2AState.FAILED, "")
    assert resolved.status_text == "see below"


def test_an_event_from_before_there_were_such_words() -> None:
    """I5: an older Resolved is read, without any."""
    resolved = closed(status("FAILED", "no"))
    fields = msgspec.to_builtins(resolved)
    del fields["status_text"]
    assert decode(msgspec.json.encode(fields)) == resolved
    assert decode(encode(resolved)) == resolved
