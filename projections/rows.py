"""The row of a sub-task: what a parent sees of it. A pure function of its events (E1, E5).

Nothing here reads a store. `row_after` makes the next row from the last one and an event, so that a
projection needs no history; `row_of` makes the same row from the aggregate.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from locum.core.errors import HistoryError
from locum.core.events import Created, Event, Linked, Parked, PushRevoked, Resolved, Woken
from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part
from locum.core.subtask import PushConfig, SubTask

__all__ = ["SubTaskRow", "artifact_to_json", "part_to_json", "row_after", "row_of", "row_to_json"]


class SubTaskRow(Struct, frozen=True, kw_only=True):
    """A sub-task as its parent sees it; `row_to_json` gives its public fields.

    `text` is the agent's own words: the open question, the latest status text or the result. Where
    it ended without any, it is `account`: what happened, in locum's words. `said` tells which.
    `parts` are those of the open question, its words among them (D16). `status_text` is what its last message said beside the result (D12), `reason` why this side
    wanted the end. `watch` is how a parked task is watched, None while it works or has ended.
    """

    id: str
    parent_id: str
    agent: str
    name: str
    goal: str
    state: A2AState
    text: str = ""
    remote_task_id: str = ""
    context_id: str = ""
    watch: str | None = None
    cause: str
    anomalies: tuple[str, ...] = ()
    version: int
    created_at: str
    updated_at: str
    artifacts: tuple[Artifact, ...] = ()
    asked_parts: tuple[Part, ...] = ()
    """The parts of the latest question, open or answered."""
    account: str = ""
    status_text: str = ""
    reason: str = ""

    # What a note and recovery need beside: not part of the public row.
    refusal: str | None = None
    """What the agent said when it refused the last reply and went on, until it was told (C12)."""
    deadline: str | None = None
    fallback: str | None = None
    """What a push watch turns into when its config is refused."""
    push: PushConfig | None = None
    """The push config that the agent may still hold."""
    stale_pushes: tuple[PushConfig, ...] = ()
    """Earlier ones, on tasks that the agent moved on from (C13)."""

    @property
    def said(self) -> str:
        """The agent's own words, empty where `text` is locum's."""
        return "" if self.text == self.account else self.text

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the open question; empty where none is open."""
        return self.asked_parts if self.state.is_parked else ()

    @property
    def is_unresolved(self) -> bool:
        """True until the sub-task has ended."""
        return not self.state.is_terminal

    @property
    def has_push(self) -> bool:
        """True while the agent may still hold a push config of ours."""
        return self.push is not None or bool(self.stale_pushes)

    @property
    def is_open(self) -> bool:
        """True while there may be something left to do: unresolved, or a push config to delete."""
        return self.is_unresolved or self.has_push


def row_after(row: SubTaskRow | None, event: Event) -> SubTaskRow:
    """The row after `event`, from the row before it (None for `Created`).

    Raises HistoryError `history.illegal` when the event cannot be the next one of the row.
    """
    if isinstance(event, Created):
        if row is not None:
            raise HistoryError(
                f"Sub-task {event.sub_task_id} is created twice in its history; run"
                " `locum verify`.",
                code="history.illegal",
            )
        return _created(event)
    if row is None or event.version != row.version + 1:
        found = "nothing" if row is None else f"version {row.version}"
        raise HistoryError(
            f"Version {event.version} of sub-task {event.sub_task_id} comes after {found} in its"
            " history; run `locum verify`.",
            code="history.illegal",
        )
    changes = _CHANGES[type(event)](row, event)
    changes["version"] = event.version
    changes["updated_at"] = event.at
    if not isinstance(event, PushRevoked):
        # Deleting a push config is no cause of how it stands.
        changes["cause"] = event.cause
    if event.anomalies:
        fresh = (kind for kind in event.anomalies if kind not in row.anomalies)
        changes["anomalies"] = (*row.anomalies, *fresh)
    return replace(row, **changes)


def _created(event: Created) -> SubTaskRow:
    return SubTaskRow(
        id=event.sub_task_id,
        parent_id=event.parent_id,
        agent=event.agent_id,
        name=event.name,
        goal=event.goal,
        state=A2AState.SUBMITTED,
        cause=event.cause,
        anomalies=event.anomalies,
        version=event.version,
        created_at=event.at,
        updated_at=event.at,
        deadline=event.deadline,
    )


def _linked(row: SubTaskRow, event: Linked) -> dict[str, Any]:
    is_same = event.replaces is None
    return {
        "remote_task_id": event.remote_task_id,
        "context_id": event.context_id or row.context_id,
        "state": event.state,
        "watch": row.watch if is_same else None,
        "fallback": row.fallback if is_same else None,
    }


def _parked(row: SubTaskRow, event: Parked) -> dict[str, Any]:
    watch = event.watch
    changes = {
        "state": event.state,
        "text": event.text,
        # Once, the same question was recorded again without its parts.
        "asked_parts": (
            event.parts if event.parts or event.question == event.version else row.asked_parts
        ),
        "context_id": event.context_id or row.context_id,
        "watch": watch.mode,
        "fallback": watch.fallback,
        "refusal": None if row.state.is_parked else row.refusal,
    }
    if not watch.config_id:
        return changes
    push = PushConfig(config_id=watch.config_id, remote_task_id=row.remote_task_id)
    known = row.stale_pushes if row.push is None else (*row.stale_pushes, row.push)
    stale = tuple(config for config in known if config != push)
    return changes | {"push": push, "stale_pushes": stale}


def _woken(row: SubTaskRow, event: Woken) -> dict[str, Any]:
    return {
        "state": A2AState.WORKING,
        # A reply is the parent's words, not the agent's.
        "text": "" if event.message_id is not None else event.text,
        "context_id": event.context_id or row.context_id,
        "watch": None,
        "fallback": None,
        "refusal": (
            row.refusal if event.message_id is None and event.refusal is None else event.refusal
        ),
    }


def _resolved(row: SubTaskRow, event: Resolved) -> dict[str, Any]:
    return {
        "state": event.state,
        "text": event.text or event.account,
        "account": event.account,
        "status_text": event.status_text,
        "reason": event.reason,
        "artifacts": event.artifacts,
        "asked_parts": (),
        "context_id": event.context_id or row.context_id,
        "watch": None,
        "fallback": None,
        "refusal": None if row.state.is_parked else row.refusal,
    }


def _push_revoked(row: SubTaskRow, event: PushRevoked) -> dict[str, Any]:
    revoked = PushConfig(config_id=event.config_id, remote_task_id=event.remote_task_id)
    if revoked in row.stale_pushes:
        return {"stale_pushes": tuple(c for c in row.stale_pushes if c != revoked)}
    return {"push": None, "watch": row.fallback if row.watch == "push" else row.watch}


_CHANGES: dict[type[Event], Callable[[SubTaskRow, Any], dict[str, Any]]] = {
    Linked: _linked,
    Parked: _parked,
    Woken: _woken,
    Resolved: _resolved,
    PushRevoked: _push_revoked,
}
"""What each event but Created changes of a row; a table, since every event of a log passes it."""


def row_of(sub_task: SubTask) -> SubTaskRow:
    """The row of a sub-task, without reading a store: what its events add up to."""
    watch = sub_task.watch
    return SubTaskRow(
        id=sub_task.id,
        parent_id=sub_task.parent_id,
        agent=sub_task.agent_id,
        name=sub_task.name,
        goal=sub_task.goal,
        state=sub_task.state,
        text=sub_task.text or sub_task.account,
        account=sub_task.account,
        status_text=sub_task.status_text,
        reason=sub_task.reason,
        remote_task_id=sub_task.remote_task_id,
        context_id=sub_task.context_id,
        watch=watch.mode if watch else None,
        cause=sub_task.cause,
        anomalies=sub_task.anomalies,
        version=sub_task.version,
        created_at=sub_task.created_at,
        updated_at=sub_task.updated_at,
        artifacts=sub_task.artifacts,
        asked_parts=() if sub_task.state.is_terminal else sub_task.asked_parts,
        refusal=sub_task.refusal,
        deadline=sub_task.deadline,
        fallback=watch.fallback if watch else None,
        push=sub_task.push_configs[-1] if sub_task.push_config_id else None,
        stale_pushes=sub_task.stale_pushes,
    )


def row_to_json(row: SubTaskRow) -> dict[str, Any]:
    """The public row as JSON values, keys as the API names them."""
    return {
        "id": row.id,
        "parent_id": row.parent_id,
        "agent": row.agent,
        "name": row.name,
        "goal": row.goal,
        "state": row.state.value,
        "text": row.text,
        "parts": [part_to_json(part) for part in row.parts],
        "account": row.account,
        "status_text": row.status_text,
        "reason": row.reason,
        "remote_task_id": row.remote_task_id,
        "context_id": row.context_id,
        "watch": row.watch,
        "cause": row.cause,
        "anomalies": list(row.anomalies),
        "version": row.version,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "artifacts": [artifact_to_json(artifact) for artifact in row.artifacts],
    }


def artifact_to_json(artifact: Artifact) -> dict[str, Any]:
    """An artifact as JSON: its id, name, description and parts, and metadata where it has any."""
    found: dict[str, Any] = {
        "artifact_id": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": [part_to_json(part) for part in artifact.parts],
    }
    if artifact.metadata:
        found["metadata"] = artifact.metadata
    return found


def part_to_json(part: Part) -> dict[str, Any]:
    """A part as JSON: what it carries, and always `media_type` and `filename`."""
    carried = {
        name: value
        for name, value in (
            ("text", part.text),
            ("data", part.data),
            ("raw", part.raw),
            ("url", part.url),
        )
        if value is not UNSET
    }
    found: dict[str, Any] = {**carried, "media_type": part.media_type, "filename": part.filename}
    if part.metadata:
        found["metadata"] = part.metadata
    return found
