"""What an explicit client is made with, read like one of `[[agents]]` and refused alike. Sends nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from locum.core.errors import ConfigError

from ..a2a.credentials.kinds import CustomCredentials
from ..origins import Origin
from ..settings.agents import AgentSettings, read_auth
from ..settings.tables import read_fields

__all__ = ["Auth", "configured"]

Auth = Mapping[str, Any] | Sequence[Mapping[str, Any]] | CustomCredentials
"""Credentials: a table like `auth` of `[[agents]]`, a list of them, or an object that resolves them."""


def configured(
    *, card_url: str, url: str, name: str, credentials: Auth | None, **more: Any
) -> tuple[AgentSettings, CustomCredentials | None]:
    """The agent's settings, and the object that looks after its credentials, if there is one.

    `more` are keys of `[[agents]]`. Raises ConfigError.
    """
    fields = read_fields(AgentSettings, {"card_url": card_url, "url": url, **more}, "")
    place = fields["card_url"] or fields["url"]
    if not place or (card_url and url):
        raise ConfigError(
            "card_url",
            found="both card_url and url" if place else "nothing",
            accepted="the card's URL, or the agent's as url",
        )
    agent_id = name or Origin.of(place).host
    if _resolves(credentials):
        return AgentSettings(id=agent_id, **fields), credentials
    auth = () if credentials is None else read_auth(_plain(credentials), "credentials")
    return AgentSettings(id=agent_id, auth=auth, **fields), None


def _resolves(credentials: Auth | None) -> TypeGuard[CustomCredentials]:
    return callable(getattr(credentials, "resolve", None))


def _plain(credentials: Any) -> Any:
    """A sequence of any kind as the list that a configuration has."""
    is_many = isinstance(credentials, Sequence) and not isinstance(credentials, str)
    return list(credentials) if is_many else credentials
