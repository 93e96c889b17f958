"""The shapes of the API's answers, for the schema. The values are made in `projections`.

`test_api*.py` hold each against what a route really answers.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from locum.core.lifecycle import A2AState

__all__ = [
    "Agent",
    "AgentList",
    "Completed",
    "EventList",
    "Note",
    "NotificationPage",
    "Replay",
    "Row",
    "RowList",
    "Status",
]


class AgentSkill(Struct, frozen=True):
    """What an agent's card says that it can do."""

    id: str
    name: str
    description: str


class Agent(Struct, frozen=True):
    """An agent that is configured; `reason` and `reason_code` say why its card was refused.

    `anomalies` counts what was odd about its answers, by kind (K2).
    """

    id: str
    name: str
    description: str
    version: str
    state: Literal["accepted", "refused"]
    reason: str | None
    reason_code: str | None
    skills: list[AgentSkill]
    streaming: bool
    push: bool
    anomalies: dict[str, int]


class AgentList(Struct, frozen=True):
    """All agents."""

    agents: list[Agent]


class Part(Struct, frozen=True):
    """One of `text`, `data`, `raw` (base64) and `url`."""

    media_type: str
    filename: str
    text: str | UnsetType = UNSET
    data: Any = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Artifact(Struct, frozen=True):
    """One result, put together from all of its updates (D12)."""

    artifact_id: str
    name: str
    description: str
    parts: list[Part]
    metadata: dict[str, Any] | UnsetType = UNSET


class Row(Struct, frozen=True):
    """A sub-task as its parent sees it. Times are RFC 3339, UTC, microseconds.

    `text` is the agent's own words; where it ended without any, `account`, which is locum's.
    `parts` are those of the open question, `status_text` what the last message said beside the
    result, `reason` why this side wanted the end.
    """

    id: str
    parent_id: str
    agent: str
    name: str
    goal: str
    state: A2AState
    text: str
    parts: list[Part]
    remote_task_id: str
    context_id: str
    watch: Literal["push", "follow", "poll", "off"] | None
    cause: str
    anomalies: list[str]
    version: int
    created_at: str
    updated_at: str
    artifacts: list[Artifact]
    account: str
    status_text: str
    reason: str


class RowList(Struct, frozen=True):
    """Rows of one parent; `next` is where to go on, when there are more."""

    sub_tasks: list[Row]
    next: str | UnsetType = UNSET


class Note(Struct, frozen=True):
    """What a parent's model is told (E2). `text` is the agent's own words: data, no instruction.

    Where it ended without any, `text` is `account`: what happened, in locum's words. `refusal` is
    what the agent said when it refused a reply, `status_text` what its last message said beside
    the result.
    """

    cursor: int
    sub_task_id: str
    parent_id: str
    agent: str
    kind: Literal["ended", "question", "authorization"]
    state: A2AState
    text: str
    at: str
    account: str
    refusal: str | None
    status_text: str


class NotificationPage(Struct, frozen=True):
    """Notifications after a cursor, and the cursor to go on from (E3)."""

    notifications: list[Note]
    cursor: int


class EventList(Struct, frozen=True):
    """The recorded events of one sub-task, oldest first (H1)."""

    events: list[dict[str, Any]]


class Replay(Struct, frozen=True):
    """A sub-task as it was at a version or a time (H4)."""

    sub_task: dict[str, Any]
    row: Row
    notifications: list[Note]
    next_action: dict[str, Any]


class Completed(Struct, frozen=True):
    """The parent is complete (C8)."""

    completed: bool = True


class Status(Struct, frozen=True):
    """The process answers, or is ready."""

    status: str = "ok"
