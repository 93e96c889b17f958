"""locum's connections to the world: the facade, the agents, the store and the faces."""

from .bootstrap import Harness
from .settings import Settings

__all__ = ["Harness", "Settings"]
