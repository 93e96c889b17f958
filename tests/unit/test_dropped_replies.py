"""A reply that the agent refused because it had gone on: what is recorded, and what is told of it."""

from locum.core.commands import DropReply
from locum.core.events import Resolved, Woken
from locum.core.subtask import replay
from locum.projections import Notification, SubTaskRow, note_for, row_after, row_of
from tests.lives import Life, artifact, chunk, kinds, remote, task


def drop(life: Life, reason: str = "I ask something else by now", message_id: str = "r1") -> None:
    """The agent refuses the reply and has gone on."""
    life.do(
        DropReply(
            sub_task_id="s1",
            at=life.now,
            actor="agent:inventory",
            message_id=message_id,
            reason=reason,
        )
    )


def notes_of(life: Life) -> list[Notification]:
    """What the model was told, the row held against the aggregate at every version."""
    row: SubTaskRow | None = None
    notes = []
    for position, event in enumerate(life.events, 1):
        row = row_after(row, event)
        sub_task = replay(life.events[:position])
        assert sub_task is not None
        assert row == row_of(sub_task)
        if (note := note_for(row, event, position)) is not None:
            notes.append(note)
    return notes


def test_the_refusal_is_in_the_record() -> None:
    """C12: the words are kept, and the reply is not open any more: it is not sent again."""
    life = Life.replied()
    drop(life)
    woken = life.events[-1]
    assert isinstance(woken, Woken)
    assert (woken.refusal, woken.anomalies) == ("I ask something else by now", ("reply.refused",))
    assert (life.sub_task.state, life.sub_task.reply) == ("WORKING", None)


def test_only_the_open_reply_can_be_refused() -> None:
    """C12, F3: what was settled meanwhile, or was another reply, changes nothing."""
    life = Life.replied()
    before = life.events
    drop(life, message_id="r0")
    life.get(task("COMPLETED", remote_at=remote(9)))
    drop(life)
    assert kinds(life.events[len(before) :]) == [Resolved]


def test_it_is_told_with_the_next_question_and_once() -> None:
    """C12, E2: the model learns with the next question that its answer was not taken."""
    life = Life.replied("Which hall?")
    drop(life)
    life.get(task("INPUT_REQUIRED", "Which floor?", remote_at=remote(9)))
    life.get(task("INPUT_REQUIRED", "Which door?", remote_at=remote(10)))
    _, second, third = notes_of(life)
    assert second.refusal == "I ask something else by now"
    assert "It had refused the last reply, and gone on without it." in second.as_text()
    assert "the same question" not in second.as_text()
    assert third.refusal is None
    assert "refused" not in third.as_text()


def test_it_is_told_with_the_end() -> None:
    """C12, E7: also where the agent asked nothing more; news of its work tell nothing of it."""
    life = Life.replied("Which hall?")
    drop(life, "")
    life.hear(task("WORKING", "Counting.", remote_at=remote(9)), after=9)
    life.hear(chunk("a", "12 chairs"))
    life.get(task("COMPLETED", remote_at=remote(10)))
    text = notes_of(life)[-1].as_text().split("\n")
    assert text[1:4] == [
        "It had refused the last reply, and gone on without it.",
        "It did not say why.",
        "It ended as COMPLETED.",
    ]


def test_another_reply_ends_it() -> None:
    """C12: what was told with a question is not told with what comes after its answer."""
    life = Life.replied("Which hall?")
    drop(life)
    life.get(task("INPUT_REQUIRED", "Which floor?", remote_at=remote(9), message_id="q2"))
    life.reply("the first", message_id="r2")
    life.get(task("COMPLETED", artifacts=(artifact("a", "12"),), remote_at=remote(12)))
    assert notes_of(life)[-1].refusal is None


def test_an_end_while_it_asks_has_told_it_before() -> None:
    """E3: nothing is told twice."""
    life = Life.replied("Which hall?")
    drop(life)
    life.get(task("INPUT_REQUIRED", "Which floor?", remote_at=remote(9)))
    life.cancel("not needed")
    assert notes_of(life)[-1].refusal is None
