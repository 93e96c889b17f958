"""Hearing one stream: which of its events are news, and when GetTask has to say (D7, D12, D16).

The stream is the bell and GetTask the judge. An event is believed when it is live, newer than what
is known and says all there is to say; otherwise one GetTask decides or completes it.
"""

import asyncio
import logging

import msgspec

from locum.core.errors import RemoteCallError
from locum.core.events import Cause
from locum.core.hearing import (
    Verdict,
    asks_again,
    heard_state,
    is_level,
    is_older,
    question_of,
    weigh,
)
from locum.core.lifecycle import A2AState
from locum.core.report import RemoteReport, Source, says
from locum.core.subtask import BESIDE, SubTask
from locum.core.times import order_of

from ..a2a.reports import Heard
from ..pump import Pump, StreamEndedError
from .desk import Desk
from .earlier import EARLIER, fail_if_followed, is_earlier, is_of_other_work
from .running import running

__all__ = ["Ear"]

logger = logging.getLogger("locum.standin")

GRACE, GRACE_IN_ALL = 0.2, 0.5
"""Seconds that a stream which has said enough is waited for: for its next event, and in all."""
BURST = 64
"""How many events are heard after that at the most: a stream may never stop (J3)."""


class Ear:
    """What has been heard on one stream so far.

    `live` says that nothing on the stream is a replay: true for the answer to a message, and for
    a subscription once its first snapshot has come. Of its chunks that is said only by a snapshot
    that has all that was heard of the artifacts.
    """

    def __init__(
        self, desk: Desk, *, source: Source, cause: Cause, live: bool, moved: bool = False
    ) -> None:
        self._desk = desk
        self._source: Source = source
        self._cause: Cause = cause
        self._live = live
        self._whole = live
        self._moved = moved
        self._floor: str | None = None

    async def hear_beside(self, heard: RemoteReport, pump: Pump[Heard]) -> None:
        """Hear one event of a stream that is read on meanwhile, though no further than a little.

        GetTask may hang: an end that says all there is to say is heard without it (D8).
        """
        if heard.kind == "artifact":
            await self.hear(heard)
            return
        async with running(self.hear(heard)) as hearing:
            has_ended = await pump.meanwhile(hearing, _is_whole_end)
            if not has_ended:
                hearing.result()
        while has_ended:
            one = await pump.next()
            has_ended = not _is_whole_end(one)
            if not has_ended or one.report.kind == "artifact":
                await self.hear(one.report)

    async def hear_rest(self, pump: Pump[Heard]) -> None:
        """Hear what comes in the same burst, before the stream is closed (C4, case Q10).

        What the agent has only there would be lost: its question, or its result.
        """
        clock = asyncio.get_running_loop().time
        left = GRACE_IN_ALL
        for _ in range(BURST):
            if (await self._desk.load()).is_resolved:
                return
            since = clock()
            try:
                heard = await pump.next(min(GRACE, left))
            except (StreamEndedError, TimeoutError, RemoteCallError):
                return
            # Only waiting takes time of it: what has come already is heard, however long that is.
            left = max(left - (clock() - since), 0.0)
            await self.hear_beside(heard.report, pump)

    async def hear(self, heard: RemoteReport) -> None:
        """Take one event in and record what it means."""
        desk = self._desk
        sub_task = await desk.load()
        is_snapshot = heard.kind == "task" and not is_older(sub_task, heard)
        # A snapshot that lacks what was heard does not show that the replay is over (D12).
        self._whole = self._whole or (is_snapshot and desk.artifacts.are_in(heard))
        if self._source == "send" and is_earlier(sub_task, heard):
            desk.notice((EARLIER,))
        report = desk.take(heard, replayed=not (self._whole or is_snapshot))
        report = msgspec.structs.replace(report, heard_at=_heard_at(desk, sub_task))
        if sub_task.is_resolved:
            return
        if report.kind == "message":
            await self._words(sub_task, report)
            return
        if not sub_task.is_linked and await fail_if_followed(desk, sub_task, report):
            return
        if not sub_task.is_linked or self._is_moving(sub_task, report):
            sub_task = await self._link(sub_task, report)
            if sub_task.is_resolved or not sub_task.is_linked:
                return
        if report.kind == "artifact":
            return
        if is_snapshot and not self._live:
            self._live = True
            self._floor = report.remote_at
        floor, at = self._floor, report.remote_at
        if floor and at and order_of(at, floor) == "older":
            return
        await self._news(sub_task, report)

    def _is_moving(self, sub_task: SubTask, report: RemoteReport) -> bool:
        other = report.remote_task_id
        return self._moved and bool(other) and other != sub_task.remote_task_id

    async def _link(self, sub_task: SubTask, report: RemoteReport) -> SubTask:
        """Record the remote task at once (C4); a state that may need completing comes after."""
        state = heard_state(sub_task, report)
        is_said = report.kind == "task" or (state is not None and not state.is_settled)
        first = report if is_said else msgspec.structs.replace(report, state=None)
        recorded = await self._desk.hear(
            first, source=self._source, cause=self._cause, moved=self._moved
        )
        return recorded.sub_task

    async def _words(self, sub_task: SubTask, report: RemoteReport) -> None:
        """A message: the answer when there is no task (C5), or words beside one."""
        desk = self._desk
        if self._may_be_of_a_task(sub_task, report):
            said = await self._named_task(sub_task, report.remote_task_id)
            if said is not None:
                told = _completed(said, report)
                await desk.hear(told, source="get", cause=self._cause, moved=self._moved)
                return
        if not sub_task.is_linked:
            await desk.hear(report, source=self._source, cause=self._cause)
            return
        # The judge says what state the task is in; the words count where it has none (D12).
        said = await desk.ask()
        if said is None:
            return
        asks = self._moved and bool(report.parts)
        if asks and asks_again(await desk.load(), said, desk.artifacts.whole):
            await desk.hear(
                _asked_beside(said, report), source="get", cause=self._cause, confirmed=True
            )
        else:
            await desk.judge(_completed(said, report), self._cause)

    def _may_be_of_a_task(self, sub_task: SubTask, report: RemoteReport) -> bool:
        """True when it names a task that is not the known one, and may be what this led to."""
        known = [sub_task.remote_task_id, *sub_task.replaced]
        if sub_task.follows is not None:
            known.append(sub_task.follows.remote_task_id)
        is_another = report.remote_task_id not in ("", *known)
        return is_another and (self._moved or not sub_task.is_linked)

    async def _named_task(self, sub_task: SubTask, task_id: str) -> RemoteReport | None:
        """The task that a message names, None when the agent does not know it (C4, C5), or when it is
        a task of earlier, which the message only refers to.

        Many agents give a direct answer the id of a task that they never made. One that cannot be
        asked now is asked a few times more, and then believed to be one of these.
        """
        desk = self._desk
        for pause in (*desk.office.settings.push_recheck, None):
            client = desk.client
            if client is None:
                return None
            try:
                said = await client.get(task_id, participant_id=sub_task.participant_id)
            except RemoteCallError as error:
                logger.info("sub-task %s: the task of a message: %s", desk.id, error.code)
                if error.kind == "refused" or pause is None:
                    return None
                await asyncio.sleep(pause)
            else:
                if is_of_other_work(sub_task, said.report):
                    return None
                asked = msgspec.structs.replace(said.report, asked_at=sub_task.version)
                return desk.take(asked)
        return None

    async def _news(self, sub_task: SubTask, report: RemoteReport) -> None:
        desk = self._desk
        artifacts = desk.artifacts.whole
        verdict = weigh(sub_task, report, self._source, artifacts)
        state = heard_state(sub_task, report)
        if verdict is Verdict.TEXT:
            desk.waiting_text = report
            await desk.hear(report, source=self._source, cause=self._cause)
            return
        if verdict is Verdict.SAME and state is A2AState.WORKING and report.text:
            desk.waiting_text = None  # It says again what is recorded (D17).
        if state is sub_task.state and self._is_affirmed(sub_task, report):
            desk.doubts.clear()
        if verdict not in (Verdict.CHANGE, Verdict.DOUBT) or state is None:
            return
        # An end is no replay: nothing can have come after it.
        is_believed = verdict is Verdict.CHANGE and (self._live or state.is_terminal)
        if is_believed and self._says_all(sub_task, report, state):
            await desk.hear(report, source=self._source, cause=self._cause)
            return
        await self._judge(report, state, is_believed=is_believed)

    def _is_affirmed(self, sub_task: SubTask, report: RemoteReport) -> bool:
        """True when a live update says that it is as is known: GetTask is behind, if it says else."""
        is_new = self._live and report.kind == "status" and bool(report.remote_at)
        return is_new and not is_older(sub_task, report)

    def _says_all(self, sub_task: SubTask, report: RemoteReport, state: A2AState) -> bool:
        if state.is_terminal:
            # What the agent took away is not heard to be gone before GetTask has told so (D12).
            known = self._desk.artifacts
            is_whole = report.kind == "task" and not (report.is_bare and not known.whole)
            return is_whole and not known.are_doubted_by(report)
        if state.is_parked:
            words, parts = question_of(sub_task, report, ())
            return bool(words or parts)
        return True

    async def _judge(self, report: RemoteReport, state: A2AState, *, is_believed: bool) -> None:
        """One GetTask decides a doubt, or completes what was believed."""
        desk = self._desk
        said = await self._ask(report, patiently=is_believed and state.is_terminal)
        if said is None:
            # An agent that has no GetTask cannot judge: what it says on its stream has to do.
            if is_believed or desk.has_no_judge:
                await desk.hear(report, source=self._source, cause=self._cause)
            return
        sub_task = await desk.load()
        said_state = heard_state(sub_task, said)
        # Of what may be replayed, the words of another question at one and the same time are none
        # that GetTask lacks.
        is_echo = not self._live and sub_task.state is state and is_level(sub_task, report)
        # After an end that was heard live nothing can have come, whatever the time of an answer (K5).
        # What only looks parked is COMPLETED, too; another question may follow that (D13).
        is_end = self._live and is_believed and report.state is state and state.is_terminal
        self._live = True
        self._floor = said.remote_at or self._floor
        if said_state is state:
            await desk.judge(said if is_echo else _completed(said, report), self._cause)
            return
        is_newer = _is_newer(said, report) and not is_end
        said_the_end = said_state is not None and said_state.is_terminal
        if not is_believed or is_newer or said_the_end:
            await desk.judge(said, self._cause)
            return
        # GetTask has not caught up with what the agent said live: its word stands (K5).
        await desk.hear(report, source=self._source, cause=self._cause)

    async def _ask(self, report: RemoteReport, *, patiently: bool) -> RemoteReport | None:
        # An end that was heard live is an end, also of a task that the agent then forgets (K5).
        said = _as_meant(await self._desk.ask(judge_gone=not patiently), report)
        if not patiently:
            return said
        for pause in self._desk.office.settings.push_recheck:
            sub_task = await self._desk.load()
            if said is not None:
                heard = heard_state(sub_task, said)
                if heard is not None and heard.is_terminal:
                    return said
            if sub_task.is_resolved:
                return None
            await asyncio.sleep(pause)
            said = _as_meant(await self._desk.ask(judge_gone=False), report)
        return said


def _heard_at(desk: Desk, sub_task: SubTask) -> int:
    """The version that what is heard now may be about: that of no reply that has not left (C12)."""
    reply = sub_task.reply
    if reply is not None and reply.message_id in (desk.known.unsent, *desk.expected):
        return reply.version - 1
    return sub_task.version


def _is_newer(said: RemoteReport, report: RemoteReport) -> bool:
    one, other = said.remote_at, report.remote_at
    return one is not None and other is not None and order_of(one, other) == "newer"


def _is_whole_end(heard: Heard) -> bool:
    report = heard.report
    return report.kind == "task" and report.state is not None and report.state.is_terminal


def _completed(said: RemoteReport, report: RemoteReport) -> RemoteReport:
    """What GetTask said, with the words that only the stream had (case Q10, case Q11)."""
    if says(said.parts) or said.text.strip():
        return said
    return msgspec.structs.replace(
        said, text=report.text, parts=report.parts, message_id=report.message_id
    )


def _as_meant(said: RemoteReport | None, report: RemoteReport) -> RemoteReport | None:
    """What GetTask said, with the sub-state that the stream gave the very same status (D13)."""
    if said is None or said.sub_state or not report.sub_state or said.state is not report.state:
        return said
    is_same = said.message_id == report.message_id or said.parts == report.parts
    if said.parts and not is_same:
        return said
    return msgspec.structs.replace(said, sub_state=report.sub_state)


def _asked_beside(said: RemoteReport, report: RemoteReport) -> RemoteReport:
    """A task that still asks what was answered, and the message that is asked instead (C12)."""
    return msgspec.structs.replace(
        said,
        text=report.text,
        parts=report.parts,
        message_id=report.message_id,
        anomalies=(*said.anomalies, BESIDE),
    )
