"""How long is waited before an agent is asked again."""

from random import Random

from locum.adapters.pause import LONGEST, Pause


def test_what_an_agent_asks_for_is_honoured_within_reason() -> None:
    """D6: no shorter than Retry-After says, but for no longer than a quarter of an hour; once."""
    pause = Pause(1.0, 60.0, Random(1))
    pause.at_least(120.0)
    assert pause.step() == 120.0
    assert pause.step() <= 2.2
    pause.at_least(86_400.0)
    pause.at_least(5.0)
    assert pause.steady() == LONGEST == 900.0
    pause.at_least(None)
    assert pause.steady() <= 1.1
