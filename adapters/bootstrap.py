"""The one place that wires the parts together: `Harness`, the facade.

It checks what a caller hands in, builds a command, hands it to the journal and wakes the stand-in.
Order of wiring: settings, store (its lock, then its projections), registry, supervisor with recovery, faces;
shut down in reverse.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing
from datetime import datetime
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from locum.core.errors import SubTasksUnresolvedError
from locum.core.events import Event
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from locum.projections import Notification, SubTaskRow
from locum.projections.moments import Moment

from .a2a.own.opening import open_self
from .a2a.registry import Registry
from .lookout import Lookout
from .ordering import Brief, follows_of, keyed_id, new_id, reply_command, spawn_command, utc_now
from .requests import checked_id, checked_line, checked_string, checked_text
from .settings import Settings
from .standin.office import Office
from .standin.supervisor import Supervisor
from .store.journal import Journal
from .store.moments import moment_in
from .store.owner import owned
from .store.writer import Recorded
from .tool import Tool
from .tools import tools_for
from .unopened import Unopened
from .web.app import WebApp, build_app

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor

    from .a2a.own.server import SelfAgent

__all__ = ["Harness"]

logger = logging.getLogger("locum.harness")


class Harness(Unopened):
    """locum in a process of yours. `async with Harness(settings) as harness:` starts and ends it.

    `executor` serves the agent `self` (A9). `clock` (an aware datetime) and `random` can be handed
    in to make runs repeatable. Everything async can be cancelled. The errors are `LocumError`s.
    """

    _made_on_entering = frozenset({"_journal", "_lookout", "_registry", "_supervisor"})

    def __init__(
        self,
        settings: Settings,
        *,
        executor: "AgentExecutor | None" = None,
        clock: Callable[[], datetime] = utc_now,
        random: Random | None = None,
    ) -> None:
        self.settings = settings
        self.is_open = False
        """True from entering the harness until leaving it."""
        self.ready = False
        """True once every open sub-task is known, and takes replies, cancels and pushes (I1)."""
        self._executor = executor
        self._clock = clock
        self._random = random or Random()  # noqa: S311 - jitter, not secrets
        self._self_agent: SelfAgent | None = None
        self._stack = AsyncExitStack()
        self._journal: Journal
        self._lookout: Lookout
        self._registry: Registry
        self._supervisor: Supervisor

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            settings, store = self.settings, self.settings.store
            # First in and last out: whoever comes next finds all that was recorded (I2).
            await stack.enter_async_context(owned(store.url, wait=store.owner_wait))
            self._journal = await stack.enter_async_context(
                Journal.open(store.url, on_events=self._noted, batch=store.batch)
            )
            self._lookout = Lookout(self._journal)
            self._self_agent = await open_self(settings, self._executor, self._journal, stack)
            own_url = None if self._self_agent is None else settings.server.own_url
            self._registry = await stack.enter_async_context(Registry(settings, own_url=own_url))
            office = Office(
                journal=self._journal,
                settings=settings.standin,
                base_url=settings.server.base_url or None,
                clock=self._clock,
                random=self._random,
                agent=self._registry.find,
                reach=self._registry.reach,
            )
            self._supervisor = await stack.enter_async_context(Supervisor(office))
            async with aclosing(self._journal.views.open_slots()) as slots:
                async for slot in slots:
                    self._lookout.expect(slot.id, slot.parent_id)
                    self._supervisor.recover(slot)
            self._supervisor.take_up()
            stack.callback(self.stop_waiting)
            self._stack = stack.pop_all()
        self.is_open = self.ready = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._stack.aclose()
        finally:
            self.is_open = False

    def stop_waiting(self) -> None:
        """Take no more work and let go of everybody who waits, and of the agents (D11).

        The end comes with `async with`.
        """
        self.ready = False
        self._lookout.stop()
        self._supervisor.stop()

    def _noted(self, events: Sequence[tuple[int, Event]]) -> None:
        self._supervisor.noted(event for _, event in events)
        self._lookout.note(events)

    # --- delegating

    async def spawn(
        self,
        parent_id: str,
        *,
        agent: str,
        goal: str,
        description: str = "",
        acceptance_criteria: Sequence[str] = (),
        name: str = "",
        parts: Sequence[Part | Mapping[str, Any]] = (),
        actor: str = "api",
        timeout: float | None = None,
        idempotency_key: str | None = None,
        follows: str | None = None,
        model: str = "",
        reasoning_effort: str = "",
        parent_tasks: Sequence[str] = (),
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Hand out a piece of work; its row as recorded, before anything was sent (C2).

        `timeout` is in seconds (C11). The same `idempotency_key` for the same parent gives the
        first sub-task again (C10). `follows` names an ended sub-task of the same agent whose
        context the new one continues (C14). `model`, `reasoning_effort` and `parent_tasks` go
        to `self` only (C3). Raises AgentUnknownError, AgentRefusedError, RequestError, ServerError.
        """
        self._lookout.check_open()
        parent_id = checked_id("parent_id", parent_id)
        if idempotency_key is None:
            sub_task_id = new_id(self._clock())
        else:
            sub_task_id = keyed_id(parent_id, checked_id("idempotency_key", idempotency_key))
            if (row := await self._journal.views.row(sub_task_id)) is not None:
                return row
        brief = Brief(
            parent_id=parent_id,
            goal=goal,
            description=description,
            acceptance_criteria=acceptance_criteria,
            name=name,
            parts=parts,
            actor=actor,
            timeout=timeout,
            idempotency_key=idempotency_key,
            model=model,
            reasoning_effort=reasoning_effort,
            parent_tasks=parent_tasks,
            correlation_id=correlation_id,
        )
        accepted = await self._registry.ready(checked_string("agent", agent))
        before = None
        if follows is not None:
            before = await self._journal.load(checked_string("follows", follows))
        command = spawn_command(
            brief,
            sub_task_id=sub_task_id,
            agent=accepted,
            follows=None if before is None else follows_of(before, accepted.id),
            participant_id=self.settings.standin.participant_id,
            now=self._clock(),
        )
        self._lookout.check_open()
        recorded = await self._journal.handle(command, then=self._handed_out)
        return await self._lookout.row_as(recorded)

    async def reply(
        self,
        sub_task_id: str,
        text: str = "",
        *,
        parts: Sequence[Part | Mapping[str, Any]] = (),
        question: int | None = None,
        actor: str = "api",
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Answer the open question; its row once the reply is recorded (C12).

        `question` is the version of the row that was answered. Raises SubTaskNotFoundError,
        NotParkedError, SubTaskResolvedError, StaleQuestionError, RequestError, ServerError.
        """
        self._lookout.check_open()
        command = reply_command(
            sub_task_id,
            text=text,
            parts=parts,
            question=question,
            actor=actor,
            correlation_id=correlation_id,
            now=self._clock(),
        )
        with self._supervisor.replying(command) as reply:
            recorded = await self._journal.handle(reply, then=self._replied)
        return await self._lookout.row_as(recorded)

    async def cancel(
        self,
        sub_task_id: str,
        reason: str = "",
        *,
        actor: str = "api",
        correlation_id: str | None = None,
    ) -> SubTaskRow:
        """Cancel; the row once it has ended (F2). What has ended already is returned as it is.

        That takes `cancel_grace` at the most, and before it `cancel_link_wait` where a send is
        under way, for its task id. An end that the agent had ready counts.
        """
        actor, reason = checked_line("actor", actor), checked_text("reason", reason, limit=4_000)
        correlation = checked_line("correlation_id", correlation_id or "")
        sub_task = await self._journal.load(checked_string("sub_task_id", sub_task_id))
        if not sub_task.is_resolved:
            self._supervisor.cancel(sub_task, actor, reason, correlation)
        return await self._lookout.row_when(sub_task_id, lambda row: row.state.is_terminal)

    async def settled(self, sub_task_id: str, timeout: float | None = None) -> SubTaskRow:
        """The row as soon as the sub-task is terminal or parked. Raises TimeoutError."""
        async with asyncio.timeout(timeout):
            return await self._lookout.row_when(sub_task_id, lambda row: row.state.is_settled)

    async def linked(self, sub_task_id: str, timeout: float | None = None) -> SubTaskRow:
        """The row as soon as the remote task is known, or the end. Raises TimeoutError."""
        async with asyncio.timeout(timeout):
            return await self._lookout.row_when(
                sub_task_id, lambda row: bool(row.remote_task_id) or row.state.is_terminal
            )

    def changes(self, sub_task_id: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever the sub-task changes, while the context lasts."""
        return self._lookout.changes(sub_task_id)

    # --- a parent's work

    async def rows(
        self,
        parent_id: str,
        state: A2AState | None = None,
        unresolved: bool | None = None,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[SubTaskRow]:
        """The parent's sub-tasks as they were created: all, or `limit` past the one with an id."""
        return await self._journal.views.rows(
            parent_id, state=state, unresolved=unresolved, after=after, limit=limit
        )

    async def sub_task(self, sub_task_id: str) -> SubTaskRow:
        """One row. Raises SubTaskNotFoundError."""
        return await self._lookout.row(sub_task_id)

    async def events(self, sub_task_id: str) -> list[dict[str, Any]]:
        """The sub-task's events as JSON values, in order (H1). Raises SubTaskNotFoundError."""
        return [msgspec.to_builtins(event) for event in await self._journal.events(sub_task_id)]

    async def replay(
        self, sub_task_id: str, *, version: int | None = None, at: str | None = None
    ) -> Moment:
        """The sub-task as it was at a version or a time (RFC 3339), else as it is (H4).

        Raises SubTaskNotFoundError, HistoryError.
        """
        return await moment_in(self._journal, sub_task_id, version=version, at=at)

    async def complete(
        self, parent_id: str, *, actor: str = "api", correlation_id: str | None = None
    ) -> None:
        """Let the parent complete; who says so is logged. Raises SubTasksUnresolvedError (C8)."""
        await self._journal.views.wait(self._journal.position)
        rows = await self.rows(checked_id("parent_id", parent_id), unresolved=True)
        if rows:
            raise SubTasksUnresolvedError(parent_id, [row.id for row in rows])
        logger.info("parent %r is complete, says %r (%r)", parent_id, actor, correlation_id)

    async def cancel_parent(
        self,
        parent_id: str,
        reason: str = "",
        *,
        actor: str = "api",
        correlation_id: str | None = None,
    ) -> list[SubTaskRow]:
        """Cancel all of the parent's unresolved sub-tasks; their rows when they have ended (F5)."""
        await self._journal.views.wait(self._journal.position)
        rows = await self.rows(checked_id("parent_id", parent_id), unresolved=True)
        cancels = (
            self.cancel(row.id, reason, actor=actor, correlation_id=correlation_id) for row in rows
        )
        # All of them are waited for, whatever becomes of one.
        ended = await asyncio.gather(*cancels, return_exceptions=True)
        for failed in ended:
            if isinstance(failed, BaseException):
                raise failed
        return [row for row in ended if not isinstance(row, BaseException)]

    async def notes(
        self, parent_id: str, after: int = 0, limit: int = 100
    ) -> tuple[list[Notification], int]:
        """Up to `limit` notifications past the cursor `after`, and the cursor to go on from (E3)."""
        return await self._journal.views.notes(parent_id, after, limit)

    def notifications(self, parent_id: str, after: int = 0) -> AsyncGenerator[Notification, None]:
        """The parent's notifications past the cursor `after`, for ever; ends when locum stops."""
        return self._lookout.notifications(parent_id, after)

    # --- agents

    def roster(self) -> str:
        """The agents as a model may read them (section B)."""
        return self._registry.roster()

    def tools(self, parent_id: str, *, actor: str = "model") -> list[Tool]:
        """The tools with which the parent's model hands out work and looks after it (G11).

        `actor` is who the record says has used them.
        """
        parent_id = checked_id("parent_id", parent_id)
        return tools_for(self, parent_id, actor=checked_line("actor", actor))

    def agents(self) -> list[dict[str, Any]]:
        """Every configured agent, accepted or refused, with the reason (A3)."""
        return self._registry.agents()

    def asgi_app(self) -> WebApp:
        """The HTTP API: serve it, or mount it in an application while the harness is entered."""
        return build_app(self)

    # --- for the faces

    async def push_accepts(self, sub_task_id: str, tokens: Sequence[str]) -> bool:
        """True when every token is the sub-task's own (D3). Raises StoreError."""
        return await self._supervisor.accepts(sub_task_id, tokens)

    def ring(
        self,
        sub_task_id: str,
        remote_task_id: str,
        claimed_state: A2AState | None,
        anomalies: Sequence[str] = (),
    ) -> bool:
        """A push with a right token came. False when it is about another task (D5)."""
        return self._supervisor.ring(sub_task_id, remote_task_id, claimed_state, anomalies)

    @property
    def self_routes(self) -> Any:
        """The A2A routes of `self`, an ASGI application; None when it is not configured (A9)."""
        return None if self._self_agent is None else self._self_agent.app

    # --- inside

    # What was recorded is done, whether or not its caller still waits for it.

    def _handed_out(self, recorded: Recorded) -> None:
        if recorded.events:
            self._supervisor.adopt(recorded.sub_task, unsent=True)

    def _replied(self, recorded: Recorded) -> None:
        self._supervisor.adopt(recorded.sub_task)
