"""locum's connections to the world: the facade, the agents, the store and the faces.

The names are imported when they are first asked for: a command that only reads the store does not
wait for the web framework and the protocol's library to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bootstrap import Harness
    from .client import A2AClient, A2AResult, RemoteAgent
    from .settings import Settings

__all__ = ["A2AClient", "A2AResult", "Harness", "RemoteAgent", "Settings"]

_HOMES = {
    "A2AClient": ".client",
    "A2AResult": ".client",
    "Harness": ".bootstrap",
    "RemoteAgent": ".client",
    "Settings": ".settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
