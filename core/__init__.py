"""The pure part of locum: the sub-task, its events, its machine and what to do next.

No network, no asyncio, no protobuf, no clock and no random source in here.
"""

from .errors import LocumError
from .events import Created, Event, Linked, Parked, PushRevoked, Resolved, Woken
from .lifecycle import A2AState, Lifecycle, Trigger
from .report import Artifact, Part, RemoteReport
from .subtask import SubTask

__all__ = [
    "A2AState",
    "Artifact",
    "Created",
    "Event",
    "Lifecycle",
    "Linked",
    "LocumError",
    "Parked",
    "Part",
    "PushRevoked",
    "RemoteReport",
    "Resolved",
    "SubTask",
    "Trigger",
    "Woken",
]
