"""What a check of one agent has found so far: steps, deviations, refusals. Calls nobody.

`examination.py` performs the check; what the wire noted of its calls is taken in here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import httpx

from locum.core.errors import CardError

from ..interface import Binding, Interface
from ..wire.anomalies import ANOMALIES, EXPECTED
from ..wire.notes import CALL, CallNotes
from ..wire.words import one_line

__all__ = ["DEVIATIONS", "Checkup", "Finding", "Logbook", "Outcome", "Step"]

Outcome = Literal["ok", "odd", "failed", "left_out"]
"""What came of a step: as A2A 1.0 has it, done in an odd way, not done, not tried."""

_WORDS: Final = 300
_ANSWER_TYPES: Final[dict[Binding | None, frozenset[str]]] = {
    "JSONRPC": frozenset({"application/json"}),
    "HTTP+JSON": frozenset({"application/json", "application/a2a+json"}),
    None: frozenset({"application/json", "application/a2a+json"}),
}


DEVIATIONS: Final[dict[str, str]] = {
    "check.too_slow": "The whole check took too long and was broken off.",
    "context.changed": "A task's contextId was another one later.",
    "context.missing": "A task or a message has no contextId.",
    "error.http_status": "A right error came under a wrong HTTP status.",
    "error.missing": "What has to be refused was answered.",
    "error.wrong_code": "What has to be refused was refused with another error.",
    "fields.missing": "Fields are missing that A2A 1.0 requires, or a required list is empty.",
    "list.artifacts": "ListTasks brought artifacts that were not asked for.",
    "list.incomplete": "ListTasks left out a task that exists.",
    "list.total": "ListTasks counted fewer tasks than it brought, or not at all.",
    "list.unfiltered": "ListTasks brought tasks of contexts that were not asked for.",
    "push.changed": "A push config was created with another URL than asked.",
    "push.not_deleted": "A push config that was deleted is still listed.",
    "push.not_listed": "A push config that was created is not listed.",
    "stream.early_end": "A stream ended while the task still worked.",
    "stream.first_event": "A stream began with something else than it has to.",
    "stream.not_closed": "A stream stayed open after the task's end, or after a message.",
    "task.disagrees": "GetTask says something else than a stream or CancelTask before it.",
    "timestamp.missing": "Not one status has a timestamp.",
}
"""What the check finds itself, besides anomalies and calls that fail."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One deviation from A2A 1.0, met in one method (or in "AgentCard").

    `code` is an anomaly's name, a code of a call's error (`remote.…`), or one of the check's own.
    `expected` says what A2A 1.0 has there, with the section.
    """

    code: str
    method: str
    seen: str
    expected: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried."""

    name: str
    outcome: Outcome
    words: str
    seconds: float


@dataclass(slots=True)
class Checkup:
    """What is known of one agent at the end of its check. `ok`: it may be relied upon."""

    url: str
    agent_id: str = ""
    """The configured agent's id; empty for an agent that is not configured."""
    name: str = ""
    version: str = ""
    interface: Interface | None = None
    streaming: bool = False
    push: bool = False
    refusals: list[CardError] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    """What could not be cleared away at the agent."""

    @property
    def ok(self) -> bool:
        """True when nothing was refused and no deviation was met."""
        return not self.refusals and not self.findings

    def view(self) -> dict[str, Any]:
        """All of it as JSON values."""
        used = self.interface
        return {
            "url": self.url,
            "id": self.agent_id or None,
            "ok": self.ok,
            "name": self.name,
            "version": self.version,
            "interface": used
            and {
                "url": used.url,
                "binding": used.binding,
                "protocol_version": used.protocol_version,
                "tenant": used.tenant,
            },
            "streaming": self.streaming,
            "push": self.push,
            "refusals": [{"code": one.code, "reason": one.message} for one in self.refusals],
            "steps": [
                {
                    "name": step.name,
                    "outcome": step.outcome,
                    "words": step.words,
                    "seconds": round(step.seconds, 3),
                }
                for step in self.steps
            ],
            "findings": [
                {
                    "code": one.code,
                    "method": one.method,
                    "seen": one.seen,
                    "expected": one.expected,
                }
                for one in self.findings
            ],
            "left_behind": list(self.left_behind),
        }


class Logbook:
    """Collects into `checkup`, each deviation once for each method.

    `on_request` is a request hook for the agent's httpx client: it finds the notes that the wire
    fills in, of every call that is made.
    """

    def __init__(self, checkup: Checkup) -> None:
        self.checkup = checkup
        self.last: CallNotes | None = None
        """The notes of the latest call."""
        self._unread: list[CallNotes] = []

    async def on_request(self, request: httpx.Request) -> None:
        """Remember the call that the request belongs to."""
        notes = CALL.get()
        if notes is not None and notes is not self.last:
            self.last = notes
            self._unread.append(notes)

    def find(self, code: str, method: str, seen: str, expected: str) -> None:
        """Keep a deviation."""
        known = {(one.code, one.method) for one in self.checkup.findings}
        if (code, method) not in known:
            self.checkup.findings.append(Finding(code, method, one_line(seen, _WORDS), expected))

    def find_anomalies(self, kinds: Iterable[str], method: str) -> None:
        """Keep what had to be mended."""
        for kind in kinds:
            self.find(kind, method, ANOMALIES[kind], EXPECTED[kind])

    def step(self, name: str, outcome: Outcome, words: str, seconds: float = 0.0) -> None:
        """Keep a step."""
        self.checkup.steps.append(Step(name, outcome, one_line(words, _WORDS), seconds))

    def read_notes(self) -> None:
        """Take in what the wire noted of the calls made since this was last done."""
        unread, self._unread = self._unread, []
        for notes in unread:
            self.find_anomalies(notes.anomalies, notes.method)
            self._check_content_type(notes)

    def _check_content_type(self, notes: CallNotes) -> None:
        """Of whole answers only: the wire does it for streams, where much depends on it."""
        is_whole = notes.status is not None and 200 <= notes.status < 300 and not notes.streaming
        if not is_whole or notes.error is not None or "http.empty_answer" in notes.anomalies:
            return
        used = self.checkup.interface
        binding = used.binding if used and notes.method != "AgentCard" else None
        if notes.content_type.partition(";")[0].strip().lower() not in _ANSWER_TYPES[binding]:
            seen = f"The content type is {notes.content_type or 'missing'}."
            self.find("http.content_type", notes.method, seen, EXPECTED["http.content_type"])
