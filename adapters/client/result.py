"""What an operation of the explicit client gives: a result, and a page of them (G9). Only values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from a2a.types.a2a_pb2 import Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from msgspec import UNSET

from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part
from locum.projections.rows import artifact_to_json

__all__ = ["A2APage", "A2AResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class A2AResult:
    """What an agent has said so far: a direct answer, or a task as far as it is known.

    `text` is the agent's own words: the result of what is COMPLETED, the question of what is parked,
    the reason of what has failed, and of a task at work what there is of its result, else its latest
    status text. A direct answer is COMPLETED and has no `task_id`.
    """

    state: A2AState | None
    """None when the agent names no state, or one that is not known."""
    text: str
    status_text: str = ""
    """The words of the latest status message."""
    artifacts: tuple[Artifact, ...] = field(default=(), repr=False)
    """The results, each whole as far as it has come; the parts of a direct answer are one."""
    parts: tuple[Part, ...] = field(default=(), repr=False)
    """The parts of the status message, or of the direct answer."""
    task_id: str = ""
    context_id: str = ""
    anomalies: tuple[str, ...] = ()
    """What had to be mended to read the agent (K2), each name once."""
    message: Message | None = field(default=None, repr=False)
    """The direct answer, as the agent gave it."""
    task: Task | None = field(default=None, repr=False)
    """The task, when what was heard last is all of it."""
    update: TaskStatusUpdateEvent | TaskArtifactUpdateEvent | None = field(default=None, repr=False)
    """The event of a stream that led to this result, when it is not a whole task."""

    @property
    def data(self) -> list[Any]:
        """The values of the data parts, in order: the result's, else the status message's."""
        found = [part for artifact in self.artifacts for part in artifact.parts]
        values = [part.data for part in found if part.data is not UNSET]
        return values or [part.data for part in self.parts if part.data is not UNSET]

    @property
    def completed(self) -> bool:
        """It ended well, or was answered directly."""
        return self.state is A2AState.COMPLETED

    @property
    def failed(self) -> bool:
        """It ended in any other way: FAILED, REJECTED or CANCELED (E7)."""
        return self.state is not None and self.state.is_terminal and not self.completed

    @property
    def input_required(self) -> bool:
        """It waits for an answer: send one with this `task_id` and `context_id`."""
        return self.state is A2AState.INPUT_REQUIRED

    @property
    def auth_required(self) -> bool:
        """It waits for an authorisation, given outside or by a message."""
        return self.state is A2AState.AUTH_REQUIRED

    @property
    def settled(self) -> bool:
        """It has ended or waits: nothing more comes by itself."""
        return self.state is not None and self.state.is_settled

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values, without the protobuf objects."""
        return {
            "state": None if self.state is None else self.state.value,
            "text": self.text,
            "status_text": self.status_text,
            "data": self.data,
            "artifacts": [artifact_to_json(artifact) for artifact in self.artifacts],
            "task_id": self.task_id,
            "context_id": self.context_id,
            "completed": self.completed,
            "failed": self.failed,
            "input_required": self.input_required,
            "auth_required": self.auth_required,
            "anomalies": list(self.anomalies),
        }


@dataclass(frozen=True, slots=True)
class A2APage:
    """One page of an agent's tasks; iterating gives them. `next_page_token` is empty on the last.

    `total` is how many the agent says that there are, 0 when it says nothing. `left_out` is how many
    the agent put on the page although they do not fit the filter or exceed the page's size.
    """

    tasks: tuple[A2AResult, ...]
    next_page_token: str = ""
    total: int = 0
    left_out: int = 0

    def __iter__(self) -> Iterator[A2AResult]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)
