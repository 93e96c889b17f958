"""How long to wait before asking an agent again: jittered, doubling, honouring Retry-After (D6)."""

from random import Random

__all__ = ["LONGEST", "Pause"]

LONGEST = 900.0
"""Seconds that an agent may ask for (Retry-After): it may ask for a day, and be well in a minute."""


class Pause:
    """A growing pause, in seconds: from `first`, doubled at each step, up to `most`."""

    __slots__ = ("_floor", "_next", "_random", "first", "most")

    def __init__(self, first: float, most: float, random: Random) -> None:
        self.first = first
        self.most = most
        self._random = random
        self._next = first
        self._floor = 0.0

    def reset(self) -> None:
        """Something changed: begin again at `first`, but no sooner than the agent asked for."""
        self._next = self.first

    def at_least(self, seconds: float | None) -> None:
        """Make the next pause no shorter than what the agent asked for, up to `LONGEST`."""
        self._floor = max(self._floor, min(seconds or 0.0, LONGEST))

    @property
    def asked_for(self) -> float:
        """Seconds that the agent asked for, up to `LONGEST`; 0 when it did not."""
        return self._floor

    def step(self) -> float:
        """The next pause: within ±10 % of the nominal one, so that agents are not asked in step."""
        nominal, self._next = self._next, min(self._next * 2, max(self.most, self.first))
        floor, self._floor = self._floor, 0.0
        return max(nominal * self._random.uniform(0.9, 1.1), floor)

    def steady(self) -> float:
        """A pause of `first` that does not grow (polling, D8)."""
        floor, self._floor = self._floor, 0.0
        return max(self.first * self._random.uniform(0.9, 1.1), floor)
