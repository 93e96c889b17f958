"""The sub-task: one piece of handed-out work, as its events make it.

`apply` only assigns. It asks no machine, no clock and no network, so that an old history stays
readable when the rules change. What may happen is decided in `decide.py`.
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec
from msgspec import Struct

from .chain import GENESIS
from .errors import HistoryError
from .events import (
    Created,
    Envelope,
    Event,
    Follows,
    Linked,
    Parked,
    PushRevoked,
    Resolved,
    Watch,
    Woken,
)
from .lifecycle import A2AState
from .report import Artifact, Part, Seen

__all__ = ["BESIDE", "FLIPS_KEPT", "PendingReply", "PushConfig", "SubTask", "evolve", "replay"]


class PendingReply(Struct, frozen=True, kw_only=True):
    """A recorded reply that is open: the agent has neither asked again nor ended since.

    Whether it arrived is not recorded; after a restart it is looked for on the agent (I3).
    """

    message_id: str
    question: int
    text: str
    parts: tuple[Part, ...]
    version: int


class PushConfig(Struct, frozen=True, kw_only=True):
    """A push config of ours, and the remote task that it is on."""

    config_id: str
    remote_task_id: str


class SubTask(Struct, frozen=True, kw_only=True):
    """The state of a sub-task after its latest event. Immutable; `evolve` gives the next one."""

    id: str
    version: int
    head: str
    """The hash of the latest event."""

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
    envelope: Envelope
    model: str
    reasoning_effort: str
    parent_tasks: tuple[str, ...]
    follows: Follows | None
    deadline: str | None
    idempotency_key: str | None
    correlation_id: str
    created_at: str
    updated_at: str

    state: A2AState = A2AState.SUBMITTED
    remote_task_id: str = ""
    context_id: str = ""
    replaced: tuple[str, ...] = ()
    """Remote task ids that the agent moved on from (C13)."""
    remote_at: str | None = None
    """The newest status time heard from the agent (D14)."""
    cause: str = "parent"
    anomalies: tuple[str, ...] = ()

    question: int | None = None
    """The version of the Parked that opened the open question, or None."""
    text: str = ""
    """What the agent asks, works on or ended with, in its own words."""
    account: str = ""
    """What happened at the end, in locum's words, where the agent did not end it itself."""
    status_text: str = ""
    """What the agent's last message said beside its result (D12)."""
    reason: str = ""
    """Why this side wanted the end."""
    asked: str = ""
    """The words of the latest question, open or answered."""
    asked_id: str = ""
    """The agent's message id of that question."""
    asked_parts: tuple[Part, ...] = ()
    """The parts of that question, as far as they were kept (D16)."""
    asked_state: A2AState | None = None
    beside: str = ""
    """What the task itself goes on asking while that question is open, if a message asks it."""
    seen: dict[str, Seen] = {}
    """How much there was of each artifact when that question was asked, or answered (D16)."""
    watch: Watch | None = None
    """How the parked task is watched; None while it works or has ended."""
    push_config_id: str | None = None
    """A push config that the agent may still hold."""
    push_task_id: str = ""
    """The remote task that it is on."""
    stale_pushes: tuple[PushConfig, ...] = ()
    """Earlier push configs that the agent may still hold, on tasks that it moved on from (C13)."""
    token_digest: str | None = None
    """SHA-256 of the token that a push must bear; None when none is accepted."""
    token_digests: tuple[str, ...] = ()
    """The digests of all tokens that the agent may have been given, the latest; to mask them (D2)."""
    push_refused: bool = False
    """The agent refused the push config of the open question: its watch is what was left (D2)."""
    reply: PendingReply | None = None
    refusal: str | None = None
    """What the agent said when it refused the last reply and went on, until more is heard (C12)."""
    flips: tuple[str, ...] = ()
    """When the task left a parked state, or changed its question, by itself; the latest (D15)."""
    changed_at: str = ""
    """When a change was last recorded (D15)."""
    text_at: str | None = None
    """When a status text was last recorded (D17)."""

    artifacts: tuple[Artifact, ...] = ()
    code: str | None = None
    delivery: str | None = None
    confirmed: bool = True

    @property
    def is_resolved(self) -> bool:
        """True once the sub-task has ended."""
        return self.state.is_terminal

    @property
    def push_configs(self) -> tuple[PushConfig, ...]:
        """Every push config that the agent may still hold, the current one last."""
        if self.push_config_id is None:
            return self.stale_pushes
        current = PushConfig(config_id=self.push_config_id, remote_task_id=self.push_task_id)
        return (*self.stale_pushes, current)

    @property
    def is_linked(self) -> bool:
        """True once the remote task is known."""
        return bool(self.remote_task_id)


TOKENS_KEPT = 64
"""The latest digests that are kept: an agent that asks without end must not make it grow (J3)."""
BESIDE = "question.beside_task"
"""The oddity of a question that came in a message, while its task asks what was answered."""
FLIPS_KEPT = 64
"""The latest flips that are kept; a limit above it would never be reached (D15)."""


def evolve(sub_task: SubTask | None, event: Event) -> SubTask:
    """The sub-task after `event`. Raises HistoryError when the event cannot be its next one."""
    if isinstance(event, Created):
        if sub_task is not None:
            raise HistoryError(
                f"Sub-task {event.sub_task_id} is created twice in its history.",
                code="history.illegal",
            )
        return _created(event)
    if sub_task is None:
        raise HistoryError(
            f"The history of sub-task {event.sub_task_id} does not begin with Created.",
            code="history.illegal",
        )
    changes = _changes(sub_task, event)
    anomalies = sub_task.anomalies + tuple(
        kind for kind in event.anomalies if kind not in sub_task.anomalies
    )
    return msgspec.structs.replace(
        sub_task,
        version=event.version,
        head=event.hash,
        updated_at=event.at,
        # Deleting a push config is no cause of how it stands.
        cause=sub_task.cause if isinstance(event, PushRevoked) else event.cause,
        anomalies=anomalies,
        **changes,
    )


def replay(events: Iterable[Event]) -> SubTask | None:
    """The sub-task that a history makes, or None for an empty one."""
    sub_task: SubTask | None = None
    for event in events:
        sub_task = evolve(sub_task, event)
    return sub_task


def _created(event: Created) -> SubTask:
    return SubTask(
        id=event.sub_task_id,
        version=event.version,
        head=event.hash or GENESIS,
        parent_id=event.parent_id,
        agent_id=event.agent_id,
        name=event.name,
        goal=event.goal,
        description=event.description,
        acceptance_criteria=event.acceptance_criteria,
        parts=event.parts,
        message_id=event.message_id,
        participant_id=event.participant_id,
        card_digest=event.card_digest,
        envelope=event.envelope,
        model=event.model,
        reasoning_effort=event.reasoning_effort,
        parent_tasks=event.parent_tasks,
        follows=event.follows,
        deadline=event.deadline,
        idempotency_key=event.idempotency_key,
        correlation_id=event.correlation_id,
        created_at=event.at,
        updated_at=event.at,
        changed_at=event.at,
        cause=event.cause,
        anomalies=event.anomalies,
    )


def _changes(
    sub_task: SubTask, event: Linked | Parked | Woken | Resolved | PushRevoked
) -> dict[str, object]:
    match event:
        case Linked():
            return {
                "remote_task_id": event.remote_task_id,
                "context_id": event.context_id or sub_task.context_id,
                "replaced": (
                    (*sub_task.replaced, event.replaces) if event.replaces else sub_task.replaced
                ),
                "state": event.state,
                # What was known before it was known of another task (C13), or nothing.
                "remote_at": event.remote_at,
                "reply": None,
                "question": None,
                "watch": None,
                "changed_at": event.at,
            }
        case Parked():
            return _parked(sub_task, event)
        case Woken():
            return _woken(sub_task, event)
        case Resolved():
            return {
                "state": event.state,
                "text": event.text,
                "account": event.account,
                "status_text": event.status_text,
                "reason": event.reason,
                "artifacts": event.artifacts,
                "code": event.code,
                "delivery": event.delivery,
                "confirmed": event.confirmed,
                "context_id": event.context_id or sub_task.context_id,
                "question": None,
                "watch": None,
                "token_digest": None,
                "reply": None,
                "refusal": None if sub_task.state.is_parked else sub_task.refusal,
                "remote_at": event.remote_at or sub_task.remote_at,
                "changed_at": event.at,
            }
        case PushRevoked():
            return _push_revoked(sub_task, event)
        case _ as never:
            assert_never(never)


def _parked(sub_task: SubTask, event: Parked) -> dict[str, object]:
    is_new = event.question == event.version
    is_by_itself = is_new and sub_task.state.is_parked
    watch, stale = event.watch, sub_task.stale_pushes
    if watch.config_id:
        current = PushConfig(config_id=watch.config_id, remote_task_id=sub_task.remote_task_id)
        stale = tuple(config for config in sub_task.push_configs if config != current)
    return {
        "state": event.state,
        "text": event.text,
        "question": event.question,
        "asked": event.text,
        "asked_id": event.message_id,
        # Once, the same question was recorded again without its parts.
        "asked_parts": event.parts if is_new or event.parts else sub_task.asked_parts,
        "asked_state": event.state,
        "beside": _beside(sub_task, event) if is_new else sub_task.beside,
        "seen": event.seen,
        "watch": watch,
        "push_config_id": watch.config_id or sub_task.push_config_id,
        "push_task_id": sub_task.remote_task_id if watch.config_id else sub_task.push_task_id,
        "stale_pushes": stale,
        # A watch that no push wakes accepts none, whatever the agent still holds.
        "token_digest": watch.token_digest if watch.mode == "push" else None,
        "token_digests": _with_digest(sub_task.token_digests, watch.token_digest),
        "push_refused": False,
        "context_id": event.context_id or sub_task.context_id,
        "reply": None,
        # Told with the first question after it.
        "refusal": None if sub_task.state.is_parked else sub_task.refusal,
        "flips": _one_more_flip(sub_task, event.at) if is_by_itself else sub_task.flips,
        "remote_at": _newest(sub_task, event),
        "changed_at": event.at,
    }


def _newest(sub_task: SubTask, event: Parked | Woken) -> str | None:
    """The newest status time: GetTask may mean an older one, or have it without its fraction (D14)."""
    return max(filter(None, (sub_task.remote_at, event.remote_at)), default=None)


def _with_digest(digests: tuple[str, ...], digest: str | None) -> tuple[str, ...]:
    return digests if digest is None else (*digests, digest)[-TOKENS_KEPT:]


def _beside(sub_task: SubTask, event: Parked) -> str:
    if BESIDE not in event.anomalies:
        return ""
    # A message that answers another such message: the task asks what it asked before that.
    return sub_task.beside or sub_task.asked


def _push_revoked(sub_task: SubTask, event: PushRevoked) -> dict[str, object]:
    revoked = PushConfig(config_id=event.config_id, remote_task_id=event.remote_task_id)
    if revoked in sub_task.stale_pushes:
        left = tuple(config for config in sub_task.stale_pushes if config != revoked)
        return {"stale_pushes": left}
    watch = sub_task.watch
    if watch is not None and watch.mode == "push":
        watch = Watch(mode=watch.fallback, fallback=watch.fallback)
    return {
        "push_config_id": None,
        "push_task_id": "",
        "token_digest": None,
        "push_refused": event.outcome == "refused",
        "watch": watch,
    }


def _one_more_flip(sub_task: SubTask, at: str) -> tuple[str, ...]:
    return (*sub_task.flips, at)[-FLIPS_KEPT:]


def _woken(sub_task: SubTask, event: Woken) -> dict[str, object]:
    changes: dict[str, object] = {
        "state": A2AState.WORKING,
        "question": None,
        "watch": None,
        "context_id": event.context_id or sub_task.context_id,
        "remote_at": _newest(sub_task, event),
        "changed_at": event.at,
    }
    if event.message_id is not None:
        changes["text"] = ""
        changes["refusal"] = None
        changes["reply"] = PendingReply(
            message_id=event.message_id,
            question=event.question or 0,
            text=event.text,
            parts=event.parts,
            version=event.version,
        )
        if event.seen is not None:
            changes["seen"] = event.seen
        return changes
    changes["text"] = event.text
    if event.refusal is not None:
        changes["refusal"], changes["reply"] = event.refusal, None
    if event.text:
        changes["text_at"] = event.at
    if sub_task.state.is_parked:
        changes["flips"] = _one_more_flip(sub_task, event.at)
    return changes
