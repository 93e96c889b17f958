"""Ending a sub-task from this side: CancelTask, and what the agent makes of it (F2, C11)."""

import asyncio
import logging
from contextlib import suppress

from locum.core.commands import Cancel, Expire
from locum.core.errors import RemoteCallError
from locum.core.events import Cause
from locum.core.hearing import heard_state
from locum.core.lifecycle import A2AState
from locum.core.policy import CancelRemote
from locum.core.report import RemoteReport
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from ..pause import Pause
from .cancelling import Answer, CancelCall
from .desk import Desk
from .running import running
from .searching import find_brief, find_reply, hear_found

__all__ = ["cancel_remote"]

logger = logging.getLogger("locum.standin")

LOOK_LONG = 2.0
"""Seconds that GetTask has to complete an end that is known."""
LOOK_FIRST = 0.25
LOOK_MOST = 5.0
"""Seconds between two looks at what is being cancelled: growing from the first to the most."""


async def cancel_remote(desk: Desk, action: CancelRemote) -> None:
    """Cancel the remote task; what the agent says it ended as counts, if it says so in time (F2).

    A result that was ready is not thrown away. When the agent confirms nothing within
    `cancel_grace`, the sub-task ends all the same, unconfirmed. A CancelTask that was surely not
    read by then, above all one of so many that it waits for a place, goes out beside that.
    """
    confirmed = False
    told: RemoteReport | None = None

    async def hear(sub_task: SubTask, report: RemoteReport) -> bool:
        nonlocal told
        told = report if _is_end(sub_task, report) else None
        if told is not None and not report.artifacts:
            told = await _completed(desk, sub_task, report)
        return await _has_ended(desk, sub_task, report if told is None else told, action)

    call = CancelCall(desk, hear)
    try:
        async with asyncio.timeout(desk.office.settings.cancel_grace):
            confirmed = await _cancel(desk, action, call)
    except TimeoutError:
        sub_task = await desk.load()
        if told is not None and not sub_task.is_resolved:
            # It had said so, and then took too long over the rest.
            await call.drop()
            await _has_ended(desk, sub_task, told, action)
            return
        logger.info("sub-task %s: the agent did not confirm the cancel in time", desk.id)
        await call.leave_behind()
    except BaseException:
        await call.drop()
        raise
    else:
        await call.drop()
    if not (await desk.load()).is_resolved:
        await _end(desk, action, confirmed=confirmed)


async def _cancel(desk: Desk, action: CancelRemote, call: CancelCall) -> bool:
    """True when there is surely nothing left running on the agent."""
    sub_task = await desk.load()
    if not sub_task.is_linked and desk.known.unsent == sub_task.message_id:
        return True
    client = await _reached(desk)
    if client is None:
        return False
    if sub_task.is_linked:
        call.address(sub_task)
        sub_task = await _find_reply(desk, client, sub_task)
    else:
        sub_task = await _find_brief(desk, client, sub_task)
    if sub_task.is_resolved:
        return True
    if not sub_task.is_linked:
        return False
    call.address(sub_task)
    answer = call.start(client)
    async with running(_look_on(desk, sub_task, action, answer)) as looks:
        await asyncio.wait({answer, looks}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done() and answer.result() == "ended":
            return True
        has_ended: bool = await looks
        return has_ended


async def _reached(desk: Desk) -> AgentClient | None:
    """How the agent is called, as soon as it can be; None when it is no longer configured."""
    pause = desk.retry_pause()
    while True:
        await desk.reach()
        if desk.client is not None or desk.is_orphan:
            return desk.client
        await asyncio.sleep(pause.step())


async def _find_brief(desk: Desk, client: AgentClient, sub_task: SubTask) -> SubTask:
    """The brief may have arrived: then there is a task to cancel, or there soon is.

    It is looked for until it is found, unless the agent cannot say. How long, the caller limits.
    """
    pause = _pause(desk)
    while not sub_task.is_linked and not sub_task.is_resolved:
        try:
            found = await find_brief(client, sub_task)
        except RemoteCallError as error:
            if error.kind == "refused" or error.code == "remote.not_listable":
                logger.info("sub-task %s: could not be looked for (%s)", desk.id, error.code)
                return sub_task
            found = None
            pause.at_least(error.retry_after)
        if found is not None:
            await hear_found(desk, found, "recheck")
        else:
            await asyncio.sleep(pause.step())
        sub_task = await desk.load()
    return sub_task


async def _find_reply(desk: Desk, client: AgentClient, sub_task: SubTask) -> SubTask:
    """A reply whose fate is unknown may have led to another task: that is to be cancelled (C13).

    One look, no longer than a send is waited for: CancelTask is to go out whatever comes of it.
    """
    reply = sub_task.reply
    if reply is None or reply.message_id in (desk.known.delivered, desk.known.unsent):
        return sub_task
    try:
        async with asyncio.timeout(desk.office.settings.cancel_link_wait):
            found = await find_reply(client, sub_task, reply.message_id)
    except (RemoteCallError, TimeoutError) as error:
        logger.info("sub-task %s: its reply could not be looked for (%r)", desk.id, error)
        return sub_task
    if found is not None and found.report.remote_task_id != sub_task.remote_task_id:
        await hear_found(desk, found, "recheck", moved=True)
    return await desk.load()


async def _look_on(
    desk: Desk, sub_task: SubTask, action: CancelRemote, call: asyncio.Task[Answer]
) -> bool:
    """GetTask now and then, and whenever somebody rings, until the task has ended: True.

    "Not found" is no end that the agent tells of. But once it has said so of CancelTask and, twice
    on end, of GetTask, nothing else will come: False.
    """
    pause = _pause(desk)
    misses = 0
    while not (await desk.load()).is_resolved:
        try:
            async with asyncio.timeout(pause.step()):
                await desk.doorbell.wait()
        except TimeoutError:
            pass
        else:
            desk.doorbell.clear()
            pause.reset()
        said = await desk.ask(judge_gone=False)
        if said is not None and await _has_ended(desk, sub_task, said, action):
            return True
        misses = misses + 1 if desk.missed_with == "remote.not_found" else 0
        if misses > 1 and call.done() and call.result() == "unknown":
            return False
    return True


def _pause(desk: Desk) -> Pause:
    return Pause(LOOK_FIRST, LOOK_MOST, desk.office.random)


def _is_end(sub_task: SubTask, report: RemoteReport) -> bool:
    state = heard_state(sub_task, report)
    return state is not None and state.is_terminal


async def _completed(desk: Desk, sub_task: SubTask, report: RemoteReport) -> RemoteReport:
    """What GetTask says of an end that CancelTask told without a result: it may be there (D12)."""
    said = None
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_LONG):
            said = await desk.ask(judge_gone=False)
    return said if said is not None and _is_end(sub_task, said) else report


async def _has_ended(
    desk: Desk, sub_task: SubTask, report: RemoteReport, action: CancelRemote
) -> bool:
    state = heard_state(sub_task, report)
    if state is None or not state.is_terminal:
        return False
    if action.deadline and state is A2AState.CANCELED:
        # The agent confirmed; the sub-task ends as FAILED all the same, with its words (C11, E7).
        await _expire(desk, confirmed=True, report=report)
        return True
    # Who wanted the end has ended it; when the agent was done already, it was the agent.
    wish = desk.wish if state is A2AState.CANCELED else None
    cause: Cause = "deadline" if action.deadline else "parent"
    await desk.hear(report, source="cancel", cause=cause, wish=wish)
    return True


async def _end(desk: Desk, action: CancelRemote, *, confirmed: bool) -> None:
    if action.deadline:
        await _expire(desk, confirmed=confirmed)
        return
    await desk.record(
        Cancel(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor=desk.wish.actor if desk.wish else "locum",
            correlation_id=desk.wish.correlation_id if desk.wish else "",
            reason=desk.wish.reason if desk.wish else "",
            confirmed=confirmed,
            artifacts=desk.artifacts.whole,
            result_bytes=desk.office.settings.result_limit,
        )
    )


async def _expire(desk: Desk, *, confirmed: bool, report: RemoteReport | None = None) -> None:
    await desk.record(
        Expire(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            confirmed=confirmed,
            report=report,
            artifacts=desk.artifacts.whole,
            result_bytes=desk.office.settings.result_limit,
        )
    )
