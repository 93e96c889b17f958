"""The error tree. Every error that locum raises on purpose is here, and nothing else is.

LocumError
├── ConfigError                 config.invalid
├── AgentUnknownError           agent.unknown
├── AgentRefusedError           agent.refused
├── CardError                   card.*
│   └── UnsupportedExtensionError   card.unsupported
├── SubTaskNotFoundError        sub_task.not_found
├── NotParkedError              sub_task.not_parked
├── SubTaskResolvedError        sub_task.resolved
├── StaleQuestionError          sub_task.stale_question
├── IllegalTransitionError      sub_task.illegal_transition
├── SubTasksUnresolvedError     parent.unresolved
├── RequestError                request.invalid
├── ClientError                 client.*
│   └── ClientTimeoutError          client.timeout
├── RemoteCallError             remote.*
├── HistoryError                history.*
├── StoreError                  store.*
└── ServerError                 server.*
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = [
    "AgentRefusedError",
    "AgentUnknownError",
    "CardError",
    "ClientError",
    "ClientTimeoutError",
    "ConfigError",
    "HistoryError",
    "IllegalTransitionError",
    "LocumError",
    "NotParkedError",
    "RemoteCallError",
    "RequestError",
    "ServerError",
    "StaleQuestionError",
    "StoreError",
    "SubTaskNotFoundError",
    "SubTaskResolvedError",
    "SubTasksUnresolvedError",
    "UnsupportedExtensionError",
]


class LocumError(Exception):
    """Base of all errors.

    `code` is stable and dotted (`agent.unknown`); the message says what to do; `detail` is a
    JSON-shaped mapping for programs. Neither ever holds a secret.
    """

    code: str = "locum.error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})


class ConfigError(LocumError):
    """A setting is unknown, of the wrong type or impossible.

    `detail` has `key` (full path), `found` (never for a secret) and `accepted`.
    """

    code = "config.invalid"

    def __init__(self, key: str, *, found: str, accepted: str) -> None:
        super().__init__(
            f"{key}: found {found}; accepted: {accepted}",
            detail={"key": key, "found": found, "accepted": accepted},
        )


class AgentUnknownError(LocumError):
    """No agent of that id is registered (C1). `detail.valid` lists the ids that take work.

    `detail.refused` has the reason of each that is registered and takes none; it is left out when
    there is none of these.
    """

    code = "agent.unknown"

    def __init__(
        self, agent_id: str, valid: Sequence[str], refused: Mapping[str, str] | None = None
    ) -> None:
        nobody = "none takes work" if refused else "none is registered"
        message = (
            f"There is no agent {agent_id!r}. Use one of these ids: {', '.join(valid) or nobody}."
        )
        detail: dict[str, Any] = {"agent": agent_id, "valid": list(valid)}
        if refused:
            # The reasons may quote agents, and the message may get to a model (E6).
            message += f" Refused, and of no use now: {', '.join(refused)}."
            detail["refused"] = dict(refused)
        super().__init__(message, detail=detail)


class AgentRefusedError(LocumError):
    """The agent's card was refused, so it takes no new work (C1, A3, A4)."""

    code = "agent.refused"

    def __init__(self, agent_id: str, reason: str, reason_code: str) -> None:
        super().__init__(
            f"Agent {agent_id!r} is refused and takes no work: {reason}",
            detail={"agent": agent_id, "reason": reason, "reason_code": reason_code},
        )


class CardError(LocumError):
    """An agent card cannot be used; `code` says why (A4, A10)."""

    code = "card.invalid"


class UnsupportedExtensionError(CardError):
    """The card requires an extension or a security scheme that cannot be met (A3)."""

    code = "card.unsupported"


class SubTaskNotFoundError(LocumError):
    """No sub-task of that id is recorded."""

    code = "sub_task.not_found"

    def __init__(self, sub_task_id: str) -> None:
        super().__init__(
            f"There is no sub-task {sub_task_id!r}. `locum ls` lists those there are.",
            detail={"sub_task": sub_task_id},
        )


class NotParkedError(LocumError):
    """A reply came while nothing was asked (C12)."""

    code = "sub_task.not_parked"

    def __init__(self, sub_task_id: str, state: str) -> None:
        super().__init__(
            f"Sub-task {sub_task_id} is {state} and asks nothing; reply when it is INPUT_REQUIRED"
            " or AUTH_REQUIRED.",
            detail={"sub_task": sub_task_id, "state": state},
        )


class SubTaskResolvedError(LocumError):
    """A command came after the end (C12, F3)."""

    code = "sub_task.resolved"

    def __init__(self, sub_task_id: str, state: str) -> None:
        super().__init__(
            f"Sub-task {sub_task_id} has ended ({state}); spawn another, with `follows` to stay"
            " in its context.",
            detail={"sub_task": sub_task_id, "state": state},
        )


class StaleQuestionError(LocumError):
    """The reply names a question that is no longer the open one (C12)."""

    code = "sub_task.stale_question"

    def __init__(self, sub_task_id: str, named: int, open_question: int) -> None:
        super().__init__(
            f"Sub-task {sub_task_id} now asks another question (version {open_question}, not"
            f" {named}); read it and reply to that one.",
            detail={"sub_task": sub_task_id, "question": named, "open": open_question},
        )


class IllegalTransitionError(LocumError):
    """The machine has no such transition (H2). Nothing was recorded."""

    code = "sub_task.illegal_transition"

    def __init__(self, source: str, trigger: str, target: str | None = None) -> None:
        super().__init__(
            f"A sub-task that is {source} cannot take `{trigger}`; nothing was recorded.",
            detail={"from": source, "event": trigger, "to": target},
        )
        self.source = source
        self.trigger = trigger
        self.target = target


class SubTasksUnresolvedError(LocumError):
    """A parent cannot complete yet (C8). `detail.unresolved` lists what is still open."""

    code = "parent.unresolved"

    def __init__(self, parent_id: str, unresolved: Sequence[str]) -> None:
        super().__init__(
            f"Parent {parent_id!r} still has unresolved sub-tasks: {', '.join(unresolved)}."
            " Wait for them, reply to them or cancel them first.",
            detail={"parent": parent_id, "unresolved": list(unresolved)},
        )


class RequestError(LocumError):
    """What the caller handed in cannot be used; the message names the field and the mend."""

    code = "request.invalid"


class ClientError(LocumError):
    """The explicit client was asked for what it was not set up for (section G)."""

    code = "client.misused"


class ClientTimeoutError(ClientError, TimeoutError):
    """An operation of the explicit client took longer than its caller allows (G2, G5).

    `detail` has `timeout` in seconds and, once the agent had named them, `task_id` and
    `context_id`.
    """

    code = "client.timeout"


Kind = Literal["refused", "transient", "in_doubt"]


class RemoteCallError(LocumError):
    """A call to an agent failed (K4). It keeps what the agent said.

    The message is for people and may quote the agent. What a model reads is told apart (E6):
    `said` is the agent's own words, empty where it gave none, and `account` locum's, with nothing
    in it that an agent wrote. `kind` says what may be done about it: `refused` (the agent read it and said no: final),
    `transient` (it was never acted on: the same may go out again), `in_doubt` (it may or may not
    have been acted on). `status` is the HTTP status or None, `agent_code` the agent's own code
    (JSON-RPC number or REST reason) or None, `retry_after` seconds or None.
    """

    code = "remote.failed"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        kind: Kind,
        method: str = "",
        status: int | None = None,
        agent_code: int | str | None = None,
        retry_after: float | None = None,
        data: Any = None,
        anomalies: Sequence[str] = (),
        said: str = "",
        account: str | None = None,
    ) -> None:
        """An `account` of None says that the message is all locum's: it quotes nobody."""
        known = {
            "kind": kind,
            "method": method or None,
            "status": status,
            "agent_code": agent_code,
            "retry_after": retry_after,
            "data": data,
        }
        detail = {name: value for name, value in known.items() if value is not None}
        super().__init__(message, code=code, detail=detail)
        self.kind: Kind = kind
        self.method = method
        self.status = status
        self.agent_code = agent_code
        self.retry_after = retry_after
        self.anomalies = tuple(anomalies)
        self.said = said
        self.account = message if account is None else account


class HistoryError(LocumError):
    """A recorded history cannot be read or does not hold (H3, I5)."""

    code = "history.invalid"


class StoreError(LocumError):
    """The store could not read or write; nothing half-done is visible (I4)."""

    code = "store.failed"


class ServerError(LocumError):
    """The locum server cannot be reached or cannot start."""

    code = "server.unreachable"
