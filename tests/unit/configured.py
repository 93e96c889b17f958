"""Settings with one agent, and the refusal that reading them ends in. No tests."""

from typing import Any

import pytest

from locum.adapters.settings import Settings
from locum.core.errors import ConfigError

__all__ = ["AGENT", "agent", "refused"]

AGENT = {"id": "inventory", "url": "https://inventory.example"}


def refused(tables: dict[str, Any], environ: dict[str, str] | None = None) -> ConfigError:
    """The refusal that reading `tables` ends in."""
    with pytest.raises(ConfigError) as caught:
        Settings.from_mapping(tables, environ)
    return caught.value


def agent(**keys: Any) -> dict[str, Any]:
    """Tables with one agent that has `keys` besides."""
    return {"agents": [AGENT | keys]}
