"""The pure part of locum: the sub-task, its events, its machine and what to do next.

No network, no asyncio, no protobuf, no clock and no random source in here. The names are imported
when they are first asked for: who only needs an error does not wait for the machine's library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    **dict.fromkeys(("A2AState", "Lifecycle", "Trigger"), ".lifecycle"),
    **dict.fromkeys(("Artifact", "Part", "RemoteReport"), ".report"),
    "LocumError": ".errors",
    "SubTask": ".subtask",
}
"""Where a name is, when it is not among the events."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".events"), __name__), name)
