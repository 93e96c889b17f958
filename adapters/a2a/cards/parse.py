"""Reads a card from JSON with a2a-sdk's reader (A1), and says what is missing. Judges nothing else."""

import json
from typing import Any

from a2a.client.card_resolver import parse_agent_card
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import Error as ProtoJsonError

from locum.core.errors import CardError

from ..wire.words import one_line

__all__ = ["parse_card"]

_INTERFACES = ("supportedInterfaces", "supported_interfaces", "url")
"""Any of these says where the agent is; `url` is A2A 0.3's, which gets a refusal of its own."""
_OLD = "security"
"""A2A 0.3's name for the requirements, whose form the SDK's reader knows."""
_REQUIREMENTS = ("securityRequirements", "security_requirements", _OLD)
"""Protobuf's JSON has two names for a field."""


def parse_card(body: bytes | str) -> AgentCard:
    """The card in `body`, by a2a-sdk's reader.

    Raises CardError `card.invalid`: not JSON, not an object, a field that cannot be read or is
    missing, named. Lists may be missing; they are empty then (case C5).
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _invalid("it is no JSON") from error
    if not isinstance(data, dict):
        raise _invalid("it is no JSON object")
    lacks_interfaces = not any(name in data for name in _INTERFACES)
    try:
        card = parse_agent_card(data | _in_form(data))
    except ProtoJsonError as error:
        raise _invalid(f"a field cannot be read ({one_line(str(error), 200)})") from error
    except OverflowError as error:
        # JSON's whole numbers are Python's, but those of a Struct are doubles.
        raise _invalid("a whole number in it is too large") from error
    except (TypeError, AttributeError, ValueError, KeyError, RecursionError) as error:
        # What a2a-sdk's reader trips over in a card of strange shape.
        raise _invalid(f"its shape cannot be read ({type(error).__name__})") from error
    needed = {"name": card.name, "description": card.description, "version": card.version}
    missing = [name for name, value in needed.items() if not value]
    if lacks_interfaces:
        missing.append("supportedInterfaces")
    if missing:
        raise _invalid(f"it lacks {', '.join(missing)}")
    return card


def _in_form(data: dict[str, Any]) -> dict[str, Any]:
    """Requirements written as OpenAPI does, `{"scheme": ["scope"]}`, in A2A 1.0's form.

    Unknown fields are ignored, so that such a requirement would be read as none at all. Raises
    CardError for one that has no form.
    """
    formed: dict[str, Any] = {}
    for name in _REQUIREMENTS:
        requirements = data.get(name)
        if not isinstance(requirements, list):
            continue
        if not all(isinstance(requirement, dict) for requirement in requirements):
            # The reader takes a text for an object without any field that it knows.
            raise _invalid(f"a requirement in {name} is no object")
        if name != _OLD:
            formed[name] = [_formed(requirement) for requirement in requirements]
    return formed


def _formed(requirement: dict[str, Any]) -> dict[str, Any]:
    if not requirement or "schemes" in requirement:
        return requirement
    return {"schemes": {scheme: {"list": scopes} for scheme, scopes in requirement.items()}}


def _invalid(why: str) -> CardError:
    return CardError(
        f"The card is not one of A2A 1.0: {why}. Have the agent serve a valid card.",
        code="card.invalid",
    )
