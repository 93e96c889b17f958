"""Deciding how often: restless agents and status texts are bounded, ends and replies are not."""

import itertools

from locum.core.commands import HearLimits
from locum.core.events import Parked, Woken
from locum.core.subtask import FLIPS_KEPT
from locum.core.times import seconds_between
from tests.lives import Life, kinds, remote, status, task


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


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    """D15, D17: what was recorded in what is the future now paces nothing."""
    life = Life.linked()
    assert life.hear(status("WORKING", "one", remote_at=remote(2)), after=86_400)
    assert life.hear(status("WORKING", "two", remote_at=remote(3)), after=-86_400)
    assert not life.hear(status("WORKING", "three", remote_at=remote(4)))
    for count in range(40):
        state = "WORKING" if count % 2 else "INPUT_REQUIRED"
        life.get(task(state, "?" * (state != "WORKING"), remote_at=remote(10 + count)))
    assert not life.get(task("INPUT_REQUIRED", "?", remote_at=remote(60)))
    assert life.get(task("INPUT_REQUIRED", "?", remote_at=remote(61)), after=-100)


def test_every_state_pulls_its_text_along() -> None:
    """D17: the pace of texts does not hold up a change of state."""
    life = Life.linked()
    life.hear(status("WORKING", "one", remote_at=remote(2)))
    life.get(task("INPUT_REQUIRED", "?", remote_at=remote(3)))
    (woken,) = life.get(task("WORKING", "two", remote_at=remote(4)))
    assert isinstance(woken, Woken)
    assert woken.text == "two"
