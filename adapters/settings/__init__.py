"""Settings: every key, its default and what it may be. Starts nothing."""

from .agents import SELF, AgentSettings, CardSettings
from .reading import (
    LimitSettings,
    ServerSettings,
    Settings,
    StandinSettings,
    StoreSettings,
    TelemetrySettings,
)

__all__ = [
    "SELF",
    "AgentSettings",
    "CardSettings",
    "LimitSettings",
    "ServerSettings",
    "Settings",
    "StandinSettings",
    "StoreSettings",
    "TelemetrySettings",
]
