"""Deciding: what holds for every command and every event that it leads to."""

from typing import Any

import pytest

from locum.core.chain import GENESIS
from locum.core.commands import Cancel, Expire, Fail, RefuseReply, RevokePush, Rewatch
from locum.core.decide import decide
from locum.core.errors import RequestError, SubTaskNotFoundError
from tests.lives import FOLLOW, OFF, START, Life, answer, data, task


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


def test_the_stand_ins_commands_about_nothing() -> None:
    """H2: RevokePush, RefuseReply and Fail of a sub-task that is not there are refused too."""
    for kind, fields in (
        (RevokePush, {"cause": "push", "config_id": "x", "outcome": "deleted"}),
        (RefuseReply, {"message_id": "r1", "reason": "no", "watch": FOLLOW}),
        (Fail, {"cause": "send", "code": "x", "text": "y"}),
    ):
        with pytest.raises(SubTaskNotFoundError):
            decide(None, kind(sub_task_id="s1", at=START, actor="a", **fields))


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
