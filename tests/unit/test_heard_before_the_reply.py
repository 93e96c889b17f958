"""What comes on a stream before the reply is recorded, or before it leaves (C12, E2)."""

import msgspec
import pytest

from locum.core.hearing import Verdict
from locum.core.report import Source
from tests.lives import Life, data, remote, status

from .verdicts import BELLS, verdict


@pytest.mark.parametrize("source", BELLS)
def test_the_question_that_is_being_answered(source: Source) -> None:
    """C12, E2: under another message id and with a newer time it is still the answered question."""
    life = Life.replied()
    reply = life.sub_task.reply
    assert reply is not None
    before, after = reply.version - 1, reply.version
    for said, heard_at, means in (
        ("Which hall?", before, Verdict.STALE),
        ("Which hall?", after, Verdict.CHANGE),
        ("Which hall?", None, Verdict.CHANGE),
        # The agent may have gone on to another one before it had the reply.
        ("Which row?", before, Verdict.CHANGE),
        (data({"row": 1}), before, Verdict.CHANGE),
    ):
        report = status("INPUT_REQUIRED", said, remote_at=remote(9), message_id="q2")
        report = msgspec.structs.replace(report, heard_at=heard_at)
        assert verdict(life, report, source) is means


def test_work_and_ends_that_were_heard_before_the_reply() -> None:
    """C12, K5: an end counts whenever it was heard; work is no question."""
    life = Life.replied()
    ends = status("COMPLETED", remote_at=remote(9), heard_at=1)
    assert verdict(life, ends, "stream") is Verdict.CHANGE
    works = status("WORKING", "busy", remote_at=remote(9), heard_at=1)
    assert verdict(life, works, "stream") is Verdict.TEXT
