"""How a sub-task ends: with what the agent said of it and brought, whoever ended it (D12, E7).

Part of deciding (`decide.py`). An end that is no success is recorded as none, whatever came with it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from .commands import Cancel, Expire, Fail, Hear
from .draft import Draft
from .errors import IllegalTransitionError
from .events import Resolved
from .growing import size_of
from .hearing import Outcome, outcome_of
from .lifecycle import A2AState, Trigger, target_of
from .report import Artifact, RemoteReport, parts_text, parts_words, says
from .subtask import SubTask

__all__ = ["cancel", "expire", "fail", "resolve"]

REASON_KEPT = 4_000
"""Characters of a reason that are kept when all that came with it is over the limit."""
CLOSING_KEPT = 65_536
"""Characters of the words beside a result that are kept; longer ones end in `…` (J3)."""
OVER_LIMIT = "artifact.over_limit"


def resolve(
    draft: Draft, sub_task: SubTask, state: A2AState, command: Hear, fields: dict[str, Any]
) -> None:
    """Record the end that the agent told of. `fields` are what all events have."""
    fields["reason"] = command.reason
    is_working = sub_task.state is A2AState.WORKING
    last_words = (command.waiting_text or sub_task.text) if is_working else ""
    is_wanted = state is A2AState.CANCELED and command.source == "cancel"
    outcome = outcome_of(
        state, command.report, command.artifacts, last_words=last_words, is_wanted=is_wanted
    )
    if not outcome.text and _is_mute(command) and _has_answered(sub_task, state, command):
        said = msgspec.structs.replace(
            command.report,
            text=parts_text(command.report.last_said),
            parts=command.report.last_said,
        )
        outcome = outcome_of(state, said, command.artifacts)
    limit = command.limits.result_bytes
    if _size_of(outcome) <= limit:
        draft.add(
            Resolved,
            state=state,
            text=outcome.text,
            status_text=_closing_words(command.report, outcome.text),
            artifacts=outcome.artifacts,
            **fields,
        )
        return
    if state is A2AState.COMPLETED:
        # A cut result must not pass as a success (J3).
        state, text = A2AState.FAILED, ""
        over = f"The agent completed the task, but its result is {_over(limit)} and was not kept."
    else:
        text, over = _beginning(outcome.text), _cut_account(outcome.text, limit)
    draft.add(
        Resolved,
        state=state,
        text=text,
        status_text=_closing_words(command.report, outcome.text),
        account=over,
        code="result.too_large",
        **fields,
    )


def _is_mute(command: Hear) -> bool:
    """True when an end comes without a message and without artifacts, as far as they say anything."""
    heard = (command.report.parts, *(artifact.parts for artifact in command.artifacts))
    return not any(says(parts) for parts in heard)


def _has_answered(sub_task: SubTask, state: A2AState, command: Hear) -> bool:
    """True when what the task's history ends in may be the answer, or the reason (D12, E7).

    Not when it is what the agent asked, or said of its work. After a reply, and in a context that
    was there before, what is not behind our own message is of an earlier turn.
    """
    report = command.report
    words = parts_words(report.last_said).strip()
    known = (sub_task.asked, sub_task.beside, sub_task.text, command.waiting_text)
    is_known = any(words and words == one.strip() for one in known)
    if state is A2AState.CANCELED or is_known or not says(report.last_said):
        return False
    if sub_task.reply is not None:
        return sub_task.reply.message_id in report.history_ids
    return sub_task.follows is None or sub_task.message_id in report.history_ids


def cancel(draft: Draft, sub_task: SubTask, command: Cancel) -> None:
    """Record the end that this side wanted (F2)."""
    if sub_task.is_resolved:
        return
    target_of(sub_task.state, Trigger.CANCEL)
    draft.add(
        Resolved,
        state=A2AState.CANCELED,
        text="",
        reason=command.reason,
        confirmed=command.confirmed,
        **_brought(command.artifacts, command.result_bytes, odd=_unconfirmed(command)),
    )


def expire(draft: Draft, sub_task: SubTask, command: Expire) -> None:
    """Record that the deadline passed, with what the agent said when it was stopped (C11, E7)."""
    if sub_task.is_resolved or sub_task.deadline is None:
        return
    target_of(sub_task.state, Trigger.FAIL)
    account = f"The deadline {sub_task.deadline} passed before the agent ended the task."
    fields: dict[str, Any] = {"text": ""}
    limit, report = command.result_bytes, command.report
    if report is None:
        fields |= _brought(command.artifacts, limit, account, odd=_unconfirmed(command))
    else:
        fields["context_id"] = "" if sub_task.context_id else report.context_id
        fields["remote_at"] = report.remote_at
        fields["anomalies"] = (*report.anomalies, *_unconfirmed(command))
        outcome = outcome_of(A2AState.CANCELED, report, command.artifacts, is_wanted=True)
        is_kept = _size_of(outcome) <= limit
        fields["text"] = outcome.text if is_kept else _beginning(outcome.text)
        fields["artifacts"] = outcome.artifacts if is_kept else ()
        fields["account"] = account if is_kept else f"{account} {_cut_account(outcome.text, limit)}"
    draft.add(
        Resolved, state=A2AState.FAILED, code="deadline", confirmed=command.confirmed, **fields
    )


def fail(draft: Draft, sub_task: SubTask, command: Fail) -> None:
    """Record a failure that locum met. Raises IllegalTransitionError for a state that is no end."""
    if sub_task.is_resolved:
        return
    trigger = Trigger.for_state(command.state)
    if not target_of(sub_task.state, trigger).is_terminal:
        raise IllegalTransitionError(sub_task.state, trigger, command.state)
    draft.add(
        Resolved,
        state=command.state,
        text=command.text,
        code=command.code,
        delivery=command.delivery,
        **_brought(command.artifacts, command.result_bytes, command.account, odd=command.anomalies),
    )


def _unconfirmed(command: Cancel | Expire) -> tuple[str, ...]:
    return () if command.confirmed else ("cancel.unconfirmed",)


def _brought(
    artifacts: tuple[Artifact, ...], limit: int, account: str = "", *, odd: Sequence[str]
) -> dict[str, Any]:
    """What was heard before an end that the agent did not tell of, as far as it may be kept."""
    if size_of(artifacts) <= limit:
        return {"artifacts": artifacts, "account": account, "anomalies": tuple(odd)}
    left_out = f"What the agent had brought is {_over(limit)} and was not kept."
    return {
        "account": f"{account} {left_out}".lstrip(),
        "anomalies": tuple(dict.fromkeys((*odd, OVER_LIMIT))),
    }


def _closing_words(report: RemoteReport, told: str) -> str:
    """The text of the agent's last message where the result is something else (D12)."""
    words = parts_text(report.parts) or report.text
    if words.strip() in ("", told.strip()):
        return ""
    return words if len(words) <= CLOSING_KEPT else words[: CLOSING_KEPT - 1] + "…"


def _beginning(text: str) -> str:
    return text[:REASON_KEPT] + ("…" if len(text) > REASON_KEPT else "")


def _over(limit: int) -> str:
    return f"over the limit of {limit} bytes (standin.result_limit)"


def _cut_account(reason: str, limit: int) -> str:
    came = f"What came with the end is {_over(limit)}"
    if not reason:
        return f"{came} and was not kept."
    return f"{came}; its {'beginning' if len(reason) > REASON_KEPT else 'reason alone'} was kept."


def _size_of(outcome: Outcome) -> int:
    """Bytes that a result holds: its artifacts, or its text where that is more."""
    return max(size_of(outcome.artifacts), len(outcome.text.encode()))
