"""The stand-in: the loop of one sub-task. It reads the record, asks the policy, performs, repeats.

Nothing is decided here; stop it anywhere and it starts again from the record.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, assert_never

from locum.core.policy import (
    Action,
    AwaitPush,
    CancelRemote,
    ChangeWatch,
    DeletePush,
    Follow,
    Poll,
    RegisterPush,
    Rest,
    Send,
    SendReply,
    next_action,
)
from locum.core.subtask import SubTask

from .briefs import deliver_brief
from .desk import Desk
from .ending import cancel_remote
from .pushing import change_watch, delete_push, register_push
from .replies import deliver_reply
from .running import running
from .watching import follow, look, poll

__all__ = ["work"]

logger = logging.getLogger("locum.standin")


async def work(desk: Desk) -> SubTask:
    """Perform actions until nothing is left to do here and now; the sub-task as it is then.

    It is resolved, or parked and waits for a push, a reply, a cancel or a timer.
    """
    while True:
        desk.attention.clear()
        sub_task = await desk.load()
        desk.note(sub_task)
        action = _next(desk, sub_task)
        if isinstance(action, Rest):
            desk.doorbell.clear()
        if isinstance(action, Rest | AwaitPush) and not desk.doorbell.is_set():
            return sub_task
        logger.debug("sub-task %s: %s", desk.id, action)
        if isinstance(action, Follow | Poll):
            desk.taken_up()
        await _perform(desk, action)


async def _do(desk: Desk, action: Action) -> None:
    if not isinstance(action, CancelRemote):  # whose time is counted from its first step (F2)
        await desk.reach()
    match action:
        case Send(look_first=look_first):
            await deliver_brief(desk, look_first=look_first)
        case SendReply(look_first=look_first):
            await _answering(desk, action, deliver_reply(desk, look_first=look_first))
        case Follow():
            await _answering(desk, action, follow(desk))
        case Poll():
            await _answering(desk, action, poll(desk))
        case AwaitPush():
            await look(desk)
        case RegisterPush():
            await _answering(desk, action, register_push(desk, action))
        case ChangeWatch():
            await change_watch(desk)
        case DeletePush():
            await delete_push(desk, action)
        case CancelRemote():
            await cancel_remote(desk, action)
        case Rest():
            raise AssertionError("there is nothing to do at rest")
        case _ as never:
            assert_never(never)


def _next(desk: Desk, sub_task: SubTask) -> Action:
    return next_action(sub_task, desk.office.now(), traits=desk.traits, known=desk.known)


async def _perform(desk: Desk, action: Action) -> None:
    """Perform `action`, but let go of it as soon as the policy wants something else.

    A send that has left and is let go of by a cancel gets a moment for its task id first (F2); so
    does a reply, which may be answered under another task's (C13). What has not left does not leave.
    """
    async with running(_do(desk, action)) as task:
        while not task.done():
            async with running(desk.attention.wait()) as bell:
                await asyncio.wait({task, bell}, return_when=asyncio.FIRST_COMPLETED)
            desk.attention.clear()
            if not task.done() and not await _is_wanted(desk, action):
                if desk.is_sending:
                    await asyncio.wait({task}, timeout=desk.office.settings.cancel_link_wait)
                return
        task.result()


async def _is_wanted(desk: Desk, action: Action) -> bool:
    """True while the policy still wants what is being done."""
    wanted = _next(desk, await desk.load())
    match action, wanted:
        case Send(), Send():
            return True
        case SendReply(message_id=one), SendReply(message_id=other):
            return one == other
        case RegisterPush(), AwaitPush():
            return True  # Registered; it still takes the look that belongs to it (D2).
        case CancelRemote(), CancelRemote():
            return True  # Who wanted the end first has it: one CancelTask (F2, C11).
        case _:
            return action == wanted


async def _answering(
    desk: Desk, action: SendReply | RegisterPush | Follow | Poll, work: Coroutine[Any, Any, None]
) -> None:
    """Do the work, and answer whoever rings meanwhile; the work goes on beside it (D3)."""
    is_reply = isinstance(action, SendReply)
    async with running(work) as task:
        while not task.done():
            async with running(desk.doorbell.wait()) as bell:
                await asyncio.wait({task, bell}, return_when=asyncio.FIRST_COMPLETED)
            if desk.doorbell.is_set():
                await look(desk, only_ends=is_reply)
                if not await _is_wanted(desk, action):
                    return
        task.result()
