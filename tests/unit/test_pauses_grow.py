"""The pauses between two looks at an agent: how they grow, vary and are lengthened by the agent."""

from random import Random

import pytest

from locum.adapters.pause import Pause


class _Fixed(Random):
    """Gives the same place in any range."""

    def __init__(self, place: float) -> None:
        super().__init__()
        self._place = place

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._place


MIDDLE = _Fixed(0.5)


def test_each_pause_is_twice_the_one_before() -> None:
    """D6: from `follow_interval` a pause doubles at each step, and never passes the longest."""
    pause = Pause(5.0, 60.0, MIDDLE)
    assert [pause.step() for _ in range(6)] == pytest.approx([5, 10, 20, 40, 60, 60])


def test_a_first_pause_over_the_longest_stays() -> None:
    """D6: an interval that is longer than the longest pause is kept, and does not shrink."""
    pause = Pause(90.0, 60.0, MIDDLE)
    assert [pause.step() for _ in range(3)] == pytest.approx([90, 90, 90])


def test_a_change_begins_anew() -> None:
    """D6: it backs off while nothing changes; after a change the first pause is the short one."""
    pause = Pause(5.0, 60.0, MIDDLE)
    pause.step()
    pause.step()
    pause.reset()
    assert [pause.step(), pause.step()] == pytest.approx([5, 10])


@pytest.mark.parametrize("place, factor", [(0.0, 0.9), (1.0, 1.1)])
def test_pauses_vary(place: float, factor: float) -> None:
    """D6, D8: each pause is up to a tenth shorter or longer, so that agents are not asked in step."""
    pause = Pause(5.0, 60.0, _Fixed(place))
    assert [pause.step(), pause.step()] == pytest.approx([5 * factor, 10 * factor])
    assert pause.steady() == pytest.approx(5 * factor)


def test_the_agents_time_is_kept_once() -> None:
    """D6: a pause is no shorter than the longest `Retry-After` since the last one; the next is as
    ever.
    """
    pause = Pause(5.0, 60.0, MIDDLE)
    for said in (120.0, 7.0, None):
        pause.at_least(said)
    assert [pause.step(), pause.step()] == pytest.approx([120, 10])
    pause.at_least(30.0)
    assert [pause.steady(), pause.steady()] == pytest.approx([30, 5])


def test_a_change_does_not_shorten_the_agents_time() -> None:
    """D6: an agent that asked for half a minute is not asked before, whatever changed meanwhile."""
    pause = Pause(5.0, 60.0, MIDDLE)
    pause.at_least(30.0)
    pause.reset()
    assert [pause.step(), pause.step()] == pytest.approx([30, 10])


def test_a_steady_pause_does_not_grow() -> None:
    """D8: an agent without streaming is asked at `follow_interval`, however long nothing changes."""
    pause = Pause(5.0, 60.0, MIDDLE)
    assert [pause.steady() for _ in range(4)] == pytest.approx([5, 5, 5, 5])
