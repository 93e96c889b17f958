"""The six events of a sub-task: the only record of it (H1). They hold JSON values and nothing else.

Each stored event is the JSON of one of these, self-contained: it names its sub-task, its version,
its schema, and the hashes that chain it to the one before it (`chain.py`). A stored name is its
`TOPIC`, so that a class can be renamed without touching a history.
"""

from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from .lifecycle import A2AState
from .report import Artifact, Part, Seen

__all__ = [
    "EVENT_TYPES",
    "SCHEMA",
    "Cause",
    "Created",
    "Envelope",
    "Event",
    "Follows",
    "Linked",
    "Parked",
    "PushRevoked",
    "Resolved",
    "Watch",
    "WatchMode",
    "Woken",
]

SCHEMA = 1
"""The schema version that this release writes. A history of a higher one is refused (I5)."""

Cause: TypeAlias = Literal[
    "parent", "send", "push", "follow", "poll", "reply", "recheck", "recovery", "deadline"
]
Envelope: TypeAlias = Literal["none", "brief", "full"]
WatchMode: TypeAlias = Literal["push", "follow", "poll", "off"]


class Follows(Struct, frozen=True, kw_only=True):
    """The finished sub-task whose context a new one continues (C14)."""

    sub_task_id: str
    remote_task_id: str
    context_id: str


class Watch(Struct, frozen=True, kw_only=True):
    """How a parked task is watched. Of a push token only its SHA-256 digest is here (D2).

    `fallback` is what the watch turns into when the agent refuses the registration.
    """

    mode: WatchMode
    fallback: WatchMode = "follow"
    config_id: str | None = None
    token_digest: str | None = None


class _Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What all events carry (H1): `at` is when it was recorded, `remote_at` the agent's time."""

    TOPIC: ClassVar[str]

    sub_task_id: str
    version: int
    schema: int = SCHEMA
    at: str
    cause: Cause
    actor: str
    correlation_id: str
    remote_at: str | None = None
    anomalies: tuple[str, ...] = ()

    @property
    def originator_id(self) -> str:
        """The name that eventsourcing knows the sub-task id by."""
        return self.sub_task_id

    @property
    def originator_version(self) -> int:
        """The name that eventsourcing knows the version by."""
        return self.version


class Created(_Event, frozen=True, kw_only=True, tag="Created"):
    """The brief, recorded before anything is sent (C2). The sub-task is SUBMITTED."""

    TOPIC: ClassVar[str] = "locum.sub_task.created"

    parent_id: str
    agent_id: str
    name: str
    goal: str
    description: str
    acceptance_criteria: tuple[str, ...]
    parts: tuple[Part, ...]
    message_id: str
    participant_id: str
    card_digest: str
    envelope: Envelope = "none"
    model: str = ""
    reasoning_effort: str = ""
    parent_tasks: tuple[str, ...] = ()
    follows: Follows | None = None
    deadline: str | None = None
    idempotency_key: str | None = None
    previous_hash: str = ""
    hash: str = ""


class Linked(_Event, frozen=True, kw_only=True, tag="Linked"):
    """The remote task is known (C4), or the agent went on under another one (C13)."""

    TOPIC: ClassVar[str] = "locum.sub_task.linked"

    remote_task_id: str
    context_id: str
    state: A2AState
    replaces: str | None = None
    previous_hash: str = ""
    hash: str = ""


class Parked(_Event, frozen=True, kw_only=True, tag="Parked"):
    """The agent waits for an answer or an authorisation.

    `question` is the version of the Parked that opened the question: its own version for a new
    one, an earlier one when the same question is recorded again (a new watch, a refused reply).
    `message_id` is the agent's, `seen` how much there was of each artifact (D16), `refusal` what
    the agent said when it refused a reply (C12). `context_id` is given where it was not known
    before, here as in the events below.
    """

    TOPIC: ClassVar[str] = "locum.sub_task.parked"

    state: A2AState
    text: str
    parts: tuple[Part, ...]
    watch: Watch
    question: int
    message_id: str = ""
    seen: dict[str, Seen] = {}
    refusal: str | None = None
    context_id: str = ""
    previous_hash: str = ""
    hash: str = ""


class Woken(_Event, frozen=True, kw_only=True, tag="Woken"):
    """The task works (again). A reply is recorded as one of these before it is sent (C12).

    `refusal` is what the agent said when it refused a reply because it had gone on. `seen` is how
    much there was of each artifact at a reply (D16), None for what is none, or is older than that.
    """

    TOPIC: ClassVar[str] = "locum.sub_task.woken"

    text: str
    message_id: str | None = None
    question: int | None = None
    parts: tuple[Part, ...] = ()
    seen: dict[str, Seen] | None = None
    refusal: str | None = None
    context_id: str = ""
    previous_hash: str = ""
    hash: str = ""


class Resolved(_Event, frozen=True, kw_only=True, tag="Resolved"):
    """The end, which is final (F3).

    `code` says why when it was not the agent's plain word (`deadline`, `remote.gone`,
    `delivery.unknown`, an error code …). `delivery` is null, or whether the brief was `refused` or
    its fate is `unknown` (C7). `confirmed` is False when an agent never confirmed a cancel (F2).
    `reason` is why this side wanted the end. `text` is the agent's own words, or words that may
    hold some of them; `status_text` what its last message said besides, where `text` is its
    artifacts' (D12); `account` is locum's own: what happened, where the agent did not end it
    itself. Events from before there was an `account` have that in `text`. `artifacts` is all that
    the agent had brought by then, however it ended.
    """

    TOPIC: ClassVar[str] = "locum.sub_task.resolved"

    state: A2AState
    text: str
    artifacts: tuple[Artifact, ...] = ()
    code: str | None = None
    delivery: Literal["refused", "unknown"] | None = None
    confirmed: bool = True
    reason: str = ""
    account: str = ""
    status_text: str = ""
    context_id: str = ""
    previous_hash: str = ""
    hash: str = ""


class PushRevoked(_Event, frozen=True, kw_only=True, tag="PushRevoked"):
    """The push config is no more: deleted at the end, or its registration was refused (F1, D2).

    `remote_task_id` is the task that it was on, which may be one that the agent moved on from.
    """

    TOPIC: ClassVar[str] = "locum.sub_task.push_revoked"

    config_id: str
    remote_task_id: str
    outcome: Literal["deleted", "gone", "failed", "refused"]
    detail: str = ""
    previous_hash: str = ""
    hash: str = ""


Event: TypeAlias = Created | Linked | Parked | Woken | Resolved | PushRevoked
EVENT_TYPES: dict[str, type[Any]] = {
    cls.TOPIC: cls for cls in (Created, Linked, Parked, Woken, Resolved, PushRevoked)
}
"""Every stored topic and its class."""
