"""Counting refused pushes, by reason and by source (D5). Keeps numbers in memory, nothing else."""

import ipaddress
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

__all__ = ["Refusals", "source_of"]

logger = logging.getLogger("locum.web.push")

WINDOW = 60.0
"""Seconds that a refusal counts."""
_SOURCES = 1024
"""How many sources are remembered at most; the one that was quiet longest is forgotten first."""


class Refusals:
    """How often whom was refused. `limit` refusals of one source in a minute are the most."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self.by_reason: Counter[str] = Counter()
        self._limit = limit
        self._clock = clock
        self._by_source: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, source: str, reason: str) -> None:
        """Count one refusal."""
        self.by_reason[reason] += 1
        logger.debug("push from %s refused: %s", source, reason)
        times = self._by_source.setdefault(source, deque(maxlen=self._limit))
        times.append(self._clock())
        self._by_source.move_to_end(source)
        while len(self._by_source) > _SOURCES:
            self._by_source.popitem(last=False)
        if len(times) == self._limit and self.wait(source) > 0:
            logger.warning(
                "%d pushes from %s were refused within a minute; answering 429 from now on",
                self._limit,
                source,
            )

    def add_limited(self) -> None:
        """Count a push that was answered 429. It does not make its source wait longer."""
        self.by_reason["limited"] += 1

    def wait(self, source: str) -> float:
        """Seconds until a refusal of this source is answered in full again; 0 when it is now."""
        times = self._by_source.get(source)
        if times is None or len(times) < self._limit:
            return 0.0
        return max(0.0, times[0] + WINDOW - self._clock())


def source_of(client: tuple[str, int] | None) -> str:
    """Who sends, as far as limits go: an address; of IPv6 the /64, which one host can fill."""
    if client is None:
        return "local"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return client[0]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), 64), strict=False))
