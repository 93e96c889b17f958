"""What a sub-task can be told to do. Commands are imperative; each is decided in `decide.py`.

Time, ids and random values come in here as arguments: the core has no clock and no dice.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from .events import Cause, Envelope, Follows, Watch
from .lifecycle import A2AState
from .report import Artifact, Part, RemoteReport, Source

__all__ = [
    "RESULT_BYTES",
    "Cancel",
    "Command",
    "DropReply",
    "Expire",
    "Fail",
    "Hear",
    "HearLimits",
    "RefuseReply",
    "Reply",
    "RevokePush",
    "Rewatch",
    "Spawn",
]


RESULT_BYTES = 4 * 1024 * 1024
"""Bytes of a result that are kept where nobody says otherwise (J3)."""


class _Command(Struct, frozen=True, kw_only=True):
    """Common to all: `at` is the time to record (RFC 3339, UTC), `actor` who is behind it."""

    sub_task_id: str
    at: str
    actor: str
    cause: Cause
    correlation_id: str = ""


class Spawn(_Command, frozen=True, kw_only=True):
    """Record the brief of a new sub-task (C2)."""

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
    cause: Cause = "parent"


class HearLimits(Struct, frozen=True, kw_only=True):
    """How much of an agent's restlessness is recorded (D15, D17) and of its words kept (J3).

    Times are in seconds; `result_bytes` bounds a result, and the parts of a question. No more than
    `subtask.FLIPS_KEPT` flips can be counted.
    """

    flips: int = 20
    flip_window: float = 3600.0
    flip_pause: float = 60.0
    text_pause: float = 5.0
    result_bytes: int = RESULT_BYTES


class Hear(_Command, frozen=True, kw_only=True):
    """Take in what an agent said.

    `artifacts` are all artifacts put together so far. `watch` is how the task is watched should it
    be parked. `moved` allows another task id than the linked one (C13). `confirmed` says that a
    second look found the same (a question that might be an old one heard again). `waiting_text` is
    a later status text than the recorded one, heard too soon to be recorded (D17). `reason` is why
    this side wanted the end, when what is heard answers a cancel (F2).
    """

    report: RemoteReport
    source: Source
    artifacts: tuple[Artifact, ...] = ()
    watch: Watch
    moved: bool = False
    confirmed: bool = False
    waiting_text: str = ""
    reason: str = ""
    limits: HearLimits = HearLimits()


class Reply(_Command, frozen=True, kw_only=True):
    """Answer the open question (C12). Recorded before it is sent.

    `artifacts` are all that were put together by then: the next question is not in there (D16).
    """

    message_id: str
    text: str
    parts: tuple[Part, ...] = ()
    question: int | None = None
    artifacts: tuple[Artifact, ...] = ()
    cause: Cause = "reply"


class RefuseReply(_Command, frozen=True, kw_only=True):
    """The agent refused the reply: park again under the same question (C12)."""

    message_id: str
    reason: str
    watch: Watch
    cause: Cause = "reply"


class DropReply(_Command, frozen=True, kw_only=True):
    """The agent refused the reply, and has gone on: the question is not open any more (C12)."""

    message_id: str
    reason: str
    cause: Cause = "reply"


class Rewatch(_Command, frozen=True, kw_only=True):
    """Watch a parked task anew: same question, another token (after a crash, case P4)."""

    watch: Watch


class _End(_Command, frozen=True, kw_only=True):
    """Common to the ends that locum makes: `artifacts` is all that was heard until then (D12).

    Past `result_bytes` they are left out.
    """

    artifacts: tuple[Artifact, ...] = ()
    result_bytes: int = RESULT_BYTES


class Cancel(_End, frozen=True, kw_only=True):
    """End as CANCELED: the agent confirmed it, or never said so in time (F2)."""

    reason: str = ""
    confirmed: bool = True
    cause: Cause = "parent"


class Expire(_End, frozen=True, kw_only=True):
    """End as FAILED because the deadline passed (C11).

    `report` is how the agent said that the task was canceled, None where it did not (E7).
    """

    confirmed: bool = True
    report: RemoteReport | None = None
    cause: Cause = "deadline"


class Fail(_End, frozen=True, kw_only=True):
    """End as FAILED for a reason that locum met: a refused send, a task that is gone (C7, D10).

    `text` is what came from the agent about it, `account` what happened in locum's words. Nothing
    that an agent wrote may be in there: a model reads it as locum's (E6).
    """

    code: str
    text: str = ""
    account: str = ""
    delivery: Literal["refused", "unknown"] | None = None
    state: A2AState = A2AState.FAILED
    anomalies: tuple[str, ...] = ()


class RevokePush(_Command, frozen=True, kw_only=True):
    """Record that a push config is no more (F1), or that its registration failed (D2).

    `remote_task_id` is the task that the config is on; empty means the one it was last given to.
    """

    config_id: str
    remote_task_id: str = ""
    outcome: Literal["deleted", "gone", "failed", "refused"]
    detail: str = ""


Command: TypeAlias = (
    Spawn | Hear | Reply | RefuseReply | DropReply | Rewatch | Cancel | Expire | Fail | RevokePush
)
