"""Deciding: from a command to the events that record it, to nothing, or to a refusal."""

import itertools
from typing import Any

import msgspec
import pytest

from locum.core.chain import GENESIS, decode
from locum.core.commands import Cancel, Expire, Fail, HearLimits, RefuseReply, RevokePush, Rewatch
from locum.core.decide import REASON_KEPT, decide
from locum.core.errors import (
    NotParkedError,
    RequestError,
    StaleQuestionError,
    SubTaskNotFoundError,
    SubTaskResolvedError,
)
from locum.core.events import Created, Event, Follows, Linked, Parked, PushRevoked, Resolved, Woken
from locum.core.hearing import ANSWERED
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from locum.core.subtask import FLIPS_KEPT
from locum.core.times import seconds_between
from tests.lives import (
    FOLLOW,
    OFF,
    START,
    Life,
    answer,
    artifact,
    chunk,
    data,
    message,
    push,
    remote,
    spawn,
    status,
    task,
    text,
)


def kinds(events: tuple[Event, ...]) -> list[type[Event]]:
    """The classes of the events."""
    return [type(event) for event in events]


# --- spawn


def test_created_holds_the_whole_brief() -> None:
    """C2, H1: Created has the brief, the message id it will send and the card's digest."""
    command = spawn(
        parts=(data({"n": 1}),),
        envelope="full",
        model="big",
        reasoning_effort="high",
        parent_tasks=("t0",),
        follows=Follows(sub_task_id="s0", remote_task_id="t0", context_id="c0"),
        deadline=remote(60),
        idempotency_key="i1",
    )
    sub_task, events = decide(None, command)
    (created,) = events
    assert isinstance(created, Created)
    assert (created.version, created.cause, created.previous_hash) == (1, "parent", GENESIS)
    for name in command.__struct_fields__:
        assert getattr(created, name) == getattr(command, name)
        if name not in ("sub_task_id", "at", "actor", "cause"):
            assert getattr(sub_task, name) == getattr(command, name)
    assert sub_task is not None
    assert (sub_task.id, sub_task.created_at, sub_task.state) == ("s1", START, "SUBMITTED")


def test_the_same_id_again_is_no_news() -> None:
    """C10: a sub-task that is there already (idempotency key) is not recorded again."""
    life = Life(idempotency_key="i1")
    assert life.do(spawn(idempotency_key="i1", goal="another")) == ()
    assert life.sub_task.goal == "Count the red chairs"


@pytest.mark.parametrize(
    "command",
    [
        answer(),
        Cancel(sub_task_id="s1", at=START, actor="a"),
        Expire(sub_task_id="s1", at=START, actor="a"),
        Rewatch(sub_task_id="s1", at=START, actor="a", cause="recovery", watch=FOLLOW),
    ],
)
def test_commands_about_nothing(command: Any) -> None:
    """C12: a sub-task that was never created cannot be told anything."""
    with pytest.raises(SubTaskNotFoundError) as caught:
        decide(None, command)
    assert caught.value.detail == {"sub_task": "s1"}


class _Strange:
    def __repr__(self) -> str:
        return "_Strange()"  # without an address: it is part of a test's id


@pytest.mark.parametrize(
    "fields",
    [
        {"goal": "\ud800"},
        {"acceptance_criteria": ("fine", "\udfff")},
        {"actor": "a\ud800"},
        {"parts": (text("\ud800"),)},
        {"parts": (data({"\ud800": 1}),)},
        {"parts": (data(float("nan")),)},
        {"parts": (data({"x": float("inf")}),)},
        {"parts": (data((1, 2)),)},
        {"parts": (data({1: 2}),)},
        {"parts": (data(_Strange()),)},
        {"parts": ("no part",)},
        {"goal": None},
        {"name": 5},
    ],
    ids=str,
)
def test_what_cannot_be_read_back_is_refused(fields: dict[str, Any]) -> None:
    """J2, I4: a brief that would make its history unreadable is a RequestError, and not recorded."""
    with pytest.raises(RequestError) as caught:
        decide(None, spawn(**fields))
    assert caught.value.code == "request.invalid"


def test_what_nests_without_end_is_refused() -> None:
    """J3: so is data that is nested too deep to be read."""
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(RequestError):
        decide(None, spawn(parts=(data(deep),)))


@pytest.mark.parametrize("value", [1.0, 2**70, -0.5, "\x00", {"a": [None, True, {}]}, None])
def test_data_of_the_brief_is_recorded_as_it_is(value: Any) -> None:
    """D12, case R9: numbers, nulls and control characters of the caller come out as they went in."""
    life = Life(parts=(data(value),))
    assert repr(life.sub_task.parts[0].data) == repr(value)
    (back,) = (decode(stored) for stored in life.stored)
    assert back == life.events[0]
    assert repr(back.parts[0].data) == repr(value)


def test_replies_and_reasons_are_held_to_the_same() -> None:
    """J2, C12: a reply or a reason that cannot be recorded is refused; the question stays open."""
    life = Life.parked()
    with pytest.raises(RequestError):
        life.reply("\ud800")
    with pytest.raises(RequestError):
        life.reply(parts=(data(float("nan")),))
    with pytest.raises(RequestError):
        life.cancel("\ud800")
    assert life.sub_task.question == 3


# --- linking


@pytest.mark.parametrize("report", [task("SUBMITTED"), status("SUBMITTED"), chunk("a", "x")])
def test_linked_as_soon_as_the_id_is_known(report: Any) -> None:
    """C4: from a Task or from an update of any kind that comes first."""
    life = Life()
    (linked,) = life.hear(report, "send")
    assert isinstance(linked, Linked)
    assert (linked.remote_task_id, linked.state, linked.replaces) == ("t1", "SUBMITTED", None)
    assert life.hear(report, "send") == ()


def test_linked_in_the_state_that_was_heard() -> None:
    """C4, case S12: a task that is WORKING is linked as that; its first text is not lost."""
    life = Life()
    report = status("WORKING", "counting", remote_at=remote(1), anomalies=("json.kind_frame",))
    linked, woken = life.hear(report, "send")
    assert isinstance(linked, Linked)
    assert (linked.state, linked.remote_at, linked.context_id) == ("WORKING", remote(1), "c1")
    assert linked.anomalies == ("json.kind_frame",)
    assert isinstance(woken, Woken)
    assert (woken.text, woken.anomalies) == ("counting", ())


@pytest.mark.parametrize(
    "state, kind", [("INPUT_REQUIRED", Parked), ("AUTH_REQUIRED", Parked), ("FAILED", Resolved)]
)
def test_heard_at_once_parked_or_terminal(state: str, kind: type[Event]) -> None:
    """C4: both are recorded in one commit, Linked as SUBMITTED, which is all that is known of it."""
    life = Life()
    linked, after = life.hear(task(state, "words", remote_at=remote(1)), "send")
    assert isinstance(linked, Linked)
    assert (linked.state, linked.remote_at) == ("SUBMITTED", None)
    assert isinstance(after, kind)
    assert after.remote_at == remote(1)
    assert life.sub_task.state == state


def test_an_unknown_state_links_and_no_more() -> None:
    """D14, C4: the task is known, its state is not."""
    life = Life()
    (linked,) = life.hear(task(None, remote_at=remote(1)), "send")
    assert isinstance(linked, Linked)
    assert life.sub_task.state is A2AState.SUBMITTED


def test_a_message_resolves_at_once() -> None:
    """C5: an answer without a task is the end; what comes after it is ignored."""
    life = Life()
    (resolved,) = life.hear(message("12", message_id="a1"), "send")
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == ("COMPLETED", "12")
    assert resolved.artifacts == (artifact("a1", "12"),)
    assert life.hear(message("13"), "send") == ()
    assert life.hear(task("WORKING"), "send") == ()


def test_a_message_that_names_a_task_is_the_answer_too() -> None:
    """C5: it came instead of a task; there is nothing to link."""
    life = Life()
    (resolved,) = life.hear(message("12", remote_task_id="t1"), "send")
    assert isinstance(resolved, Resolved)
    assert not life.sub_task.is_linked


def test_a_message_of_a_known_task_is_no_state() -> None:
    """C5, D14: once a task is known, a message says nothing about its state."""
    life = Life.linked()
    assert life.hear(message("thanks")) == ()


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING", "INPUT_REQUIRED", None])
def test_a_task_without_an_id(state: str | None) -> None:
    """C4: what cannot be watched is not recorded as working or parked."""
    life = Life()
    assert life.hear(task(state, "?", remote_task_id=""), "send") == ()
    (resolved,) = life.hear(task("COMPLETED", "12", remote_task_id=""), "send")
    assert isinstance(resolved, Resolved)


def test_another_task_is_none_of_ours() -> None:
    """K3: an answer about another task changes nothing, its end neither."""
    for life in (Life.linked(), Life.parked(), Life.replied()):
        for report in (
            task("COMPLETED", "x", remote_task_id="t9", remote_at=remote(9)),
            status("WORKING", "x", remote_task_id="t9", remote_at=remote(9)),
            msgspec.structs.replace(chunk("a", "x"), remote_task_id="t9"),
        ):
            assert life.get(report) == ()
        assert life.sub_task.remote_task_id == "t1"


# --- contexts


def test_the_context_is_learned_when_it_is_told() -> None:
    """C12, case Q2, case Q4: an empty context id means unknown; the first one told is recorded with
    what it led to.
    """
    steps: list[tuple[Any, ...]] = [
        ("WORKING", "counting"),
        ("INPUT_REQUIRED", "Which hall?"),
        ("COMPLETED", "12"),
    ]
    for state, words in steps:
        life = Life()
        life.hear(task("SUBMITTED", context_id="", remote_at=remote(1)), "send")
        assert life.sub_task.context_id == ""
        (event,) = life.get(task(state, words, remote_at=remote(2)))
        assert not isinstance(event, Created | Linked | PushRevoked)
        assert event.context_id == "c1"
        assert life.sub_task.context_id == "c1"
    life = Life.linked()
    (event,) = life.get(task("COMPLETED", context_id="", remote_at=remote(2)))
    assert isinstance(event, Resolved)
    assert (event.context_id, life.sub_task.context_id) == ("", "c1")


def test_another_context_is_an_anomaly() -> None:
    """K3, case Q4: another context id is an anomaly; the result is kept, and the context that was
    first.
    """
    life = Life.linked()
    (event,) = life.get(task("COMPLETED", "12", context_id="c2", anomalies=("json.null",)))
    assert event.anomalies == ("json.null", "context.changed")
    assert life.sub_task.context_id == "c1"
    assert life.sub_task.text == "12"


# --- what is recorded of a question


def test_a_question_is_recorded_whole() -> None:
    """D16, H1, case Q9: words, parts, message id, watch, time and what artifacts there were."""
    life = Life.linked()
    life.hear(chunk("a", "half"))
    report = task(
        "INPUT_REQUIRED",
        data({"call": "count"}),
        message_id="q1",
        remote_at=remote(2),
        anomalies=("json.null",),
    )
    (parked,) = life.get(report, watch=push(), cause="poll")
    assert isinstance(parked, Parked)
    assert (parked.state, parked.text, parked.parts) == (
        "INPUT_REQUIRED",
        '{"call":"count"}',
        report.parts,
    )
    assert (parked.question, parked.version, parked.message_id) == (3, 3, "q1")
    assert (parked.watch, parked.cause, parked.actor) == (push(), "poll", "agent:inventory")
    assert (parked.remote_at, parked.anomalies) == (remote(2), ("json.null",))
    assert parked.seen["a"].size == 4
    assert (parked.correlation_id, parked.refusal) == ("k1", None)


def test_a_question_with_huge_parts_keeps_its_words() -> None:
    """J3: parts of a question over the limit are dropped, which is an anomaly; the words stay."""
    life = Life.linked()
    limits = HearLimits(result_bytes=100)
    said = ("Is this it?", Part(raw="A" * 400, media_type="image/png"))
    (parked,) = life.get(task("INPUT_REQUIRED", *said), limits=limits)
    assert isinstance(parked, Parked)
    assert (parked.text, parked.parts) == ("Is this it?", ())
    assert parked.anomalies == ("question.too_large",)
    life = Life.linked()
    (parked,) = life.get(task("INPUT_REQUIRED", "x" * 100), limits=limits)
    assert isinstance(parked, Parked)
    assert (len(parked.parts), parked.anomalies) == (1, ())


def test_answered_and_not_asked() -> None:
    """D13: parked with the sub-state `awaiting-next-message` is the end, with its text."""
    life = Life.linked()
    (resolved,) = life.get(task("INPUT_REQUIRED", "12", sub_state=ANSWERED))
    assert isinstance(resolved, Resolved)
    assert (resolved.state, resolved.text) == ("COMPLETED", "12")


# --- restlessness


def test_flips_are_bounded_and_an_end_is_not() -> None:
    """D15: past 20 flips in an hour at most one change a minute is recorded; an end at once."""
    life = Life.linked()
    clock = 10.0
    recorded: list[str] = []
    for _ in range(120):
        for state in ("INPUT_REQUIRED", "WORKING"):
            clock += 1
            events = life.get(task(state, "?" * (state != "WORKING"), remote_at=remote(clock)))
            recorded += [event.at for event in events]
    free, bounded = recorded[:40], recorded[40:]
    assert len(free) == 40
    assert 2 <= len(bounded) <= 200 // 60
    gaps = [seconds_between(*pair) for pair in itertools.pairwise(bounded)]
    assert all(gap >= 60 for gap in gaps)
    assert life.get(task("COMPLETED", remote_at=remote(999)))


def test_the_highest_limit_is_reached() -> None:
    """D15: with as many flips as are kept, changes are bounded all the same."""
    life = Life.linked()
    limits = HearLimits(flips=FLIPS_KEPT)
    clock, recorded = 10.0, 0
    for _ in range(300):
        for state in ("INPUT_REQUIRED", "WORKING"):
            clock += 1
            recorded += len(life.get(task(state, remote_at=remote(clock)), limits=limits))
    assert 2 * FLIPS_KEPT <= recorded <= 2 * FLIPS_KEPT + 600 // 60


def test_flips_are_forgotten_after_an_hour() -> None:
    """D15: an hour later the agent may flip again."""
    life = Life.linked()
    for count in range(25):
        life.get(task("INPUT_REQUIRED", "?", remote_at=remote(10 + 2 * count)))
        life.get(task("WORKING", remote_at=remote(11 + 2 * count)))
    life.get(task("INPUT_REQUIRED", "?", remote_at=remote(4000)), after=4000)
    assert life.get(task("WORKING", remote_at=remote(4001)))


def test_ever_new_questions_are_bounded_too() -> None:
    """D15, J3: a parked agent that changes its question all the time floods nobody."""
    life = Life.parked()
    recorded = 0
    for count in range(100):
        recorded += len(
            life.get(task("INPUT_REQUIRED", f"{count} s left", remote_at=remote(9 + count)))
        )
    assert 20 <= recorded <= 22


def test_replies_are_no_flips() -> None:
    """D15: a long talk, where each question is answered, is not restless."""
    life = Life.linked()
    for count in range(30):
        asked = life.get(task("INPUT_REQUIRED", f"{count}?", remote_at=remote(10 + count)))
        assert kinds(asked) == [Parked]
        life.reply(message_id=f"r{count}")
    assert life.sub_task.flips == ()


def test_status_texts_are_paced() -> None:
    """D17: a status text is recorded at most once every 5 s, the first at once."""
    life = Life.linked()
    texts = []
    for count in range(20):
        events = life.hear(status("WORKING", f"{count}", remote_at=remote(2 + count)))
        texts += [event.text for event in events if isinstance(event, Woken)]
    assert texts == ["0", "5", "10", "15"]


def test_every_state_pulls_its_text_along() -> None:
    """D17: the pace of texts does not hold up a change of state."""
    life = Life.linked()
    life.hear(status("WORKING", "one", remote_at=remote(2)))
    life.get(task("INPUT_REQUIRED", "?", remote_at=remote(3)))
    (woken,) = life.get(task("WORKING", "two", remote_at=remote(4)))
    assert isinstance(woken, Woken)
    assert woken.text == "two"


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


# --- replies


def test_a_reply_is_recorded_before_it_is_sent() -> None:
    """C12: Woken with cause `reply`, message id, question, words, parts and who replied."""
    life = Life.parked()
    (woken,) = life.reply("the big one", parts=(data(1),), correlation_id="k2")
    assert isinstance(woken, Woken)
    assert (woken.cause, woken.actor, woken.correlation_id) == ("reply", "planner", "k2")
    assert (woken.text, woken.parts) == ("the big one", (data(1),))
    assert (woken.message_id, woken.question, woken.remote_at) == ("r1", 3, None)
    assert life.sub_task.state is A2AState.WORKING


@pytest.mark.parametrize("make, state", [(Life, "SUBMITTED"), (Life.linked, "WORKING")])
def test_a_reply_while_nothing_is_asked(make: Any, state: str) -> None:
    """C12: a reply is taken only while parked."""
    life = make()
    with pytest.raises(NotParkedError) as caught:
        life.reply()
    assert caught.value.detail == {"sub_task": "s1", "state": state}


def test_one_question_is_answered_once() -> None:
    """C12: a second reply to the same question finds nothing asked."""
    life = Life.replied()
    with pytest.raises(NotParkedError):
        life.reply(message_id="r2")


def test_the_question_that_a_reply_names() -> None:
    """C12: any version at which the question was open names it; an earlier or later one does not."""
    for named, is_open in ((2, False), (3, True), (4, True), (5, False)):
        life = Life.parked(watch=push())
        life.rewatch(push(2))
        assert life.sub_task.version == 4
        if is_open:
            life.reply(question=named)
            continue
        with pytest.raises(StaleQuestionError) as caught:
            life.reply(question=named)
        assert caught.value.detail == {"sub_task": "s1", "question": named, "open": 3}


def test_an_answer_to_the_question_before() -> None:
    """C12: another question is open by now."""
    life = Life.parked()
    life.get(task("INPUT_REQUIRED", "Which row?", remote_at=remote(5)))
    with pytest.raises(StaleQuestionError):
        life.reply(question=3)
    life.reply(question=4)


def test_a_refused_reply_parks_it_again() -> None:
    """C12: under the same question, in the same state, with the refusal in the record."""
    life = Life.linked()
    life.get(task("AUTH_REQUIRED", "Log in", message_id="q1", remote_at=remote(2)))
    life.reply()
    (parked,) = life.refuse_reply("it was too late", watch=push())
    assert isinstance(parked, Parked)
    assert (parked.state, parked.text, parked.question) == ("AUTH_REQUIRED", "Log in", 3)
    assert (parked.refusal, parked.message_id, parked.version) == ("it was too late", "q1", 5)
    assert life.sub_task.question == 3
    assert life.sub_task.watch == push()
    assert life.get(task("AUTH_REQUIRED", "Log in", message_id="q1", remote_at=remote(2))) == ()
    life.reply(message_id="r2", question=3)
    assert life.sub_task.reply is not None
    assert life.sub_task.reply.message_id == "r2"


def test_a_refusal_of_something_else_is_nothing() -> None:
    """C12: only the pending reply can be refused."""
    life = Life.replied()
    assert life.refuse_reply(message_id="r0") == ()
    life.get(task("INPUT_REQUIRED", "Which row?", remote_at=remote(9)))
    assert life.refuse_reply() == ()
    assert Life.parked().refuse_reply() == ()


def test_a_recorded_reply_is_not_dropped() -> None:
    """I3, C12: what the agent says while it works, or the old question, leaves the reply pending."""
    life = Life.replied()
    life.hear(status("WORKING", "still at it", remote_at=remote(5)))
    life.get(task("INPUT_REQUIRED", "Which hall?", message_id="q1", remote_at=remote(6)))
    assert life.sub_task.reply is not None
    assert life.sub_task.reply.message_id == "r1"
    life.get(task("INPUT_REQUIRED", "Which row?", message_id="q2", remote_at=remote(7)))
    assert life.sub_task.reply is None


def test_the_same_question_once_more() -> None:
    """E2, D7: an agent that asks the same again after a reply is heard when a second look says so."""
    life = Life.replied()
    again = task("INPUT_REQUIRED", "Which hall?", message_id="q1", remote_at=remote(6))
    assert life.get(again) == ()
    (parked,) = life.get(again, confirmed=True)
    assert isinstance(parked, Parked)
    assert parked.question == parked.version == 5


# --- moves


def test_an_agent_that_moves_on_is_followed() -> None:
    """C13: a reply answered under another task id is Linked again, the old id kept."""
    life = Life.replied()
    moved = task("WORKING", remote_task_id="t2", context_id="", remote_at=remote(0.5))
    (linked,) = life.hear(moved, "send", moved=True)
    assert isinstance(linked, Linked)
    assert (linked.remote_task_id, linked.replaces, linked.state) == ("t2", "t1", "WORKING")
    assert life.sub_task.remote_task_id == "t2"
    assert life.sub_task.replaced == ("t1",)
    assert life.sub_task.remote_at == remote(0.5)
    assert life.sub_task.context_id == "c1"
    assert life.sub_task.reply is None
    assert life.get(task("INPUT_REQUIRED", "Which hall?", remote_at=remote(2))) == ()


@pytest.mark.parametrize("source", ["send", "get"])
@pytest.mark.parametrize("state", ["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED"])
def test_a_move_to_a_settled_task(state: str, source: Any) -> None:
    """C13: heard at once parked or ended under the other id: both in one commit, even unstamped."""
    life = Life.replied()
    moved = task(state, "Which hall?", remote_task_id="t2")
    linked, after = life.hear(moved, source, moved=True)
    assert isinstance(linked, Linked)
    assert linked.state == "WORKING"
    assert life.sub_task.state == state
    assert after.remote_at is None
    assert life.sub_task.remote_at is None


def test_a_move_as_submitted() -> None:
    """C13, H2: the other task is only SUBMITTED; the sub-task goes on as WORKING."""
    life = Life.replied()
    (linked,) = life.hear(task("SUBMITTED", remote_task_id="t2"), "send", moved=True)
    assert isinstance(linked, Linked)
    assert linked.state == "WORKING"


def test_a_move_while_parked_closes_the_question() -> None:
    """C13, C12: what was asked on the old task can no longer be answered."""
    life = Life.parked(watch=push())
    life.hear(task("WORKING", remote_task_id="t2"), "send", moved=True)
    assert life.sub_task.watch is None
    with pytest.raises(NotParkedError):
        life.reply()


# --- push


def test_a_new_watch_is_the_same_question() -> None:
    """D2, case P4: Parked again with another digest: same question, so that nobody is told twice."""
    life = Life.parked(watch=push(1))
    (parked,) = life.rewatch(push(2))
    assert isinstance(parked, Parked)
    assert (parked.question, parked.version, parked.text) == (3, 4, "Which hall?")
    assert life.sub_task.token_digest == push(2).token_digest
    assert life.sub_task.asked_id == "q1"
    assert Life.linked().rewatch(push()) == ()


def test_a_refused_registration() -> None:
    """D2, case P9: PushRevoked (refused) turns the watch into its fallback; the question stays
    open.
    """
    life = Life.parked(watch=push())
    (revoked,) = life.revoke("refused", detail="-32003")
    assert isinstance(revoked, PushRevoked)
    assert (revoked.config_id, revoked.remote_task_id) == ("locum-s1", "t1")
    assert (revoked.outcome, revoked.detail) == ("refused", "-32003")
    assert life.sub_task.watch == FOLLOW
    assert life.sub_task.token_digest is None
    assert life.sub_task.question == 3


def test_only_what_is_there_is_revoked() -> None:
    """F1: a config that the agent does not hold is not revoked, nor one on another task."""
    life = Life.parked(watch=push())
    assert life.revoke(config_id="other") == ()
    assert life.revoke(remote_task_id="t9") == ()
    assert kinds(life.revoke(remote_task_id="t1")) == [PushRevoked]
    assert life.revoke() == ()


def test_the_config_on_the_old_task_is_not_forgotten() -> None:
    """C13, F1: after a move both configs are known, each by the task that it is on."""
    life = Life.parked(watch=push(1))
    life.reply()
    life.hear(
        task("INPUT_REQUIRED", "And?", remote_task_id="t2"), "send", moved=True, watch=push(2)
    )
    (old,) = life.sub_task.stale_pushes
    assert (old.config_id, old.remote_task_id) == ("locum-s1", "t1")
    assert (life.sub_task.push_config_id, life.sub_task.push_task_id) == ("locum-s1", "t2")
    (revoked,) = life.revoke(remote_task_id="t1")
    assert isinstance(revoked, PushRevoked)
    assert revoked.remote_task_id == "t1"
    assert life.sub_task.stale_pushes == ()
    assert life.sub_task.watch == push(2)
    assert life.sub_task.token_digest == push(2).token_digest


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


# --- all of them


def test_a_correlation_id_lasts_until_another_is_given() -> None:
    """H1: an event bears the command's correlation id, or the sub-task's own."""
    life = Life.linked()
    assert {event.correlation_id for event in life.events} == {"k1"}
    (event,) = life.fail(correlation_id="k2")
    assert event.correlation_id == "k2"


def test_each_event_links_to_the_one_before() -> None:
    """H3: versions are contiguous and hashes linked, also of events in one commit."""
    life = Life()
    life.hear(task("INPUT_REQUIRED", "?"), "send", watch=OFF)
    life.reply()
    assert [event.version for event in life.events] == [1, 2, 3, 4]
    before = GENESIS
    for event in life.events:
        assert event.previous_hash == before
        before = event.hash
    assert life.sub_task.head == before


def test_the_stand_ins_commands_about_nothing() -> None:
    """H2: RevokePush, RefuseReply and Fail of a sub-task that is not there are refused too."""
    for kind, fields in (
        (RevokePush, {"cause": "push", "config_id": "x", "outcome": "deleted"}),
        (RefuseReply, {"message_id": "r1", "reason": "no", "watch": FOLLOW}),
        (Fail, {"cause": "send", "code": "x", "text": "y"}),
    ):
        with pytest.raises(SubTaskNotFoundError):
            decide(None, kind(sub_task_id="s1", at=START, actor="a", **fields))
