"""Holds what an agent answers in a check against A2A 1.0, and keeps what is known of the task.

It is told what was heard; it asks nothing. The sections are those of the specification, version
1.0.1.
"""

import re
from collections.abc import Awaitable
from typing import Final

from a2a.types.a2a_pb2 import (
    AgentCard,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields

from locum.core.artifacts import Artifacts
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from locum.core.report import parts_text

from ..calls.finding import Page
from ..interface import Binding
from ..reports import Heard, Payload
from ..wire.notes import CallNotes
from .log import Logbook

__all__ = ["ANSWER", "Judge", "missing_fields", "words_of_error"]

ANSWER: Final[dict[str, str]] = {
    "SendMessage": "A task or a message (A2A 3.1.1).",
    "SendStreamingMessage": "A stream of a task and its updates, or of one message (A2A 3.1.2).",
    "GetTask": "The task (A2A 3.1.3).",
    "ListTasks": "A page of tasks; every agent can list them (A2A 3.1.4).",
    "CancelTask": "The task, or TaskNotCancelableError (A2A 3.1.5).",
    "SubscribeToTask": "A stream that begins with the task (A2A 3.1.6).",
    "CreateTaskPushNotificationConfig": (
        "The config, as the card says push notifications (A2A 3.1.7, 3.3.4)."
    ),
    "ListTaskPushNotificationConfigs": "All push configs of the task (A2A 3.1.9).",
    "DeleteTaskPushNotificationConfig": "Success, however often it is deleted (A2A 3.1.10).",
}
"""What each method is answered with."""

_REFUSALS: Final[dict[str, tuple[str, int, str, int]]] = {
    "remote.not_found": ("TaskNotFoundError", -32001, "TASK_NOT_FOUND", 404),
    "remote.not_cancelable": ("TaskNotCancelableError", -32002, "TASK_NOT_CANCELABLE", 400),
    "remote.unsupported": ("UnsupportedOperationError", -32004, "UNSUPPORTED_OPERATION", 400),
}
"""A2A's error by our code: its name, JSON-RPC number, REST reason and REST status (A2A 5.4)."""

_STREAMS: Final = frozenset({"SendStreamingMessage", "SubscribeToTask"})
_FIRST: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "SendStreamingMessage": (("task", "message"), "A task or a message first (A2A 3.1.2)."),
    "SubscribeToTask": (("task",), "The task as it is now, first (A2A 3.1.6)."),
}
_NAMES: Final[dict[type[Payload], str]] = {
    Task: "A task",
    Message: "A message",
    TaskStatusUpdateEvent: "A status update",
    TaskArtifactUpdateEvent: "An artifact update",
}
_LISTED: Final = 5
_SNAKE: Final = re.compile(r"_([a-z])")


class Judge:
    """What is known of the one task, and what is wrong with what was said of it."""

    def __init__(self, log: Logbook, binding: Binding) -> None:
        self.task_id = ""
        self.context_id = ""
        self.state: A2AState | None = None
        """The latest that was heard."""
        self.is_message = False
        """The agent has answered with a message, so that there is no task."""
        self._log = log
        self._binding = binding
        self._streamed = Artifacts()
        self._end_on_stream: A2AState | None = None
        self._has_times: dict[str, bool] = {}

    def hear(self, method: str, heard: Heard, *, is_first: bool = False) -> None:
        """Take in one thing that was heard."""
        report = heard.report
        self._log.find_anomalies(report.anomalies, method)
        if is_first and method in _FIRST and report.kind not in _FIRST[method][0]:
            seen = f"The first event: {_NAMES[type(heard.payload)].lower()}."
            self._log.find("stream.first_event", method, seen, _FIRST[method][1])
        self._look_at_fields(method, heard.payload)
        self._look_at_context(method, report.kind, report.context_id)
        self.is_message = report.kind == "message"
        if self.is_message:
            return
        self.task_id = self.task_id or report.remote_task_id
        if report.kind != "artifact":
            self.state = report.state or self.state
            stamped = report.remote_at is not None or "json.timestamp" in report.anomalies
            self._has_times[method] = self._has_times.get(method, False) or stamped
        if method in _STREAMS:
            self._streamed.note(report)
            if report.state is not None and report.state.is_terminal:
                self._end_on_stream = report.state

    def _look_at_fields(self, method: str, payload: Payload) -> None:
        missing = missing_fields(payload)
        if missing:
            self._log.find(
                "fields.missing",
                method,
                f"{_NAMES[type(payload)]} without {_listed(missing)}.",
                "Every field that A2A 1.0 marks as required, lists with an item (A2A 5.7).",
            )

    def _look_at_context(self, method: str, kind: str, context_id: str) -> None:
        if not context_id:
            # That an update lacks it was noticed with its fields.
            if kind in ("task", "message"):
                seen = f"The {kind} has no contextId."
                expected = "The contextId that the agent has given it (A2A 3.4.1)."
                self._log.find("context.missing", method, seen, expected)
            return
        if self.context_id and context_id != self.context_id:
            seen = f"The contextId was {self.context_id} and is {context_id}."
            self._log.find("context.changed", method, seen, "One contextId a task (A2A 3.4.1).")
        self.context_id = self.context_id or context_id

    def stream_ended(self, method: str, notes: CallNotes | None) -> None:
        """The agent has ended its answer."""
        if method not in _STREAMS or notes is None or "http.json_for_stream" in notes.anomalies:
            return
        if self.is_message or (self.state is not None and self.state.is_terminal):
            if notes.closed is False:
                seen = "The stream stayed open after its last event."
                expected = "The stream is closed at the task's end, or after a message (A2A 3.1.2)."
                self._log.find("stream.not_closed", method, seen, expected)
        elif self.state is None or not self.state.is_parked:
            seen = f"The stream ended while the task was {self.state or 'in no known state'}."
            expected = "The stream goes on until the task is over or interrupted (A2A 3.1.2, 11.7)."
            self._log.find("stream.early_end", method, seen, expected)

    def compare(self, heard: Heard) -> None:
        """Hold GetTask's answer against what the streams have said."""
        report, end = heard.report, self._end_on_stream
        if end is None:
            return
        if report.state is not end:
            self.disagrees(f"The stream ended with {end}, and the task is {report.state}.")
            return
        kept = {one.artifact_id: parts_text(one.parts) for one in report.artifacts}
        for artifact in self._streamed.whole:
            if artifact.artifact_id not in kept:
                self.disagrees(f"Artifact {artifact.artifact_id!r} was streamed, and is not there.")
            elif kept[artifact.artifact_id] != parts_text(artifact.parts):
                self.disagrees(f"Artifact {artifact.artifact_id!r} was streamed with another text.")

    def disagrees(self, seen: str) -> None:
        """GetTask says something else than was said before."""
        expected = "The current state and the artifacts of the task (A2A 3.1.3)."
        self._log.find("task.disagrees", "GetTask", seen, expected)

    def look_at_page(self, page: Page) -> None:
        """Look at a page of tasks that was asked for by the task's context."""
        found = {one.report.remote_task_id: one for one in page.tasks}
        for one in page.tasks:
            self._log.find_anomalies(one.report.anomalies, "ListTasks")
            self._look_at_fields("ListTasks", one.payload)
        if self.task_id and self.task_id not in found:
            seen = f"Task {self.task_id} is not in the list."
            expected = "Every task that the client may see (A2A 3.1.4)."
            self._log.find("list.incomplete", "ListTasks", seen, expected)
        if self.context_id and any(
            one.report.context_id not in ("", self.context_id) for one in page.tasks
        ):
            seen = "The list was asked for by a contextId and has tasks of other contexts."
            self._log.find("list.unfiltered", "ListTasks", seen, "Only matching tasks (A2A 3.1.4).")
        if any(one.report.artifacts for one in page.tasks):
            seen = "The list has artifacts that were not asked for."
            expected = "No artifacts unless includeArtifacts is true (A2A 3.1.4)."
            self._log.find("list.artifacts", "ListTasks", seen, expected)
        if page.total < len(page.tasks):
            seen = f"totalSize is {page.total or 'missing'}, for {len(page.tasks)} tasks."
            expected = "totalSize counts all matching tasks (A2A 3.1.4)."
            self._log.find("list.total", "ListTasks", seen, expected)

    async def must_refuse(self, method: str, code: str, call: Awaitable[object], what: str) -> str:
        """Await a call about `what`, which has to be refused; how it was.

        Raises RemoteCallError when the agent neither answered nor refused.
        """
        name, number, reason, status = _REFUSALS[code]
        expected = f"For {what}: {name}, {number} (HTTP {status}, {reason}) (A2A 3.3.2, 5.4)."
        try:
            await call
        except RemoteCallError as error:
            if error.agent_code is None and (error.status or 0) < 400:
                raise
            if error.code != code:
                self._log.find("error.wrong_code", method, words_of_error(error), expected)
            else:
                self._look_at_status(method, error, status)
            return f"refused, {_said(error)}"
        seen = f"It is answered as if there were nothing wrong with {what}."
        self._log.find("error.missing", method, seen, expected)
        return "answered"

    def _look_at_status(self, method: str, error: RemoteCallError, status: int) -> None:
        if self._binding == "HTTP+JSON":
            expected = f"HTTP {status} (A2A 5.4, 11.6)."
        else:
            # The specification is silent; a2a-sdk's client reads the error under 200 only.
            status, expected = 200, "HTTP 200, as for every answer of JSON-RPC (A2A 9.4)."
        if error.status != status:
            self._log.find("error.http_status", method, f"HTTP {error.status}.", expected)

    def conclude(self) -> None:
        """Say what only the whole round can tell."""
        if self._has_times and not any(self._has_times.values()):
            self._log.find(
                "timestamp.missing",
                next(iter(self._has_times)),
                "No status has a timestamp.",
                "When each status was recorded (A2A 4.1.2); it is optional, but without it nobody"
                " can tell which of two is newer.",
            )


def missing_fields(message: Payload | AgentCard) -> list[str]:
    """The fields that A2A 1.0 requires and that are not there, as JSON spells them."""
    try:
        validate_proto_required_fields(message)
    except InvalidParamsError as error:
        data = error.data if isinstance(error.data, dict) else {}
        return [_SNAKE.sub(lambda m: m[1].upper(), one["field"]) for one in data["errors"]]
    return []


def words_of_error(error: RemoteCallError) -> str:
    """What the agent said, without what everybody knows, and with its code and status."""
    _, between, said = error.message.partition(f", {error.method}: ")
    more = _said(error)
    return f"{said if between else error.message} ({more})" if more else said or error.message


def _said(error: RemoteCallError) -> str:
    status = "" if error.status in (None, 200) else f"HTTP {error.status}"
    return ", ".join(filter(None, (str(error.agent_code or ""), status)))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
