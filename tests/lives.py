"""Lives of sub-tasks for the tests of the core: what agents say, commands, and a clock of our own.

Pure: no network, no store, no wall clock. Decides nothing; `decide` does.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from locum.core.artifacts import Artifacts
from locum.core.chain import encode
from locum.core.commands import (
    Cancel,
    Command,
    Expire,
    Fail,
    Hear,
    HearLimits,
    RefuseReply,
    Reply,
    RevokePush,
    Rewatch,
    Spawn,
)
from locum.core.decide import decide
from locum.core.events import Event, Watch
from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part, RemoteReport, Source
from locum.core.subtask import SubTask
from locum.core.times import add_seconds

__all__ = [
    "FOLLOW",
    "OFF",
    "POLL",
    "START",
    "Life",
    "answer",
    "artifact",
    "chunk",
    "data",
    "kinds",
    "message",
    "push",
    "remote",
    "spawn",
    "status",
    "task",
    "text",
]

START = "2026-01-31T12:00:00.000000Z"
FOLLOW = Watch(mode="follow")
POLL = Watch(mode="poll", fallback="poll")
OFF = Watch(mode="off", fallback="off")


def remote(seconds: float) -> str:
    """A status time of the agent, whose clock is ours."""
    return add_seconds(START, seconds)


def push(token: int = 1, config_id: str = "locum-s1") -> Watch:
    """A push watch; each token has a digest of its own."""
    return Watch(mode="push", config_id=config_id, token_digest=f"{token:064x}")


def text(words: str, **about: Any) -> Part:
    """A part of text."""
    return Part(text=words, **about)


def data(value: Any, **about: Any) -> Part:
    """A part of data."""
    return Part(data=value, **about)


def artifact(artifact_id: str, *parts: Part | str, **about: Any) -> Artifact:
    """An artifact of these parts; a `str` is a text."""
    made = tuple(text(part) if isinstance(part, str) else part for part in parts)
    return Artifact(artifact_id=artifact_id, parts=made, **about)


def _words(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part.text, str))


def status(state: str | None, *said: Part | str, **fields: Any) -> RemoteReport:
    """A status update; `said` are the parts of its message."""
    parts = tuple(text(part) if isinstance(part, str) else part for part in said)
    known: dict[str, Any] = {
        "kind": "status",
        "remote_task_id": "t1",
        "context_id": "c1",
        "state": None if state is None else A2AState(state),
        "text": _words(parts),
        "parts": parts,
    }
    return RemoteReport(**(known | fields))


def task(state: str | None, *said: Part | str, **fields: Any) -> RemoteReport:
    """A whole task, as GetTask gives it."""
    return status(state, *said, **({"kind": "task"} | fields))


def message(*said: Part | str, **fields: Any) -> RemoteReport:
    """A message that is no task's."""
    empty = {"kind": "message", "remote_task_id": "", "context_id": ""}
    return status(None, *said, **(empty | fields))


def chunk(
    artifact_id: str, *parts: Part | str, append: bool = False, last: bool = False, **about: Any
) -> RemoteReport:
    """An artifact update."""
    return RemoteReport(
        kind="artifact",
        remote_task_id="t1",
        artifacts=(artifact(artifact_id, *parts, **about),),
        append=append,
        last_chunk=last,
    )


def spawn(**fields: Any) -> Spawn:
    """A brief."""
    brief: dict[str, Any] = {
        "sub_task_id": "s1",
        "at": START,
        "actor": "planner",
        "correlation_id": "k1",
        "parent_id": "p1",
        "agent_id": "inventory",
        "name": "chairs",
        "goal": "Count the red chairs",
        "description": "In the hall",
        "acceptance_criteria": ("a number",),
        "parts": (),
        "message_id": "m1",
        "participant_id": "locum",
        "card_digest": "d1",
    }
    return Spawn(**(brief | fields))


def answer(words: str = "the ones in the hall", message_id: str = "r1", **fields: Any) -> Reply:
    """A reply."""
    return Reply(
        sub_task_id="s1", at=START, actor="planner", message_id=message_id, text=words, **fields
    )


def kinds(events: tuple[Event, ...]) -> list[type[Event]]:
    """The classes of the events."""
    return [type(event) for event in events]


class Life:
    """One sub-task, the events it has had, and the clock that it lives by.

    Each step is a second after the last one, or `after` seconds. The artifacts of what is heard
    are put together as the stand-in does it.
    """

    def __init__(self, **brief: Any) -> None:
        self.now = START
        self.events: tuple[Event, ...] = ()
        self.artifacts = Artifacts()
        self._sub_task: SubTask | None = None
        self.do(spawn(**brief), after=0)

    @property
    def sub_task(self) -> SubTask:
        """The sub-task as it is now."""
        assert self._sub_task is not None
        return self._sub_task

    @property
    def stored(self) -> list[bytes]:
        """The stored bytes of its events."""
        return [encode(event) for event in self.events]

    def do(self, command: Command, *, after: float = 1) -> tuple[Event, ...]:
        """Decide a command `after` seconds; its events."""
        self.now = add_seconds(self.now, after)
        command = msgspec.structs.replace(command, at=self.now)
        self._sub_task, events = decide(self._sub_task, command)
        self.events += events
        return events

    def hear(
        self, report: RemoteReport, source: Source = "stream", *, after: float = 1, **fields: Any
    ) -> tuple[Event, ...]:
        """Take a report in and hear it."""
        found = self.artifacts.note(report)
        if found:
            report = msgspec.structs.replace(report, anomalies=(*report.anomalies, *found))
        known: dict[str, Any] = {
            "sub_task_id": "s1",
            "at": self.now,
            "actor": "agent:inventory",
            "cause": "follow",
            "report": report,
            "source": source,
            "artifacts": self.artifacts.whole,
            "watch": FOLLOW,
        }
        return self.do(Hear(**(known | fields)), after=after)

    def get(self, report: RemoteReport, **fields: Any) -> tuple[Event, ...]:
        """Hear what GetTask says."""
        return self.hear(report, "get", **fields)

    def reply(self, words: str = "the ones in the hall", **fields: Any) -> tuple[Event, ...]:
        """Reply to the open question."""
        return self.do(answer(words, **fields))

    def refuse_reply(self, reason: str = "no", **fields: Any) -> tuple[Event, ...]:
        """The agent refuses the reply."""
        known: dict[str, Any] = {"message_id": "r1", "reason": reason, "watch": FOLLOW}
        return self._do(RefuseReply, "agent:inventory", known | fields)

    def rewatch(self, watch: Watch) -> tuple[Event, ...]:
        """Watch anew."""
        return self._do(Rewatch, "locum", {"cause": "recovery", "watch": watch})

    def cancel(self, reason: str = "", **fields: Any) -> tuple[Event, ...]:
        """End as canceled."""
        return self._do(Cancel, "planner", {"reason": reason} | fields)

    def expire(self, **fields: Any) -> tuple[Event, ...]:
        """End because of the deadline."""
        return self._do(Expire, "locum", fields)

    def fail(
        self, code: str = "remote.gone", words: str = "gone", **fields: Any
    ) -> tuple[Event, ...]:
        """End as failed."""
        known: dict[str, Any] = {"cause": "recheck", "code": code, "text": words}
        return self._do(Fail, "locum", known | fields)

    def revoke(self, outcome: str = "deleted", **fields: Any) -> tuple[Event, ...]:
        """The push config is no more."""
        known: dict[str, Any] = {"cause": "push", "config_id": "locum-s1", "outcome": outcome}
        return self._do(RevokePush, "locum", known | fields)

    def _do(self, kind: type[Any], actor: str, fields: dict[str, Any]) -> tuple[Event, ...]:
        known: dict[str, Any] = {"sub_task_id": "s1", "at": self.now, "actor": actor}
        return self.do(kind(**(known | fields)))

    # --- the beginnings that most lives have

    @classmethod
    def linked(cls, state: str = "WORKING", **brief: Any) -> "Life":
        """A sub-task whose remote task is known."""
        life = cls(**brief)
        life.hear(task(state, remote_at=remote(1)), "send")
        return life

    @classmethod
    def parked(
        cls, question: str = "Which hall?", *, watch: Watch = FOLLOW, **fields: Any
    ) -> "Life":
        """A sub-task that asks; its question bears the time 2."""
        life = cls.linked()
        known: dict[str, Any] = {"remote_at": remote(2), "message_id": "q1"}
        life.get(task("INPUT_REQUIRED", question, **(known | fields)), watch=watch)
        return life

    @classmethod
    def replied(cls, question: str = "Which hall?", **fields: Any) -> "Life":
        """A sub-task whose question was answered; nothing was heard since."""
        life = cls.parked(question, **fields)
        life.reply()
        return life


LIMITS = HearLimits()
"""The limits that a Hear has when it names none."""
