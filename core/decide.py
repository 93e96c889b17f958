"""Deciding: from a sub-task and a command to the events that record it, or a refusal.

A command asks the machine before anything is recorded (H2); what it decides, `subtask.evolve`
assigns. A report that brings no news decides to nothing.
"""

from typing import Any, assert_never

from .artifacts import measure
from .commands import (
    Cancel,
    Command,
    DropReply,
    Expire,
    Fail,
    Hear,
    RefuseReply,
    Reply,
    RevokePush,
    Rewatch,
    Spawn,
)
from .draft import Draft
from .ending import cancel, expire, fail, resolve
from .errors import (
    NotParkedError,
    StaleQuestionError,
    SubTaskNotFoundError,
    SubTaskResolvedError,
)
from .events import Created, Event, Linked, Parked, PushRevoked, Woken
from .hearing import (
    Verdict,
    heard_state,
    is_older,
    question_of,
    status_text,
    weigh,
)
from .lifecycle import A2AState, Trigger, target_of
from .subtask import PushConfig, SubTask
from .times import seconds_between

__all__ = ["decide"]


def decide(sub_task: SubTask | None, command: Command) -> tuple[SubTask | None, tuple[Event, ...]]:
    """What `command` does to `sub_task`: the sub-task afterwards, and the sealed events.

    No event means that nothing is to be recorded. Raises SubTaskNotFoundError for a command about
    a sub-task that was never created, and the error of the rule that refuses it.
    """
    draft = Draft(sub_task, command)
    if isinstance(command, Spawn):
        _spawn(draft, command)
    elif sub_task is None:
        raise SubTaskNotFoundError(command.sub_task_id)
    else:
        _decide_known(draft, sub_task, command)
    return draft.sub_task, tuple(draft.events)


def _decide_known(
    draft: Draft,
    sub_task: SubTask,
    command: Hear | Reply | RefuseReply | DropReply | Rewatch | Cancel | Expire | Fail | RevokePush,
) -> None:
    match command:
        case Hear():
            _hear(draft, sub_task, command)
        case Reply():
            _reply(draft, sub_task, command)
        case RefuseReply():
            _refuse_reply(draft, sub_task, command)
        case DropReply():
            _drop_reply(draft, sub_task, command)
        case Rewatch():
            _rewatch(draft, sub_task, command)
        case Cancel():
            cancel(draft, sub_task, command)
        case Expire():
            expire(draft, sub_task, command)
        case Fail():
            fail(draft, sub_task, command)
        case RevokePush():
            _revoke_push(draft, sub_task, command)
        case _ as never:
            assert_never(never)


def _spawn(draft: Draft, command: Spawn) -> None:
    if draft.sub_task is not None:
        # Only an idempotency key can lead to an id that is there already (C10).
        return
    draft.add(
        Created,
        parent_id=command.parent_id,
        agent_id=command.agent_id,
        name=command.name,
        goal=command.goal,
        description=command.description,
        acceptance_criteria=command.acceptance_criteria,
        parts=command.parts,
        message_id=command.message_id,
        participant_id=command.participant_id,
        card_digest=command.card_digest,
        envelope=command.envelope,
        model=command.model,
        reasoning_effort=command.reasoning_effort,
        parent_tasks=command.parent_tasks,
        follows=command.follows,
        deadline=command.deadline,
        idempotency_key=command.idempotency_key,
    )


def _hear(draft: Draft, sub_task: SubTask, command: Hear) -> None:
    if sub_task.is_resolved:
        return
    report = command.report
    state = heard_state(sub_task, report)
    other_task = report.remote_task_id if report.kind != "message" else ""
    is_other = bool(other_task) and sub_task.is_linked and other_task != sub_task.remote_task_id
    if is_other and not command.moved:
        # Another task is none of ours (K3).
        return
    anomalies = report.anomalies
    if other_task and (is_other or not sub_task.is_linked):
        _link(draft, sub_task, command, state, is_moved=is_other)
        anomalies = ()
    elif sub_task.context_id and report.context_id not in ("", sub_task.context_id):
        anomalies = (*anomalies, "context.changed")
    now = draft.sub_task
    assert now is not None
    if state is None or not (now.is_linked or state.is_terminal):
        # A task without an id cannot be watched; only an end of it says all there is to say.
        return
    verdict = weigh(
        now, report, command.source, command.artifacts, confirmed=command.confirmed or is_other
    )
    if verdict not in (Verdict.CHANGE, Verdict.TEXT) or _is_too_soon(now, state, verdict, command):
        return
    target_of(now.state, Trigger.for_state(state))
    if not state.is_terminal and is_older(now, report):
        # It was confirmed, or it would be stale (D8).
        anomalies = (*anomalies, "timestamp.older")
    fields: dict[str, Any] = {
        "remote_at": report.remote_at,
        "anomalies": anomalies,
        "context_id": "" if now.context_id else report.context_id,
    }
    if state.is_terminal:
        resolve(draft, now, state, command, fields)
    elif state.is_parked:
        _park(draft, now, state, command, fields)
    else:
        draft.add(Woken, text=status_text(report), **fields)


def _link(
    draft: Draft, sub_task: SubTask, command: Hear, state: A2AState | None, *, is_moved: bool
) -> None:
    report = command.report
    # On a move the reply had woken it already: that never takes it back to SUBMITTED.
    is_working = is_moved or state is A2AState.WORKING
    linked = A2AState.WORKING if is_working else A2AState.SUBMITTED
    target_of(sub_task.state, Trigger.for_state(linked))
    is_whole = state in (None, A2AState.SUBMITTED, A2AState.WORKING)
    draft.add(
        Linked,
        remote_task_id=report.remote_task_id,
        context_id=report.context_id,
        state=linked,
        replaces=sub_task.remote_task_id if is_moved else None,
        remote_at=report.remote_at if is_whole else None,
        anomalies=report.anomalies,
    )


def _is_too_soon(sub_task: SubTask, state: A2AState, verdict: Verdict, command: Hear) -> bool:
    """True when an agent's restlessness is bounded (D15, D17). An end is never too soon."""
    if state.is_terminal:
        return False
    limits, at = command.limits, command.at
    if verdict is Verdict.TEXT:
        text_at = sub_task.text_at
        return text_at is not None and _is_within(limits.text_pause, text_at, at)
    recent = sum(1 for flip in sub_task.flips if seconds_between(flip, at) <= limits.flip_window)
    return recent >= limits.flips and _is_within(limits.flip_pause, sub_task.changed_at, at)


def _is_within(seconds: float, earlier: str, later: str) -> bool:
    # A clock that was set back since then would have it wait for all that time as well.
    return 0 <= seconds_between(earlier, later) < seconds


def _park(
    draft: Draft, sub_task: SubTask, state: A2AState, command: Hear, fields: dict[str, Any]
) -> None:
    words, parts = question_of(sub_task, command.report, command.artifacts, or_last_said=True)
    if sum(part.size for part in parts) > command.limits.result_bytes:
        fields["anomalies"] = (*fields["anomalies"], "question.too_large")
        parts = ()
    draft.add(
        Parked,
        state=state,
        text=words,
        parts=parts,
        watch=command.watch,
        question=draft.next_version,
        message_id=command.report.message_id,
        seen=measure(command.artifacts),
        **fields,
    )


def _reply(draft: Draft, sub_task: SubTask, command: Reply) -> None:
    if sub_task.is_resolved:
        raise SubTaskResolvedError(sub_task.id, sub_task.state)
    if sub_task.question is None:
        raise NotParkedError(sub_task.id, sub_task.state)
    named = command.question
    # Events that keep the question open (a new watch) raise the version: any of them names it.
    if named is not None and not sub_task.question <= named <= sub_task.version:
        raise StaleQuestionError(sub_task.id, named, sub_task.question)
    target_of(sub_task.state, Trigger.REPLY)
    draft.add(
        Woken,
        text=command.text,
        message_id=command.message_id,
        question=sub_task.question,
        parts=command.parts,
        # After a restart what was heard before may not have been heard again.
        seen=sub_task.seen | measure(command.artifacts),
    )


def _refuse_reply(draft: Draft, sub_task: SubTask, command: RefuseReply) -> None:
    pending = sub_task.reply
    if sub_task.is_resolved or pending is None or pending.message_id != command.message_id:
        return
    state = sub_task.asked_state or A2AState.INPUT_REQUIRED
    target_of(sub_task.state, Trigger.for_state(state))
    draft.add(
        Parked,
        state=state,
        text=sub_task.asked,
        parts=sub_task.asked_parts,
        watch=command.watch,
        question=pending.question,
        message_id=sub_task.asked_id,
        seen=sub_task.seen,
        refusal=command.reason,
    )


def _drop_reply(draft: Draft, sub_task: SubTask, command: DropReply) -> None:
    pending = sub_task.reply
    if sub_task.is_resolved or pending is None or pending.message_id != command.message_id:
        return
    target_of(sub_task.state, Trigger.for_state(A2AState.WORKING))
    draft.add(Woken, text=sub_task.text, refusal=command.reason, anomalies=("reply.refused",))


def _rewatch(draft: Draft, sub_task: SubTask, command: Rewatch) -> None:
    if sub_task.question is None:
        return
    target_of(sub_task.state, Trigger.for_state(sub_task.state))
    draft.add(
        Parked,
        state=sub_task.state,
        text=sub_task.text,
        parts=sub_task.asked_parts,
        watch=command.watch,
        question=sub_task.question,
        message_id=sub_task.asked_id,
        seen=sub_task.seen,
    )


def _revoke_push(draft: Draft, sub_task: SubTask, command: RevokePush) -> None:
    on_task = command.remote_task_id or sub_task.push_task_id
    config = PushConfig(config_id=command.config_id, remote_task_id=on_task)
    if config not in sub_task.push_configs:
        return
    draft.add(
        PushRevoked,
        config_id=command.config_id,
        remote_task_id=on_task,
        outcome=command.outcome,
        detail=command.detail,
    )
