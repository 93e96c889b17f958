"""The stand-in: the loop of one sub-task. It reads the record, asks the policy, performs, repeats.

Nothing is decided here; stop it anywhere and it starts again from the record.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, assert_never

from locum.core.policy import (
    AwaitPush,
    CancelRemote,
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

from .delivery import deliver_brief, deliver_reply
from .desk import Desk
from .ending import cancel_remote
from .pushing import delete_push, register_push
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
        action = next_action(sub_task, desk.office.now(), traits=desk.traits, known=desk.known)
        logger.debug("sub-task %s: %s", desk.id, action)
        if isinstance(action, Rest):
            return sub_task
        await desk.reach()
        match action:
            case AwaitPush() if not (desk.claims or desk.due):
                return sub_task
            case AwaitPush():
                desk.due = False
                await _unless_wanted(desk, look(desk))
            case Send(look_first=look_first):
                await _unless_cancelled(desk, deliver_brief(desk, look_first=look_first))
            case SendReply(look_first=look_first):
                await _unless_wanted(desk, deliver_reply(desk, look_first=look_first))
            case Follow():
                await _watching(desk, follow(desk))
            case Poll():
                await _watching(desk, poll(desk))
            case RegisterPush():
                await _unless_wanted(desk, register_push(desk, action))
            case DeletePush():
                await delete_push(desk, action)
            case CancelRemote():
                await cancel_remote(desk, action)
            case _ as never:
                assert_never(never)


async def _watching(desk: Desk, watch: Coroutine[Any, Any, None]) -> None:
    """Watch until the policy wants something else or somebody rings, who is answered at once."""
    await _unless_wanted(desk, watch)
    if desk.claims or desk.due:
        desk.due = False
        await _unless_wanted(desk, look(desk))


async def _unless_wanted(desk: Desk, action: Coroutine[Any, Any, None]) -> None:
    """Perform `action`, but let go of it as soon as the desk is wanted for something else."""
    await _race(action, desk.attention)


async def _unless_cancelled(desk: Desk, action: Coroutine[Any, Any, None]) -> None:
    """Perform a send. A cancel waits a moment for its task id, then lets go of it (F2)."""
    await _race(action, desk.attention, grace=desk.office.settings.cancel_link_wait)


async def _race(
    action: Coroutine[Any, Any, None], attention: asyncio.Event, grace: float = 0.0
) -> None:
    work = asyncio.create_task(action)
    bell = asyncio.create_task(attention.wait())
    try:
        await asyncio.wait({work, bell}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and grace:
            await asyncio.wait({work}, timeout=grace)
    finally:
        bell.cancel()
        if not work.done():
            work.cancel()
        await asyncio.wait({work, bell})
    if not work.cancelled():
        work.result()
