"""A good card, and whether it is accepted. No tests."""

import ipaddress
import json
from collections.abc import Sequence
from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.cards.accepting import AcceptedCard, accept_card
from locum.adapters.a2a.cards.parse import parse_card
from locum.adapters.a2a.credentials.placing import credentials_for
from locum.adapters.origins import IpAddress
from locum.adapters.settings import Settings
from locum.core.errors import CardError

__all__ = ["URL", "accept", "card", "interface", "refusal"]

URL = "https://inventory.example"


def interface(url: str = f"{URL}/a2a", binding: str = "JSONRPC", version: str = "1.0") -> Any:
    """One entry of supportedInterfaces."""
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def card(**fields: Any) -> AgentCard:
    """A valid card for `URL`, `fields` set or replaced."""
    return parse_card(
        json.dumps(
            {
                "name": "Inventory",
                "description": "Counts",
                "version": "1.2.0",
                "supportedInterfaces": [interface()],
                "capabilities": {"streaming": True},
                "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [],
            }
            | fields
        )
    )


async def nowhere(host: str, port: int) -> Sequence[IpAddress]:
    """A resolver that must not be asked."""
    raise AssertionError(f"{host} was resolved")


async def accept(
    one: AgentCard,
    *,
    reach: Reach = Reach.PUBLIC,
    addresses: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    **agent: Any,
) -> AcceptedCard:
    """Check a card that was found at `URL` as the settings `agent` say."""

    async def known(host: str, port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address((addresses or {})[host])]

    tables = {"agents": [{"id": "inventory", "url": URL} | agent]}
    settings = Settings.from_mapping(tables).agents[0]
    return await accept_card(
        one,
        settings,
        credentials_for(settings, environ or {}),
        card_url=f"{settings.url}/.well-known/agent-card.json",
        card_reach=reach,
        resolve=nowhere if addresses is None else known,
    )


async def refusal(one: AgentCard, **how: Any) -> CardError:
    """Why the card is refused."""
    with pytest.raises(CardError) as caught:
        await accept(one, **how)
    return caught.value
