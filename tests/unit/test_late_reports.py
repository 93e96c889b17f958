"""What an agent says of a sub-task that ended before its task was known (F3)."""

import pytest

from tests.lives import Life, status, task


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED"])
@pytest.mark.parametrize("said", [task, status])
def test_the_task_of_an_ended_brief_is_not_linked(state: str, said: object) -> None:
    """F3: cancelled while its task was not known, it is not linked by what comes later."""
    life = Life()
    life.cancel("not needed", confirmed=False)
    before = life.events
    assert callable(said)
    assert life.hear(said(state, "late"), "send") == ()
    assert life.get(said(state, "late"), confirmed=True) == ()
    assert life.events == before
