"""The values used last, bounded by their number and their weight in bytes (J3). For one thread."""

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["Recent"]

_T = TypeVar("_T")


class Recent(Generic[_T]):
    """A mapping from ids that forgets what was used longest ago.

    It holds at most `count` values that weigh at most `weight` bytes together; a value that is
    heavier by itself is not kept.
    """

    def __init__(self, count: int, weight: int) -> None:
        self._count = count
        self._weight = weight
        self._held: OrderedDict[str, tuple[_T, int]] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: str) -> _T | None:
        """The value of `key`, which is now the one used last; None when it is not held."""
        held = self._held.get(key)
        if held is None:
            return None
        self._held.move_to_end(key)
        return held[0]

    def peek(self, key: str) -> _T | None:
        """The same without counting as a use: one look-up, so that any thread may do it."""
        held = self._held.get(key)
        return held[0] if held else None

    def weight_of(self, key: str) -> int:
        """The bytes that were said of `key`; 0 when it is not held."""
        held = self._held.get(key)
        return held[1] if held else 0

    def put(self, key: str, value: _T, weight: int) -> None:
        """Hold `value`, which weighs `weight` bytes."""
        self.drop(key)
        if weight > self._weight:
            return
        self._held[key] = (value, weight)
        self._total += weight
        while len(self._held) > self._count or self._total > self._weight:
            _, (_, lightened) = self._held.popitem(last=False)
            self._total -= lightened

    def drop(self, key: str) -> None:
        """Forget `key`, held or not."""
        held = self._held.pop(key, None)
        if held is not None:
            self._total -= held[1]

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._total = 0
