"""One agent as the registry holds it: accepted or refused, and by what it is called. Fetches nothing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
from a2a.types.a2a_pb2 import AgentCard

from locum.core.errors import AgentRefusedError

from ..settings.agents import AgentSettings
from .calls.given_tokens import GivenTokens
from .calls.remote_agent import AgentClient
from .cards.accepting import AcceptedCard
from .interface import Interface

__all__ = ["Agent", "ClientFactory"]


@dataclass(slots=True, eq=False)
class Agent:
    """What is known of one agent now; the registry changes it, everybody else reads.

    `accepted` is the last card that was accepted and `client` calls the agent as that card says.
    Both stay when a newer card is refused, so that running sub-tasks are still watched (A11);
    whether there may be new work is what `state` says.
    """

    id: str
    settings: AgentSettings
    state: Literal["accepted", "refused"] = "refused"
    reason: str = "its card was not fetched yet"
    reason_code: str = "card.unreachable"
    accepted: AcceptedCard | None = None
    client: AgentClient | None = None
    http: httpx.AsyncClient | None = None
    """The HTTP client that `client` uses; the registry's to close."""
    tokens: GivenTokens = field(default_factory=GivenTokens)
    """The push tokens that the agent may have, to mask them where it quotes them (D2)."""
    anomalies: Counter[str] = field(default_factory=Counter)
    """How often each oddity was met with this agent since the start (K2)."""

    @property
    def card(self) -> AgentCard | None:
        """The last card that was accepted."""
        return self.accepted.card if self.accepted else None

    @property
    def card_digest(self) -> str:
        """That card's digest (A11), or an empty text."""
        return self.accepted.digest if self.accepted else ""

    @property
    def interface(self) -> Interface | None:
        """The interface in use (A5)."""
        return self.accepted.interface if self.accepted else None

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions in use (A7)."""
        return self.accepted.extensions if self.accepted else ()

    def refusal(self) -> AgentRefusedError:
        """The error for new work while the agent is refused."""
        return AgentRefusedError(self.id, self.reason, self.reason_code)

    def view(self) -> dict[str, Any]:
        """The agent as `GET /v1/agents` shows it. JSON values only; no URL and no credential."""
        card = self.card or AgentCard()
        is_accepted = self.state == "accepted"
        return {
            "id": self.id,
            "name": card.name,
            "description": card.description,
            "version": card.version,
            "state": self.state,
            "reason": None if is_accepted else self.reason,
            "reason_code": None if is_accepted else self.reason_code,
            "skills": [
                {"id": one.id, "name": one.name, "description": one.description}
                for one in card.skills
            ],
            "streaming": card.capabilities.streaming,
            "push": card.capabilities.push_notifications,
            "anomalies": dict(sorted(self.anomalies.items())),
        }


ClientFactory = Callable[[Agent], AgentClient]
"""Makes the client of an agent whose card was just accepted, on the agent's `http`."""
