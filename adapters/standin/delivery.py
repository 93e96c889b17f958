"""Delivering the brief and the replies: sent once, looked for when in doubt (C7, I2, I3).

What goes out was recorded before, with its message id; whatever is tried again goes out under the
same one.
"""

import asyncio
import logging
import math

from a2a.types.a2a_pb2 import Message

from locum.core.commands import DropReply, Fail, RefuseReply
from locum.core.errors import RemoteCallError
from locum.core.hearing import Verdict, heard_state, weigh
from locum.core.lifecycle import A2AState
from locum.core.policy import Send, SendReply, next_action
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.envelope import brief_message, reply_message
from ..a2a.reports import Heard
from ..pump import StreamEndedError, pumped
from .departure import Departure
from .desk import Desk
from .ear import Ear
from .late import Late
from .refusals import FINAL, not_asked, refused_brief, unwatchable, words_of
from .searching import find_brief, hear_found, is_missing

__all__ = ["deliver_brief", "deliver_reply"]

logger = logging.getLogger("locum.standin")

RESENDS = 3
"""How often a brief whose fate is unknown goes out again where `resend` allows it."""
LOOKS = 4
"""How often GetTask may be refused before a reply is looked for on the task's stream instead."""


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
        if not await _find(desk, client, await desk.load(), doubt=doubt):
            return
    await _doubt(
        desk,
        f"The brief was sent {RESENDS} times under one message id; the agent never said that it"
        " has it.",
    )


async def _is_wanted(desk: Desk) -> bool:
    """False once the policy wants an end: what was under way has a moment left, no more is sent (F2)."""
    now = desk.office.now()
    wanted = next_action(await desk.load(), now, traits=desk.traits, known=desk.known)
    return isinstance(wanted, Send | SendReply)


async def _try_brief(desk: Desk, client: AgentClient, *, in_doubt: bool) -> str | None:
    """Send until the brief was surely read or refused (None), or its fate is unknown: why it is.

    With `in_doubt` an earlier copy may have been read: what becomes of this one says nothing of it.
    """
    loop = asyncio.get_running_loop()
    patience = desk.office.settings.send_timeout
    departure = Departure(desk, patience)
    give_up: float | None = None
    pause = desk.retry_pause()
    while True:
        if not await _is_wanted(desk):
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
                return error.account
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
            return None if sub_task.is_linked or sub_task.is_resolved else ""


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
    *,
    doubt: str = "",
    refusal: RemoteCallError | None = None,
) -> bool:
    """Look for the brief on the agent (I2). True when it is to be sent (again).

    What is not there is looked for once more, an interval later: the agent may still be at it.
    `doubt` is what became of the send. With a `refusal` another copy of it was refused, and none is
    sent any more.
    """
    why, said = "The agent has no task with this message", ""
    try:
        found = await _look_for(desk, client, sub_task)
        if found is None:
            await asyncio.sleep(desk.pause.steady())
            found = await _look_for(desk, client, sub_task)
    except RemoteCallError as error:
        why, said = not_asked(error), error.said
        found = None
    if found is not None:
        await hear_found(desk, found, "recovery")
        return False
    if not await _is_wanted(desk):
        return False
    if refusal is not None:
        account = (
            f"{why}. It is not known whether the brief arrived; of a later copy: {refusal.account}"
        )
        await _doubt(desk, account, refusal.said or said)
        return False
    if desk.settings.resend == "same-id":
        return True
    await _doubt(
        desk,
        f"{why}. It is not known whether the brief arrived; it was not sent again. {doubt}".rstrip(),
        said,
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


async def deliver_reply(desk: Desk, *, look_first: bool) -> None:
    """Send the recorded reply until the agent has it or refuses it, however late (C12, I3)."""
    late = Late(desk)
    pause = desk.retry_pause()
    in_doubt = look_first
    unlooked = 0
    refused_at = 0.0
    while True:
        client = desk.client
        sub_task = await desk.load()
        pending = sub_task.reply
        if pending is None or not await _is_wanted(desk):
            return
        if client is None:
            await asyncio.sleep(pause.step())
            await desk.reach()
            continue
        try:
            if in_doubt and not await is_missing(desk, sub_task, on_stream=unlooked >= LOOKS):
                desk.mark_delivered(pending.message_id)
                return
        except RemoteCallError as error:
            # A search that the agent refuses says nothing of the reply: it stays in doubt (I3).
            now = asyncio.get_running_loop().time()
            refused_at = now if not unlooked else refused_at
            unlooked = unlooked + 1 if error.kind == "refused" else 0
            if unlooked >= LOOKS and now - refused_at >= _patience(desk, error):
                await desk.record(unwatchable(error, desk.id, desk.office, desk.artifacts.whole))
                return
            pause.at_least(error.retry_after)
            await asyncio.sleep(pause.step())
            continue
        unlooked = 0
        try:
            await _send_reply(desk, client, sub_task)
        except RemoteCallError as error:
            if error.kind == "refused":
                await _refused(desk, sub_task, error)
                return
            in_doubt = in_doubt or error.kind == "in_doubt"
            if not in_doubt:
                desk.mark_unsent(pending.message_id)
            late.note(error)
            pause.at_least(error.retry_after)
            await asyncio.sleep(pause.step())
            continue
        desk.mark_delivered(pending.message_id)
        return


def _patience(desk: Desk, error: RemoteCallError) -> float:
    """Seconds for which GetTask may go on failing like this before there is nothing to wait for."""
    if error.code == "remote.not_found":
        return desk.pause.first * 0.9
    standin = desk.office.settings
    return max(standin.quiet_check, standin.send_timeout) if error.code in FINAL else math.inf


async def _send_reply(desk: Desk, client: AgentClient, sub_task: SubTask) -> None:
    pending = sub_task.reply
    assert pending is not None, "only a pending reply is sent"
    message = reply_message(
        message_id=pending.message_id,
        task_id=sub_task.remote_task_id,
        context_id=sub_task.context_id or desk.context_id,
        text=pending.text,
        parts=pending.parts,
        participant_id=sub_task.participant_id,
    )
    departure = Departure(desk, desk.office.settings.send_timeout)
    stream = client.send(
        message,
        return_immediately=True,
        participant_id=sub_task.participant_id,
        on_sent=departure.leave,
    )
    ear = Ear(desk, source="send", cause="send", live=True, moved=True)
    answered = False
    try:
        async with pumped(stream) as pump:
            heard = await departure.first(pump)
            answered = True
            while True:
                await ear.hear_beside(heard.report, pump)
                if await _moved_on(desk, sub_task, heard):
                    await ear.hear_rest(pump)
                    return
                heard = await pump.next(desk.office.settings.quiet_check)
    except (StreamEndedError, TimeoutError):
        if answered:
            return
        raise RemoteCallError(
            "the agent did not say whether it took the reply",
            code="remote.timeout",
            kind="in_doubt",
            method="SendMessage",
        ) from None
    finally:
        departure.over()


async def _moved_on(desk: Desk, before: SubTask, heard: Heard) -> bool:
    """True once the answer shows more than the question that was just answered."""
    now = await desk.load()
    if now.version != before.version:
        return True
    state = heard_state(now, heard.report)
    return state is A2AState.WORKING


async def _refused(desk: Desk, sub_task: SubTask, error: RemoteCallError) -> None:
    """The agent refused the reply: because the task went on meanwhile, or this very reply.

    One that went on, to work or to another question, no longer waits for it: the question that it
    answered is not opened again.
    """
    pending = sub_task.reply
    assert pending is not None, "only a pending reply can be refused"
    said = await desk.ask()
    if said is not None:
        state = heard_state(sub_task, said)
        is_news = weigh(sub_task, said, "get", desk.artifacts.whole) is Verdict.CHANGE
        if is_news or (state is not None and not state.is_parked):
            await desk.record(
                DropReply(
                    sub_task_id=desk.id,
                    at=desk.office.now(),
                    actor=f"agent:{desk.agent_id}",
                    message_id=pending.message_id,
                    reason=words_of(error),
                )
            )
            await desk.judge(said, "recheck")
            return
    await desk.record(
        RefuseReply(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor=f"agent:{desk.agent_id}",
            message_id=pending.message_id,
            reason=words_of(error),
            watch=desk.mint_watch(),
        )
    )


async def _doubt(desk: Desk, account: str, said: str = "") -> None:
    """End because nobody can tell whether the brief arrived; `said` is what came when asked for it."""
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
