"""What a report means for a sub-task: a change, the same again, something old, or a doubt (D14).

Pure, and asked twice: by `decide` before it records, and by the stand-in to know whether GetTask
has to judge.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from .artifacts import gained_parts
from .lifecycle import A2AState
from .report import (
    Artifact,
    Part,
    RemoteReport,
    Source,
    artifacts_text,
    parts_said,
    parts_text,
    parts_words,
    says,
)
from .subtask import SubTask
from .times import Order, order_of

__all__ = [
    "ANSWERED",
    "Outcome",
    "Verdict",
    "asks_again",
    "heard_state",
    "is_level",
    "is_older",
    "outcome_of",
    "question_of",
    "status_text",
    "weigh",
]

ANSWERED = "awaiting-next-message"
"""The status extension's sub-state of a task that is parked because it has answered (D13)."""


QUESTION_LIMIT = 65_536
STATUS_LIMIT = 2_000
"""Characters of a question and of a status text that are kept; a longer one ends in `…` (J3)."""


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
    state. An answer that only looks parked is COMPLETED (D13). A task that was parked and is queued
    again waits for nobody any more: it is as good as WORKING (E1).
    """
    if report.kind == "message":
        return None if sub_task.is_linked else A2AState.COMPLETED
    if report.state is A2AState.INPUT_REQUIRED and report.sub_state == ANSWERED:
        return A2AState.COMPLETED
    is_queued = report.state is A2AState.SUBMITTED and sub_task.state.is_parked
    if is_queued and _age(sub_task, report) == "newer":
        return A2AState.WORKING
    return report.state


def question_of(
    sub_task: SubTask,
    report: RemoteReport,
    artifacts: tuple[Artifact, ...],
    *,
    or_last_said: bool = False,
) -> tuple[str, tuple[Part, ...]]:
    """What a parked agent asks: its words, and the parts that they come from (D16).

    A message that says nothing is none; one without words, a file, is told beside the words that
    its artifacts gained. With `or_last_said`, an agent that keeps no status message asks what it
    said last, if nothing else tells. That is good enough to show, not to tell one question from
    another.
    """
    parts = report.parts
    words = parts_words(parts) or report.text
    if words.strip():
        return _cut(words, QUESTION_LIMIT), parts
    gained = gained_parts(sub_task.seen, artifacts)
    if says(parts):
        # What it carries besides words tells one question from another: that stays its own.
        said = tuple(part for part in gained if part.text is not UNSET)
        return _cut(parts_words(gained), QUESTION_LIMIT), (*parts, *said)
    parts = gained if says(gained) else ()
    if or_last_said and not parts and says(report.last_said):
        parts = report.last_said
    return _cut(parts_words(parts), QUESTION_LIMIT), parts


def status_text(report: RemoteReport) -> str:
    """The status text of a task that works (D17). Its data is progress of some sort, not words."""
    return _cut(parts_text(report.parts) or report.text, STATUS_LIMIT)


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else words[: limit - 1] + "…"


def weigh(
    sub_task: SubTask,
    report: RemoteReport,
    source: Source,
    artifacts: tuple[Artifact, ...] = (),
    *,
    confirmed: bool = False,
) -> Verdict:
    """What `report`, heard from `source`, means for `sub_task` now.

    `confirmed` says that a second look found the same, which settles a doubt, and that GetTask means
    what it says although its time is older (D8).
    """
    if sub_task.is_resolved:
        return Verdict.LATE
    state = heard_state(sub_task, report)
    if state is None:
        return Verdict.SAME
    is_judge = source in ("get", "cancel")
    age = _age(sub_task, report)
    if state.is_terminal:
        return Verdict.DOUBT if age == "older" and not is_judge else Verdict.CHANGE
    is_past = age == "older" and not (is_judge and confirmed)
    if is_past or _is_before_the_reply(sub_task, report, artifacts, is_judge=is_judge):
        return Verdict.STALE
    if state is A2AState.WORKING and sub_task.state is A2AState.WORKING:
        text = status_text(report)
        return Verdict.TEXT if text and text != sub_task.text else Verdict.SAME
    if state is A2AState.SUBMITTED:
        return Verdict.SAME if sub_task.state is A2AState.SUBMITTED else Verdict.STALE
    if sub_task.state is A2AState.SUBMITTED:
        # Nothing comes before SUBMITTED that could be replayed.
        return Verdict.CHANGE
    is_said = is_judge and not _may_be_echo(sub_task, report, artifacts)
    is_sure = is_said or confirmed or age == "newer"
    if state is sub_task.state:
        return _same_question(sub_task, report, artifacts, age, is_sure=is_sure)
    # Without a newer time, a state that it has been in before may be replayed (D7).
    is_untold = age == "unknown" or _is_cut(sub_task, report)
    is_first = sub_task.asked_state is None and is_untold
    if not is_sure and not is_first:
        return Verdict.DOUBT
    is_settled = confirmed or sub_task.reply is None
    if is_settled or not _may_be_answered(sub_task, report, artifacts, age):
        return Verdict.CHANGE
    return Verdict.DOUBT


def is_older(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when the report's status time is before the newest that is known (D14)."""
    return _age(sub_task, report) == "older"


def is_level(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when the report's status time is the newest that is known."""
    return _age(sub_task, report) == "level"


Age: TypeAlias = Order | Literal["unknown"]


def _age(sub_task: SubTask, report: RemoteReport) -> Age:
    """The report's status time against the newest that is known (D14)."""
    known, heard = sub_task.remote_at, report.remote_at
    return order_of(heard, known) if known and heard else "unknown"


def _is_cut(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when the two times are level only because one of them is coarser."""
    return is_level(sub_task, report) and report.remote_at != sub_task.remote_at


def _may_be_echo(sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...]) -> bool:
    """True when GetTask may say what was before: its time is older, or is cut, and none can tell.

    What a task has not asked yet, it cannot have asked before.
    """
    if not _is_cut(sub_task, report) or (report.remote_at or "") > (sub_task.remote_at or ""):
        return False
    if sub_task.state is not A2AState.WORKING:
        return True
    return sub_task.asked_state is not None and _is_asked(sub_task, report, artifacts)


def _is_asked(sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...]) -> bool:
    """True when a report asks nothing else than the latest question, open or answered."""
    words, _ = question_of(sub_task, report, artifacts)
    return words in ("", sub_task.asked) and _has_same_parts(sub_task, report)


def _is_before_the_reply(
    sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...], *, is_judge: bool
) -> bool:
    """True for what was heard before the open reply was recorded: it cannot tell of its effect.

    A stream may have been about to tell of another question all the same.
    """
    reply, at = sub_task.reply, report.asked_at if is_judge else report.heard_at
    if reply is None or at is None or at >= reply.version:
        return False
    return is_judge or asks_again(sub_task, report, artifacts)


def _same_question(
    sub_task: SubTask,
    report: RemoteReport,
    artifacts: tuple[Artifact, ...],
    age: Age,
    *,
    is_sure: bool,
) -> Verdict:
    """Parked and heard parked: the question heard again, or another one (E2)."""
    words, _ = question_of(sub_task, report, artifacts)
    if words and words == sub_task.beside:
        return Verdict.SAME
    has_same_words = words in ("", sub_task.asked)
    if has_same_words and _has_same_parts(sub_task, report):
        return Verdict.SAME
    if age == "level":
        # The words of a question may come after its state (case Q11).
        known = _not_text(sub_task.asked_parts) if has_same_words else sub_task.asked
        if not known:
            return Verdict.CHANGE
        # One message, written otherwise: its link is signed anew, or a blank has gone.
        is_same_message = bool(report.message_id) and report.message_id == sub_task.asked_id
        if is_same_message or not _asks_by_itself(sub_task, report):
            return Verdict.SAME
    return Verdict.CHANGE if is_sure else Verdict.DOUBT


def _asks_by_itself(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when other words at the time of the known question are another question, and no echo.

    What the artifacts gained may be the same question told otherwise (D16). So may be the first
    status message of an agent that has message ids, where the known question was told without one.
    """
    if not report.parts and not report.text:
        return False
    if report.message_id and not sub_task.asked_id:
        return False
    asked_at, question = report.asked_at, sub_task.question
    # GetTask was called before the known question was recorded, and answered late.
    return asked_at is None or question is None or asked_at >= question


def asks_again(sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...]) -> bool:
    """True when a task asks the question that the open reply answers, as it did before (C12)."""
    state = heard_state(sub_task, report)
    if sub_task.reply is None or state is None or not state.is_parked:
        return False
    words, _ = question_of(sub_task, report, artifacts)
    return _is_asked(sub_task, report, artifacts) or words == sub_task.beside


def _has_same_parts(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when what a message carries besides its words is what the latest question had (E2).

    A report that brings nothing of it says nothing about it: GetTask may lack what the stream had
    (D16). What was too large to be kept cannot be told from anything else.
    """
    heard, known = _not_text(report.parts), _not_text(sub_task.asked_parts)
    if not heard or heard == known:
        return True
    return not known and "question.too_large" in sub_task.anomalies


def _not_text(parts: Iterable[Part]) -> list[tuple[Any, ...]]:
    """What the parts carry besides text. How it is named, and what is noted on it, may change."""
    return [
        (part.data, part.raw, part.url)
        for part in parts
        if part.text is UNSET and not part.is_empty
    ]


def _may_be_answered(
    sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...], age: Age
) -> bool:
    """True when this may be the question that was just answered, heard once more.

    A newer time proves nothing: some agents stamp each answer with the present.
    """
    words, _ = question_of(sub_task, report, artifacts)
    if words and words == sub_task.beside:
        return True
    is_same = _is_asked(sub_task, report, artifacts)
    if age == "level" and is_same:
        # Some agents give the message of one and the same status another id each time.
        return True
    if report.message_id and sub_task.asked_id and report.message_id != sub_task.asked_id:
        return False
    return age == "level" or is_same


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a sub-task ended, in the agent's words: text and artifacts (D12, E7)."""

    state: A2AState
    text: str
    artifacts: tuple[Artifact, ...]


def outcome_of(
    state: A2AState,
    report: RemoteReport,
    artifacts: tuple[Artifact, ...],
    *,
    last_words: str = "",
    is_wanted: bool = False,
) -> Outcome:
    """The result of a terminal report, nothing counted twice (D12, case Q6, case R3).

    The text of a success is its artifacts' text, else the message's, else `last_words`: what the
    agent said last while it worked (case Q7). Of a failure it is the reason: what the message says,
    else what the artifacts do; of an end that this side wanted (`is_wanted`) these are what had been
    brought before it (E7). What a message carries besides text is kept as an artifact.
    """
    if report.kind == "message":
        answer = Artifact(artifact_id=report.message_id or "message", parts=report.parts)
        return Outcome(state=state, text=report.text, artifacts=(answer,))
    is_success = state is A2AState.COMPLETED
    is_bare = not any(says(artifact.parts) for artifact in artifacts)
    words = report.text if report.text.strip() else ""
    carried = _carried(report.parts, artifacts)
    if carried:
        # A reason stays whole, so that it can be told from what had been brought (E7).
        parts = report.parts if is_bare or not is_success else carried
        said = Artifact(artifact_id=report.message_id or "status", parts=parts)
        artifacts, is_bare = (*artifacts, said), False
    if is_success:
        text = artifacts_text(artifacts) or words or (last_words if is_bare else "")
    elif says(report.parts):
        text = parts_said(report.parts)
    elif words or is_wanted:
        text = words
    else:
        text = "\n".join(
            found for artifact in artifacts if (found := parts_said(artifact.parts)).strip()
        )
    return Outcome(state=state, text=text, artifacts=artifacts)


def _carried(parts: Iterable[Part], artifacts: Iterable[Artifact]) -> tuple[Part, ...]:
    """What a message carries besides text, and no artifact has (D12)."""
    carried = [part for part in parts if part.text is UNSET and not part.is_empty]
    if not carried:
        return ()
    known = {_content(part) for artifact in artifacts for part in artifact.parts}
    return tuple(part for part in carried if _content(part) not in known)


def _content(part: Part) -> bytes:
    """What tells a part that is no text from others: `true` is not 1."""
    bare = Part(data=part.data, raw=part.raw, url=part.url)
    return msgspec.json.encode(bare, order="sorted")
