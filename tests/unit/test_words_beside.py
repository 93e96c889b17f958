"""A reply that is answered with a message, while its task asks what it asked before (C12, D12)."""

import msgspec
import pytest

from locum.core.hearing import Verdict, asks_again
from locum.core.subtask import BESIDE
from tests.lives import FOLLOW, Life, data, remote, status, task

from .verdicts import verdict

OLD = task("INPUT_REQUIRED", "Which hall?", remote_at=remote(2), message_id="q1")


def answered(life: Life, words: str = "12. Anything else?") -> None:
    """The agent answers the reply with a message; its task is as it was."""
    told = task("INPUT_REQUIRED", words, remote_at=remote(2), message_id="m9", anomalies=(BESIDE,))
    (parked,) = life.get(told, confirmed=True)
    assert (life.sub_task.text, life.sub_task.question) == (words, parked.version)


@pytest.mark.parametrize("at", [None, remote(2), remote(50)])
def test_the_old_question_is_no_news(at: str | None) -> None:
    """C12, E2: what the task asks all the while is not another question, however it is stamped."""
    life = Life.replied()
    answered(life)
    assert life.sub_task.beside == "Which hall?"
    again = msgspec.structs.replace(OLD, remote_at=at)
    assert verdict(life, again, "get") is Verdict.SAME
    assert verdict(life, again, "stream") is Verdict.SAME
    assert life.get(again) == ()
    # The same question recorded again, watched anew, is still beside its task's.
    life.rewatch(FOLLOW)
    assert life.get(again) == ()
    (news,) = life.get(task("INPUT_REQUIRED", "Which day?", remote_at=remote(60)))
    assert (life.sub_task.beside, news.text) == ("", "Which day?")


def test_the_next_reply_is_not_answered_by_it() -> None:
    """C12: after the reply to the message, the task's old question may be heard late: a doubt."""
    life = Life.replied()
    answered(life)
    life.reply("no", message_id="r2")
    assert verdict(life, OLD, "get") is Verdict.DOUBT
    answered(life, "Fine. And now?")
    assert life.sub_task.beside == "Which hall?"
    life.reply("nothing", message_id="r3")
    (parked,) = life.get(OLD, confirmed=True)
    assert (parked.text, life.sub_task.beside) == ("Which hall?", "")


def test_when_a_task_asks_again() -> None:
    """C12: only the answered question, and only while its reply is open."""
    life = Life.replied()
    bare = task("INPUT_REQUIRED", remote_at=remote(2))
    for report, expected in (
        (OLD, True),
        (bare, True),
        (task("INPUT_REQUIRED", "Which day?"), False),
        (task("INPUT_REQUIRED", "Which hall?", data(1)), False),
        (task("WORKING"), False),
        (status(None), False),
    ):
        assert asks_again(life.sub_task, report, ()) is expected
    assert not asks_again(Life.parked().sub_task, OLD, ())
    answered(life)
    life.reply("no", message_id="r2")
    assert asks_again(life.sub_task, OLD, ())
