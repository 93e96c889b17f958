"""A registry over test peers, and how its agents' refusals are read. No tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from locum.adapters.a2a.registry import ClientFactory, Registry
from locum.adapters.settings import Settings

__all__ = [
    "JSON",
    "NOBODY",
    "Clock",
    "is_accepted",
    "refused",
    "registry",
    "serves",
    "with_interface",
]

JSON = {"content-type": "application/json"}
NOBODY = "http://127.0.0.1:1"


class Clock:
    """Seconds that rise when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The seconds."""
        return self.now


@asynccontextmanager
async def registry(
    *agents: dict[str, Any],
    own_url: str | None = None,
    clock: Clock | None = None,
    client_factory: ClientFactory | None = None,
    patience: float | None = None,
    **sections: Any,
) -> AsyncIterator[Registry]:
    """A registry of these agents, entered."""
    settings = Settings.from_mapping({"agents": list(agents), **sections})
    environ = {"TOKEN": "t0k3n"}
    how: dict[str, Any] = {"patience": patience}
    if clock is not None:
        how["monotonic"] = clock
    async with Registry(
        settings, own_url=own_url, environ=environ, client_factory=client_factory, **how
    ) as entered:
        yield entered


def serves(card: Any, **headers: str) -> tuple[int, dict[str, str], str]:
    """The answer that is this card."""
    return 200, JSON | headers, card if isinstance(card, str) else json.dumps(card)


def refused(entered: Registry, agent_id: str = "a") -> tuple[str, str]:
    """Code and reason of a refusal, as the API shows them."""
    (view,) = (view for view in entered.agents() if view["id"] == agent_id)
    assert view["state"] == "refused"
    assert entered.get(agent_id).reason == view["reason"]
    return view["reason_code"], view["reason"]


def is_accepted(entered: Registry, agent_id: str = "a") -> bool:
    """True when the agent takes work."""
    return entered.get(agent_id).state == "accepted"


def with_interface(card: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The card with its interface changed."""
    return card | {"supportedInterfaces": [card["supportedInterfaces"][0] | fields]}
