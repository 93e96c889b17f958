"""What the web face asks of the harness that it is handed. No code but signatures.

`Harness` in adapters/bootstrap.py meets this; the web face knows nothing else of it.
"""

# A Protocol's methods have docstrings for bodies.
# pyright: reportReturnType=false

from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import Any, Protocol

from litestar.types import ASGIApp

from locum.core.lifecycle import A2AState
from locum.core.report import Part
from locum.projections import Notification, SubTaskRow
from locum.projections.moments import Moment

from ..settings import Settings

__all__ = ["HarnessPort"]


class HarnessPort(Protocol):
    """The facade, as far as HTTP reaches it. Each method raises LocumError as core says."""

    @property
    def settings(self) -> Settings:
        """What was configured."""

    @property
    def is_open(self) -> bool:
        """True from entering the harness until leaving it."""

    @property
    def ready(self) -> bool:
        """True once the store is open and recovery has run (`probes.py`), until locum stops."""

    @property
    def self_routes(self) -> ASGIApp | None:
        """The A2A routes of `self` (A9), or None when it is not configured."""

    async def __aenter__(self) -> Any:
        """Open the harness."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""

    def agents(self) -> list[dict[str, Any]]:
        """All agents as `GET /v1/agents` shows them."""

    def roster(self) -> str:
        """The roster (section B)."""

    async def spawn(
        self,
        parent_id: str,
        *,
        agent: str,
        goal: str,
        name: str = "",
        description: str = "",
        acceptance_criteria: Sequence[str] = (),
        parts: Sequence[Part] = (),
        timeout: float | None = None,
        idempotency_key: str | None = None,
        follows: str | None = None,
        actor: str = "",
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Record a sub-task (C2); the row is there once it is durable."""

    async def linked(self, sub_task_id: str, timeout: float | None = None) -> SubTaskRow:
        """The row once its remote task is known or it has ended; TimeoutError before that."""

    async def settled(self, sub_task_id: str, timeout: float | None = None) -> SubTaskRow:
        """The row once it is terminal or parked; TimeoutError before that."""

    async def sub_task(self, sub_task_id: str) -> SubTaskRow:
        """The row with all of its artifacts."""

    async def rows(
        self,
        parent_id: str,
        state: A2AState | None = None,
        unresolved: bool | None = None,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[SubTaskRow]:
        """A parent's rows, filtered: all, or `limit` past the sub-task `after`."""

    async def reply(
        self,
        sub_task_id: str,
        text: str = "",
        *,
        parts: Sequence[Part] = (),
        question: int | None = None,
        actor: str = "",
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Answer the open question (C12)."""

    async def cancel(
        self,
        sub_task_id: str,
        reason: str = "",
        *,
        actor: str = "",
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Cancel (F2)."""

    async def events(self, sub_task_id: str) -> list[dict[str, Any]]:
        """The recorded events (H1)."""

    async def replay(
        self, sub_task_id: str, *, version: int | None = None, at: str | None = None
    ) -> Moment:
        """The sub-task as it was (H4)."""

    async def notes(
        self, parent_id: str, after: int = 0, limit: int = 100
    ) -> tuple[list[Notification], int]:
        """A page of the feed, and the cursor to go on from (E3)."""

    def notifications(self, parent_id: str, after: int = 0) -> AsyncGenerator[Notification, None]:
        """The feed, endless (E3)."""

    async def complete(
        self, parent_id: str, *, actor: str = "", correlation_id: str | None = None
    ) -> Any:
        """Complete the parent, or SubTasksUnresolvedError (C8)."""

    async def cancel_parent(
        self,
        parent_id: str,
        reason: str = "",
        *,
        actor: str = "",
        correlation_id: str | None = None,
    ) -> list[SubTaskRow]:
        """Cancel all of a parent's unresolved sub-tasks (F5)."""

    async def push_accepts(self, sub_task_id: str, tokens: Sequence[str]) -> bool:
        """True when every token is the one that a push for this sub-task must bear (D3).

        Takes the same time whether the sub-task is there or not.
        """

    def ring(
        self,
        sub_task_id: str,
        remote_task_id: str,
        claimed_state: A2AState | None,
        anomalies: Sequence[str] = (),
    ) -> bool:
        """Wake the sub-task's stand-in; False when the task is not its own (D3).

        An empty `remote_task_id` is a body that names no task.
        """
