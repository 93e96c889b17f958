"""What a report means for a sub-task: a change, the same again, something old, or a doubt (D14).

Pure, and asked twice: by `decide` before it records, and by the stand-in to know whether GetTask
has to judge.
"""

from enum import StrEnum

import msgspec
from msgspec import UNSET

from .lifecycle import A2AState
from .report import Artifact, RemoteReport, Source, artifacts_text, gained_parts, parts_words
from .subtask import SubTask

__all__ = ["ANSWERED", "Outcome", "Verdict", "heard_state", "outcome_of", "question_of", "weigh"]

ANSWERED = "awaiting-next-message"
"""The status extension's sub-state of a task that is parked because it has answered (D13)."""


class Verdict(StrEnum):
    """What a report means."""

    CHANGE = "change"
    """It is news: record it."""
    TEXT = "text"
    """Still WORKING, with another status text (D17)."""
    SAME = "same"
    """Nothing that is not known."""
    STALE = "stale"
    """Older than what is known (D14)."""
    DOUBT = "doubt"
    """It may be news or an echo: GetTask decides (D7)."""
    LATE = "late"
    """It comes after the end (F3)."""


def heard_state(sub_task: SubTask, report: RemoteReport) -> A2AState | None:
    """The state that a report stands for, None when it says nothing about one.

    A message answers the brief when no task is known (C5) and says nothing about a known task's
    state. An answer that only looks parked is COMPLETED (D13).
    """
    if report.kind == "message":
        return None if sub_task.is_linked else A2AState.COMPLETED
    if report.state is A2AState.INPUT_REQUIRED and report.sub_state == ANSWERED:
        return A2AState.COMPLETED
    return report.state


def question_of(
    sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...]
) -> tuple[str, tuple[object, ...]]:
    """What a parked agent asks: its words, and the parts that they come from (D16)."""
    if report.parts:
        return parts_words(report.parts), report.parts
    if report.text:
        return report.text, ()
    gained = gained_parts(sub_task.seen, artifacts)
    return parts_words(gained), gained


def weigh(
    sub_task: SubTask,
    report: RemoteReport,
    source: Source,
    artifacts: tuple[Artifact, ...] = (),
    *,
    confirmed: bool = False,
) -> Verdict:
    """What `report`, heard from `source`, means for `sub_task` now."""
    if sub_task.is_resolved:
        return Verdict.LATE
    state = heard_state(sub_task, report)
    if state is None:
        return Verdict.SAME
    is_judge = source in ("get", "cancel")
    known, heard = sub_task.remote_at, report.remote_at
    is_older = bool(known and heard and heard < known)
    is_level = bool(known and heard and heard == known)
    if state.is_terminal:
        return Verdict.DOUBT if is_older and not is_judge else Verdict.CHANGE
    if is_older:
        return Verdict.STALE
    if state is sub_task.state:
        return _same_state(sub_task, report, artifacts, is_level=is_level)
    if state is A2AState.SUBMITTED:
        return Verdict.STALE
    if is_level and not is_judge:
        return Verdict.DOUBT
    if state is A2AState.WORKING:
        # Without a time, a WORKING on the stream of a parked task may be a replay (D7).
        if sub_task.state.is_parked and not heard and not is_judge:
            return Verdict.DOUBT
        return Verdict.CHANGE
    if sub_task.state.is_parked:
        return Verdict.CHANGE
    return _asked_again(sub_task, report, artifacts, is_judge=is_judge, confirmed=confirmed)


def _same_state(
    sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...], *, is_level: bool
) -> Verdict:
    if sub_task.state.is_parked:
        words, _ = question_of(sub_task, report, ())
        if not words or is_level or words == sub_task.asked:
            return Verdict.SAME
        return Verdict.CHANGE
    if sub_task.state is A2AState.WORKING:
        words = parts_words(report.parts) or report.text
        if words and words != sub_task.text:
            return Verdict.TEXT
    return Verdict.SAME


def _asked_again(
    sub_task: SubTask,
    report: RemoteReport,
    artifacts: tuple[Artifact, ...],
    *,
    is_judge: bool,
    confirmed: bool,
) -> Verdict:
    """A parked state while working. After a reply it may be the answered question, heard late."""
    known, heard = sub_task.remote_at, report.remote_at
    is_newer = bool(heard and (not known or heard > known))
    if sub_task.reply is None or is_newer or confirmed:
        return Verdict.CHANGE
    if report.message_id and report.message_id == sub_task.asked_id:
        return Verdict.DOUBT
    words, _ = question_of(sub_task, report, artifacts)
    if not words or words == sub_task.asked or not is_judge:
        return Verdict.DOUBT
    return Verdict.CHANGE


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a sub-task ended, in the agent's words: text and artifacts (D12, E7)."""

    state: A2AState
    text: str
    artifacts: tuple[Artifact, ...]


def outcome_of(state: A2AState, report: RemoteReport, artifacts: tuple[Artifact, ...]) -> Outcome:
    """The result of a terminal report, nothing counted twice (D12, Q6, R3).

    The text of a success is its artifacts' text, else the message's; of a failure its reason: the
    message's words, else the artifacts'. Parts of a message that are no artifact and more than
    text are kept as one.
    """
    if report.kind == "message":
        answer = Artifact(artifact_id=report.message_id or "message", parts=report.parts)
        return Outcome(state=state, text=report.text, artifacts=(answer,))
    if not artifacts and any(part.text is UNSET for part in report.parts):
        said = Artifact(artifact_id=report.message_id or "status", parts=report.parts)
        artifacts = (said,)
    if state is A2AState.COMPLETED:
        text = artifacts_text(artifacts) or report.text
    else:
        words = parts_words(report.parts) or report.text
        text = words or "\n".join(
            found for artifact in artifacts if (found := parts_words(artifact.parts))
        )
    return Outcome(state=state, text=text, artifacts=artifacts)
