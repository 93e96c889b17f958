"""Choices made by bytes: one draw of hypothesis's decides a whole stream, quickly. No tests.

Each choice takes the next byte or two; when they run out every choice is the first, the plainest one.
So fewer and smaller bytes mean a simpler stream, which is what hypothesis looks for.
"""

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Choices"]

T = TypeVar("T")


class Choices:
    """Decides by the bytes of `script`."""

    def __init__(self, script: bytes) -> None:
        self._script = iter(script)

    def below(self, limit: int) -> int:
        """A number from 0, below `limit`, which is at most 65,536."""
        number = next(self._script, 0)
        if limit > 256:
            number = number * 256 + next(self._script, 0)
        return number % limit

    def of(self, options: Sequence[T]) -> T:
        """One of them; the first is the plainest."""
        return options[self.below(len(options))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times; never when the bytes have run out."""
        return self.below(one_in) == one_in - 1
