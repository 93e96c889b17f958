"""The explicit client, for trusted code that decides itself what is done (section G).

It stands on the same cards, wire and credentials as the stand-ins. It records nothing.
"""

from .client import A2AClient
from .graph_node import RemoteAgent
from .result import A2APage, A2AResult
from .updates import Updates

__all__ = ["A2AClient", "A2APage", "A2AResult", "RemoteAgent", "Updates"]
