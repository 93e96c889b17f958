"""The card of the agent `self`, made from `[card]` (A9). Serves it nowhere."""

from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)

from ...settings.agents import CardSettings, CardSkill
from ..extensions import STATUS_EXTENSION, TASK_EXTENSION

__all__ = ["JSONRPC_PATH", "REST_PATH", "own_card"]

JSONRPC_PATH = "/a2a"
"""Where `self` is served over JSON-RPC, below the base URL."""

REST_PATH = "/a2a/rest"
"""Where `self` is served over HTTP+JSON, below the base URL."""


def own_card(card: CardSettings, base_url: str) -> AgentCard:
    """The card of the harness that is reached at `base_url`."""
    provider = card.provider
    return AgentCard(
        name=card.name,
        description=card.description,
        version=card.version,
        supported_interfaces=[
            AgentInterface(
                url=base_url.rstrip("/") + path, protocol_binding=binding, protocol_version="1.0"
            )
            for path, binding in ((JSONRPC_PATH, "JSONRPC"), (REST_PATH, "HTTP+JSON"))
        ],
        capabilities=AgentCapabilities(
            streaming=card.capabilities.streaming,
            push_notifications=card.capabilities.push_notifications,
            extensions=[
                AgentExtension(uri=TASK_EXTENSION, description="Takes the brief as an envelope"),
                AgentExtension(uri=STATUS_EXTENSION, description="Says what a parked task awaits"),
            ],
        ),
        provider=AgentProvider(organization=provider.organization, url=provider.url)
        if provider
        else None,
        documentation_url=card.documentation_url,
        icon_url=card.icon_url,
        default_input_modes=card.default_input_modes,
        default_output_modes=card.default_output_modes,
        # A card has at least one skill, and a skill one tag (A2A section 4.4).
        skills=[_skill(skill) for skill in card.skills or (_only_skill(card),)],
    )


def _only_skill(card: CardSettings) -> CardSkill:
    return CardSkill(id="self", name=card.name, description=card.description)


def _skill(skill: CardSkill) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=skill.tags or (skill.id,),
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
    )
