"""What all stand-ins of a harness share, and what is brought to a desk from outside. Does nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from locum.core.lifecycle import A2AState
from locum.core.times import to_text

from ..a2a.registry import Agent
from ..settings import StandinSettings
from ..store.journal import Journal
from .errands import Errands

__all__ = ["CancelWish", "Claim", "Office"]


@dataclass(frozen=True, slots=True)
class Office:
    """What all stand-ins of a harness share: the journal, the clock and their sources."""

    journal: Journal
    settings: StandinSettings
    base_url: str | None
    clock: Callable[[], datetime]
    random: Random
    agent: Callable[[str], Agent | None]
    reach: Callable[[str], Awaitable[None]]
    """Looks at an agent's card again when it cannot be called yet. Raises LocumError."""
    errands: Errands = field(default_factory=Errands)
    """What is still called beside sub-tasks that have ended."""

    def now(self) -> str:
        """The time to record."""
        return to_text(self.clock())


@dataclass(frozen=True, slots=True)
class CancelWish:
    """Who wants the end of a sub-task, and why."""

    actor: str
    reason: str
    correlation_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a push said had happened. Never applied; only compared with what GetTask says (D4)."""

    state: A2AState | None
