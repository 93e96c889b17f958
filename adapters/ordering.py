"""Building the commands of a caller: what was handed in is checked, named and timed here.

Nothing is recorded or sent; a refusal names the field.
"""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from locum.core.commands import Reply, Spawn
from locum.core.events import Envelope, Follows
from locum.core.report import Part
from locum.core.subtask import SubTask
from locum.core.times import add_seconds, to_text

from .a2a.agent import Agent
from .a2a.extensions import TASK_EXTENSION
from .a2a.wire.words import one_line
from .requests import (
    checked_each,
    checked_id,
    checked_line,
    checked_parts,
    checked_question,
    checked_string,
    checked_text,
    checked_timeout,
)
from .settings.agents import SELF
from .values import refusal

__all__ = ["Brief", "follows_of", "keyed_id", "new_id", "reply_command", "spawn_command", "utc_now"]

KEY_SPACE = uuid.UUID("0e2b6f0c-6f2e-4d5b-9d4e-1c1f3a9c7b10")
"""Name space of the sub-task ids that idempotency keys lead to (C10)."""

NAME_LIMIT = 80
"""Characters of the name that a sub-task gets from its goal."""
_LOOKED_AT = 4_000
"""Characters of the goal that are looked through for it."""


class Brief(Struct, frozen=True, kw_only=True):
    """A piece of work as a caller hands it in, unchecked."""

    parent_id: str
    goal: str
    description: str
    acceptance_criteria: Sequence[str]
    name: str
    parts: Sequence[Part | Mapping[str, Any]]
    actor: str
    timeout: float | None
    idempotency_key: str | None
    model: str
    reasoning_effort: str
    parent_tasks: Sequence[str]
    correlation_id: str | None


def utc_now() -> datetime:
    """The time, for who was handed no other clock."""
    return datetime.now(UTC)


def new_id(now: datetime) -> str:
    """A sub-task id that sorts by its time."""
    return f"st-{int(now.timestamp() * 1000):012x}{secrets.token_hex(8)}"


def keyed_id(parent_id: str, key: str) -> str:
    """The one sub-task id that a parent's idempotency key leads to (C10)."""
    return f"st-{uuid.uuid5(KEY_SPACE, f'{len(parent_id)}:{parent_id}:{key}').hex}"


def spawn_command(
    brief: Brief,
    *,
    sub_task_id: str,
    agent: Agent,
    follows: Follows | None,
    participant_id: str,
    now: datetime,
) -> Spawn:
    """The command that records the brief for an agent. Raises RequestError."""
    goal = checked_text("goal", brief.goal, empty=False, wanted="what is to be done, in words")
    seconds = checked_timeout(brief.timeout)
    at = to_text(now)
    return Spawn(
        sub_task_id=sub_task_id,
        at=at,
        actor=checked_line("actor", brief.actor),
        correlation_id=checked_line(
            "correlation_id", brief.correlation_id or secrets.token_hex(16)
        ),
        parent_id=brief.parent_id,
        agent_id=agent.id,
        name=checked_line("name", brief.name) or _name_from(goal),
        goal=goal,
        description=checked_text("description", brief.description),
        acceptance_criteria=checked_each(
            "acceptance_criteria", brief.acceptance_criteria, checked_text
        ),
        parts=checked_parts(brief.parts),
        message_id=str(uuid.uuid4()),
        participant_id=participant_id,
        card_digest=agent.card_digest,
        envelope=_envelope_for(agent),
        model=checked_line("model", brief.model),
        reasoning_effort=checked_line("reasoning_effort", brief.reasoning_effort),
        parent_tasks=checked_each("parent_tasks", brief.parent_tasks, checked_id),
        follows=follows,
        deadline=None if seconds is None else add_seconds(at, seconds),
        idempotency_key=brief.idempotency_key,
    )


def reply_command(
    sub_task_id: str,
    *,
    text: str,
    parts: Sequence[Part | Mapping[str, Any]],
    question: int | None,
    actor: str,
    correlation_id: str | None,
    now: datetime,
) -> Reply:
    """The command that records a reply. Raises RequestError."""
    checked = checked_parts(parts)
    return Reply(
        sub_task_id=checked_string("sub_task_id", sub_task_id),
        at=to_text(now),
        actor=checked_line("actor", actor),
        correlation_id=checked_line("correlation_id", correlation_id or ""),
        message_id=str(uuid.uuid4()),
        text=checked_text(
            "text", text, empty=bool(checked), wanted="the answer, in words or as parts"
        ),
        parts=checked,
        question=checked_question(question),
    )


def follows_of(before: SubTask, agent_id: str) -> Follows:
    """The context of an ended sub-task, for one of the same agent (C14). Raises RequestError."""
    if before.agent_id != agent_id:
        raise refusal(
            "follows",
            found=f"sub-task {before.id}, which is agent {before.agent_id!r}'s",
            accepted=f"one of agent {agent_id!r}: a context is continued with the agent that has it",
        )
    if not before.is_resolved:
        raise refusal(
            "follows",
            found=f"sub-task {before.id}, which is {before.state}",
            accepted="one that has ended; wait for its end, or reply to it",
        )
    if not before.context_id and not before.remote_task_id:
        raise refusal(
            "follows",
            found=f"sub-task {before.id}, whose agent named neither a context nor a task",
            accepted="one with a context to go on in; spawn without it, and say all in the brief",
        )
    return Follows(
        sub_task_id=before.id, remote_task_id=before.remote_task_id, context_id=before.context_id
    )


def _name_from(goal: str) -> str:
    """The first line of the goal that has anything to show, as one plain line."""
    lines = goal.strip()[:_LOOKED_AT].splitlines()
    return next((name for line in lines if (name := one_line(line, NAME_LIMIT))), "…")


def _envelope_for(agent: Agent) -> Envelope:
    """Which task envelope goes to an agent: the full one to `self` only (C3)."""
    if TASK_EXTENSION not in agent.extensions:
        return "none"
    return "full" if agent.id == SELF else "brief"
