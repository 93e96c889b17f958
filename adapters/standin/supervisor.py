"""The supervisor: every open sub-task's desk, its running loop or its timer, and recovery (I1).

A parked sub-task that waits for a push is a desk and a timer, no task. It decides nothing about a
sub-task; that is the policy's business.
"""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from types import TracebackType
from typing import Self

import msgspec

from locum.core.commands import Reply
from locum.core.errors import LocumError
from locum.core.events import Event, Linked, Parked, PushRevoked, Resolved
from locum.core.lifecycle import A2AState
from locum.core.subtask import SubTask
from locum.projections.tables import Slot

from ..settings import AgentSettings
from .deadlines import Deadlines
from .desk import Desk
from .loop import work
from .office import CancelWish, Claim, Office
from .recovery import Recovery
from .watching import next_look

__all__ = ["Supervisor"]

logger = logging.getLogger("locum.supervisor")

CLAIMS_KEPT = 8
"""How many pushes that were not looked at yet are told apart; only the latest one counts."""
RESTART_FIRST = 0.5
RESTART_MOST = 60.0
"""Seconds before a loop that failed is started again: growing from the first to the most."""


class Supervisor:
    """Owns all loops in one task group. `async with` starts and ends it."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._desks: dict[str, Desk] = {}
        self._slots: dict[str, Slot] = {}
        """What was open when locum stopped, and has no desk yet."""
        self._unsent: dict[str, str] = {}
        """Of these, the messages that had surely not left then, by sub-task."""
        self._recovery = Recovery(places=self._places, start=self._take_up)
        self._deadlines = Deadlines(now=office.now, due=self._has_come)
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._main: asyncio.Task[None] | None = None
        self._context = copy_context()
        self.failures = 0
        """How often a loop met an error that it could not turn into a record."""

    async def __aenter__(self) -> Self:
        self._unsent = await self._office.journal.take_unsent()
        self._main = asyncio.create_task(self._run(), name="locum-supervisor")
        await self._ready.wait()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._main is not None, "left before it was entered"
        self.stop()
        await self._main
        await self._keep_unsent()

    async def _keep_unsent(self) -> None:
        """No sub-task is in doubt only because locum stopped (F4)."""
        unsent = dict(self._unsent)
        try:
            # What was asked for just before is recorded by now or soon, and has not left either.
            await self._office.journal.flush()
            desks = self._desks.values()
            unsent |= {one.id: one.known.unsent for one in desks if one.known.unsent}
            if unsent:
                await self._office.journal.keep_unsent(unsent)
        except LocumError as error:
            told = "%d messages have not left; at the next start each is in doubt: %s"
            logger.warning(told, len(unsent), error.message)

    def stop(self) -> None:
        """Let go of every agent now (F4, D11); what is recorded from now on is taken up later."""
        self._stop.set()

    async def _run(self) -> None:
        # One task enters and leaves the group, whichever task enters and leaves the harness.
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._ready.set()
            await self._stop.wait()
            self._group = None
            self._recovery.stop()
            self._deadlines.stop()
            for desk in self._desks.values():
                desk.stop()
            await self._office.errands.stop()

    # --- desks

    def adopt(self, sub_task: SubTask, *, unsent: bool = False) -> Desk:
        """Take a sub-task on that was recorded just now, or that another process left."""
        desk = self.desk(sub_task.id)
        if desk is None:
            desk = Desk(self._office, sub_task.id, sub_task.parent_id, sub_task.agent_id)
            self._desks[sub_task.id] = desk
            self._deadlines.set(sub_task.id, sub_task.deadline)
        if unsent:
            desk.mark_unsent(sub_task.message_id)
        desk.note(sub_task)
        self.wake(desk)
        return desk

    @contextmanager
    def replying(self, reply: Reply) -> Iterator[Reply]:
        """A reply is being recorded: until it leaves, its stand-in knows that it has not left.

        A loop that runs may see the record before whoever recorded it is told. What is given is the
        reply with the artifacts that it comes after (D16).
        """
        desk = self.desk(reply.sub_task_id)
        if desk is None:
            yield reply
            return
        desk.expected |= {reply.message_id}
        try:
            yield msgspec.structs.replace(reply, artifacts=desk.artifacts.whole)
        except LocumError:
            desk.expected -= {reply.message_id}
            raise

    def cancel(self, sub_task: SubTask, actor: str, reason: str, correlation_id: str) -> None:
        """Somebody wants the end of it (F2)."""
        desk = self.adopt(sub_task)
        desk.want_cancel(CancelWish(actor, reason, correlation_id))
        self.wake(desk)

    def recover(self, slot: Slot) -> None:
        """Take note of a sub-task that was open when locum stopped (I1).

        It has no desk before its turn or before somebody asks for it: there may be very many.
        """
        if slot.id in self._desks:
            return
        self._slots[slot.id] = slot
        self._deadlines.set(slot.id, slot.deadline)
        self._recovery.add(slot.id, slot.agent)

    def take_up(self) -> None:
        """All of them are known: take them up, each when its turn comes."""
        self._recovery.begin()

    def _places(self, agent_id: str) -> int:
        # More than can be called at a time would only wait for each other.
        agent = self._office.agent(agent_id)
        return (agent.settings if agent else AgentSettings(id=agent_id)).max_calls

    def _take_up(self, sub_task_id: str) -> Desk | None:
        desk = self.desk(sub_task_id)
        if desk is None or desk.task is not None or not desk.recovered:
            return None
        self.wake(desk)
        return desk

    def desk(self, sub_task_id: str) -> Desk | None:
        """The desk of an open sub-task, or None."""
        slot = self._slots.pop(sub_task_id, None)
        if slot is not None:
            desk = Desk(self._office, slot.id, slot.parent_id, slot.agent)
            desk.recovered = True
            desk.mark_unsent(self._unsent.pop(slot.id, ""))
            self._desks[slot.id] = desk
        return self._desks.get(sub_task_id)

    def wake(self, desk: Desk) -> None:
        """The record or a wish changed: the loop asks the policy again, or a new one starts."""
        desk.attention.set()
        self._start(desk)

    def _has_come(self, sub_task_id: str) -> None:
        """The deadline of this one has come (C11)."""
        desk = self.desk(sub_task_id)
        if desk is not None:
            self.wake(desk)

    def _look(self, desk: Desk) -> None:
        """It is time for a look at the task: a push came, or none for long."""
        desk.doorbell.set()
        self._start(desk)

    def _start(self, desk: Desk) -> None:
        if desk.task is None and self._group is not None:
            if desk.backstop is not None:
                # One timer a desk: it is set anew when this loop comes to rest.
                desk.backstop.cancel()
            desk.task = self._group.create_task(self._stand_in(desk), name=f"locum-{desk.id}")

    # --- the doorbell (D3)

    async def accepts(self, sub_task_id: str, tokens: Sequence[str]) -> bool:
        """True when every one of `tokens` is the sub-task's, and there is one; constant time."""
        desk = self.desk(sub_task_id)
        if desk is not None and desk.recovered and desk.token_digest is None:
            # Its turn after a restart has not come, but a right token is right all the same (D3).
            desk.note(await desk.load())
        expected = (desk.token_digest if desk else None) or "0" * 64
        matches = bool(tokens) and desk is not None and desk.token_digest is not None
        for token in tokens:
            digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
            matches &= hmac.compare_digest(digest, expected)
        return matches

    def ring(
        self,
        sub_task_id: str,
        remote_task_id: str,
        state: A2AState | None,
        anomalies: Sequence[str] = (),
    ) -> bool:
        """Wake the stand-in. False when the push is about another task than the linked one.

        A body that names no task is taken for the linked one's: its token says so.
        """
        desk = self.desk(sub_task_id)
        if desk is None or desk.token_digest is None:
            return False
        if remote_task_id and remote_task_id != desk.remote_task_id:
            return False
        desk.claims = (*desk.claims, Claim(state))[-CLAIMS_KEPT:]
        desk.notice(anomalies)
        self._look(desk)
        return True

    def noted(self, events: Iterable[Event]) -> None:
        """Keep what the doorbell compares with up to date with what was recorded."""
        for event in events:
            desk = self.desk(event.sub_task_id)
            if desk is None:
                continue
            match event:
                case Linked():
                    desk.remote_task_id = event.remote_task_id
                case Parked():
                    desk.token_digest = event.watch.token_digest
                case PushRevoked() if event.remote_task_id not in ("", desk.remote_task_id):
                    pass  # The config of an earlier task (C13); this one's is as it was.
                case Resolved() | PushRevoked():
                    desk.token_digest = None
                case _:
                    pass

    # --- loops and timers

    async def _stand_in(self, desk: Desk) -> None:
        loop = asyncio.get_running_loop()
        pause = RESTART_FIRST
        while True:
            began = loop.time()
            try:
                sub_task = await work(desk)
            except LocumError as error:
                self.failures += 1
                logger.warning("sub-task %s: %s (%s)", desk.id, error.message, error.code)
            except Exception:
                self.failures += 1
                logger.exception("sub-task %s: its stand-in failed and starts again", desk.id)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Nobody wanted it to end: something that it awaited was cancelled.
                self.failures += 1
                logger.exception("sub-task %s: its stand-in was broken off and goes on", desk.id)
            else:
                if desk.attention.is_set() or desk.doorbell.is_set():
                    continue
                self._put_down(desk, sub_task)
                return
            if loop.time() - began > RESTART_MOST:
                pause = RESTART_FIRST
            # Whoever wants something of it meanwhile, a cancel above all, does not wait as long.
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await desk.attention.wait()
            pause = min(pause * 2, RESTART_MOST)

    def _put_down(self, desk: Desk, sub_task: SubTask) -> None:
        desk.task = None
        desk.taken_up()
        if sub_task.is_resolved:
            desk.stop()
            self._deadlines.forget(desk.id)
            self._desks.pop(desk.id, None)
            return
        if sub_task.watch is not None and sub_task.watch.mode == "push":
            desk.backstop = self._later(next_look(desk), self._look, desk)

    def _later(self, wait: float, do: Callable[..., None], *about: object) -> asyncio.TimerHandle:
        # Not in the context of who sets the timer: it would keep that call's notes and trace alive.
        loop = asyncio.get_running_loop()
        return loop.call_later(wait, do, *about, context=self._context)
