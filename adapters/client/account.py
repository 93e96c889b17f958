"""What an agent has said about one task so far, put together from all that was heard of it.

It asks nobody. The words of a result and the way artifacts grow together are the core's (D12).
"""

import msgspec
from a2a.types.a2a_pb2 import Message, Task

from locum.core.artifacts import Artifacts, gained_parts
from locum.core.errors import RemoteCallError
from locum.core.hearing import ANSWERED, outcome_of, status_text
from locum.core.lifecycle import A2AState
from locum.core.report import RemoteReport, artifacts_text, parts_words

from ..a2a.reports import Heard
from .result import A2AResult

__all__ = ["Account"]

RESULT_LIMIT = 16 << 20
"""Bytes that the artifacts of one task may hold together while they grow (J3)."""


class Account:
    """One task's, or one direct answer's.

    `result` is None until something was heard.
    """

    def __init__(self) -> None:
        self.result: A2AResult | None = None
        self._artifacts = Artifacts(limit=RESULT_LIMIT)
        self._status: RemoteReport | None = None
        self._last_words = ""
        self._task_id = ""
        self._context_id = ""
        self._anomalies: dict[str, None] = {}

    @property
    def task_id(self) -> str:
        """The task's id, as soon as the agent has named it."""
        return self._task_id

    @property
    def context_id(self) -> str:
        """The context's id, as soon as the agent has named it."""
        return self._context_id

    @property
    def active_task_id(self) -> str:
        """The id of a task that the agent has named and not ended; empty when there is none (G5)."""
        state = self.result.state if self.result else None
        return "" if state is not None and state.is_terminal else self._task_id

    def take(self, heard: Heard, *, asked: bool = False) -> A2AResult | None:
        """Take one thing in that is news as it stands; what is known then.

        None when it is older than what is known, so that it says nothing (D14); what was just
        `asked` of the agent never is. Raises RemoteCallError `remote.too_large` when the artifacts
        grow past their limit.
        """
        report = heard.report
        self._name(report)
        if report.kind == "message":
            return self._answered(heard)
        if report.kind != "artifact" and not asked and self._is_old(report):
            return None
        self._grow(report)
        # A state that is not known is neither progress nor an end (D14).
        if report.kind != "artifact" and (report.state is not None or self._status is None):
            self._status = report
            if report.state is A2AState.WORKING:
                self._last_words = status_text(report) or self._last_words
        return self._told(heard)

    def complete(self, heard: Heard) -> A2AResult:
        """Take in what GetTask says after a stream has told of an end or a question (G3).

        The stream's word stands when GetTask has not caught up with it (K5).
        """
        said, told = heard.report, self._status
        assert told is not None
        self._note(said)
        self._grow(said)
        is_behind = _state_of(said) is not _state_of(told) and not (
            _is_end(said) or _is_newer(said, told)
        )
        if is_behind:
            return self._told(None)
        self._status = _with_words_of(told, said)
        return self._told(heard)

    def _name(self, report: RemoteReport) -> None:
        other = report.remote_task_id
        if other and self._task_id and other != self._task_id:
            # The agent answers under another task: what was said of the first is not about it (C13).
            self._artifacts = Artifacts(limit=RESULT_LIMIT)
            self._status, self._last_words = None, ""
        self._task_id = other or self._task_id
        self._context_id = report.context_id or self._context_id
        self._note(report)

    def _note(self, report: RemoteReport) -> None:
        self._anomalies.update(dict.fromkeys(report.anomalies))

    def _is_old(self, report: RemoteReport) -> bool:
        known = self._status
        if known is None:
            return False
        if _is_end(known):
            return not _is_end(report) or report.kind != "task"
        return not _is_end(report) and _is_newer(known, report)

    def _grow(self, report: RemoteReport) -> None:
        odd = self._artifacts.note(report)
        self._anomalies.update(dict.fromkeys(odd))
        if "artifact.over_limit" in odd:
            raise RemoteCallError(
                f"The task's artifacts are over the limit of {RESULT_LIMIT} bytes together.",
                code="remote.too_large",
                kind="refused",
            )

    def _answered(self, heard: Heard) -> A2AResult:
        outcome = outcome_of(A2AState.COMPLETED, heard.report, ())
        assert isinstance(heard.payload, Message)
        self.result = A2AResult(
            state=outcome.state,
            text=outcome.text,
            artifacts=outcome.artifacts,
            parts=heard.report.parts,
            task_id=heard.report.remote_task_id,
            context_id=self._context_id,
            anomalies=tuple(self._anomalies),
            message=heard.payload,
        )
        return self.result

    def _told(self, heard: Heard | None) -> A2AResult:
        status = self._status or RemoteReport(kind="status")
        state, artifacts = _state_of(status), self._artifacts.whole
        if state is not None and state.is_terminal:
            outcome = outcome_of(state, status, artifacts, last_words=self._last_words)
            text, artifacts = outcome.text, outcome.artifacts
        elif state is not None and state.is_parked:
            parts = status.parts or (() if status.text else gained_parts({}, artifacts))
            text = parts_words(parts) or status.text
        else:
            text = artifacts_text(artifacts) or status_text(status)
        payload = None if heard is None else heard.payload
        assert not isinstance(payload, Message), "a message is an answer of its own"
        self.result = A2AResult(
            state=state,
            text=text,
            status_text=status_text(status),
            artifacts=artifacts,
            parts=status.parts,
            task_id=self._task_id,
            context_id=self._context_id,
            anomalies=tuple(self._anomalies),
            task=payload if isinstance(payload, Task) else None,
            update=None if isinstance(payload, Task) else payload,
        )
        return self.result


def _state_of(report: RemoteReport) -> A2AState | None:
    """The state; one that is parked because it has answered has ended (D13)."""
    if report.state is A2AState.INPUT_REQUIRED and report.sub_state == ANSWERED:
        return A2AState.COMPLETED
    return report.state


def _is_end(report: RemoteReport) -> bool:
    state = _state_of(report)
    return state is not None and state.is_terminal


def _is_newer(one: RemoteReport, other: RemoteReport) -> bool:
    """True when `one` surely comes after `other`, by the agent's own clock."""
    return bool(one.remote_at and other.remote_at and one.remote_at > other.remote_at)


def _with_words_of(told: RemoteReport, said: RemoteReport) -> RemoteReport:
    """What was said, with the words that only the stream had (case Q10, case Q11)."""
    if said.parts or said.text or _state_of(said) is not _state_of(told):
        return said
    return msgspec.structs.replace(
        said, text=told.text, parts=told.parts, message_id=told.message_id
    )
