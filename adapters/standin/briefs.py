"""Delivering the brief: sent once, looked for when in doubt (C4, C7, I2).

What goes out was recorded before, with its message id; whatever is tried again goes out under the
same one.
"""

import asyncio
import logging
from typing import NamedTuple

from a2a.types.a2a_pb2 import Message

from locum.core.commands import Fail
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.envelope import brief_message
from ..a2a.reports import Heard
from ..pump import StreamEndedError, pumped
from .departure import Departure, is_send_wanted
from .desk import Desk
from .ear import Ear
from .refusals import not_asked, refused_brief
from .searching import find_brief, hear_found

__all__ = ["deliver_brief"]

logger = logging.getLogger("locum.standin")

RESENDS = 3
"""How often a brief whose fate is unknown goes out again where `resend` allows it."""


class _Doubt(NamedTuple):
    """Why the fate of a send is unknown: what happened, and what the agent said."""

    account: str = ""
    said: str = ""


_NO_WORD = _Doubt()


async def deliver_brief(desk: Desk, *, look_first: bool) -> None:
    """Send the brief until the agent has it, or its fate is known (C4, C7)."""
    client = desk.client
    if client is None:
        # Refused or away since the brief was recorded: it is tried again when the agent is back.
        await asyncio.sleep(desk.pause.step())
        return
    in_doubt = look_first
    if in_doubt and not await _find(desk, client, await desk.load()):
        return
    for _ in range(RESENDS):
        doubt = await _try_brief(desk, client, in_doubt=in_doubt)
        if doubt is None:
            return
        # It left, and nothing was heard: is it there? (C7, I2)
        in_doubt = True
        if not await _find(desk, client, await desk.load(), doubt):
            return
    await _doubt(
        desk,
        f"The brief was sent {RESENDS} times under one message id; the agent never said that it"
        " has it.",
    )


async def _try_brief(desk: Desk, client: AgentClient, *, in_doubt: bool) -> _Doubt | None:
    """Send until the brief was surely read or refused (None), or its fate is unknown: why it is.

    With `in_doubt` an earlier copy may have been read: what becomes of this one says nothing of it.
    """
    loop = asyncio.get_running_loop()
    patience = desk.office.settings.send_timeout
    departure = Departure(desk, patience)
    give_up: float | None = None
    pause = desk.retry_pause()
    while True:
        if not await is_send_wanted(desk):
            return None
        try:
            await _send(desk, client, departure)
        except RemoteCallError as error:
            if (await desk.load()).is_linked:
                desk.pause.at_least(error.retry_after)
                return None
            if error.kind == "in_doubt":
                logger.info("sub-task %s: its send is in doubt: %s", desk.id, error.message)
                desk.notice(error.anomalies)
                return _Doubt(error.account, error.said)
            # What it waited for its place here, the agent did not know of (J4).
            give_up = loop.time() + patience if give_up is None else give_up + departure.waited
            is_too_late = loop.time() + (error.retry_after or 0.0) >= give_up
            if error.kind == "refused" or is_too_late:
                if in_doubt:
                    await _find(desk, client, await desk.load(), refusal=error)
                else:
                    await desk.record(refused_brief(error, desk.id, desk.agent_id, desk.office))
                return None
            if not in_doubt:
                desk.mark_unsent((await desk.load()).message_id)
            pause.at_least(error.retry_after)
            await asyncio.sleep(min(pause.step(), give_up - loop.time()))
        else:
            sub_task = await desk.load()
            return None if sub_task.is_linked or sub_task.is_resolved else _NO_WORD


async def _send(desk: Desk, client: AgentClient, departure: Departure) -> None:
    """One SendMessage, read until the agent has the task past SUBMITTED (C4)."""
    sub_task = await desk.load()
    message = _brief_for(sub_task)
    stream = client.send(
        message,
        return_immediately=True,
        participant_id=sub_task.participant_id,
        on_sent=departure.leave,
    )
    ear = Ear(desk, source="send", cause="send", live=True)
    try:
        async with pumped(stream) as pump:
            heard = await departure.first(pump)
            while True:
                await ear.hear_beside(heard.report, pump)
                now = await desk.load()
                if now.is_resolved or (now.is_linked and now.state is not A2AState.SUBMITTED):
                    await ear.hear_rest(pump)
                    return
                heard = await pump.next(desk.office.settings.quiet_check)
    except (StreamEndedError, TimeoutError):
        return
    finally:
        departure.over()


def _brief_for(sub_task: SubTask) -> Message:
    """The brief as it goes out: from the record alone, so that it is the same every time."""
    follows = sub_task.follows
    return brief_message(
        message_id=sub_task.message_id,
        goal=sub_task.goal,
        name=sub_task.name,
        description=sub_task.description,
        acceptance_criteria=sub_task.acceptance_criteria,
        parts=sub_task.parts,
        participant_id=sub_task.participant_id,
        envelope=sub_task.envelope,
        model=sub_task.model,
        reasoning_effort=sub_task.reasoning_effort,
        parent_tasks=sub_task.parent_tasks,
        context_id=follows.context_id if follows else "",
        reference_task_ids=(follows.remote_task_id,) if follows and follows.remote_task_id else (),
    )


async def _find(
    desk: Desk,
    client: AgentClient,
    sub_task: SubTask,
    doubt: _Doubt = _NO_WORD,
    *,
    refusal: RemoteCallError | None = None,
) -> bool:
    """Look for the brief on the agent (I2). True when it is to be sent (again).

    What is not there is looked for once more, an interval later: the agent may still be at it.
    `doubt` is what became of the send. With a `refusal` another copy of it was refused, and none is
    sent any more.
    """
    why = "The agent has no task with this message"
    try:
        found = await _look_for(desk, client, sub_task)
        if found is None:
            await asyncio.sleep(desk.pause.steady())
            found = await _look_for(desk, client, sub_task)
    except RemoteCallError as error:
        why, found = not_asked(error), None
    if found is not None:
        await hear_found(desk, found, "recovery")
        return False
    if not await is_send_wanted(desk):
        return False
    if refusal is not None:
        account = (
            f"{why}. It is not known whether the brief arrived; of a later copy: {refusal.account}"
        )
        await _doubt(desk, account, refusal.said)
        return False
    if desk.settings.resend == "same-id":
        return True
    await _doubt(
        desk,
        f"{why}. It is not known whether the brief arrived; it was not sent again."
        f" {doubt.account}".rstrip(),
        doubt.said,
    )
    return False


async def _look_for(desk: Desk, client: AgentClient, sub_task: SubTask) -> Heard | None:
    """One search, tried again while the agent cannot be reached, for as long as a send is."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + desk.office.settings.send_timeout
    pause = desk.retry_pause()
    while True:
        try:
            return await find_brief(client, sub_task)
        except RemoteCallError as error:
            is_final = error.kind == "refused" or error.code == "remote.not_listable"
            # That it had no place here to ask from is no silence of the agent's (J4).
            is_late = loop.time() >= give_up and not (
                error.code == "remote.busy" and not error.status
            )
            if is_final or is_late:
                raise
            pause.at_least(error.retry_after)
            await asyncio.sleep(min(pause.step(), max(give_up - loop.time(), 1.0)))


async def _doubt(desk: Desk, account: str, said: str = "") -> None:
    """End because nobody can tell whether the brief arrived; `said` is what the agent said of it."""
    await desk.record(
        Fail(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            cause="send",
            code="delivery.unknown",
            text=said,
            account=account,
            delivery="unknown",
            anomalies=desk.odd,
        )
    )
