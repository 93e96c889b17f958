"""Delivering the replies: each sent once, kept while it cannot be, looked for in doubt (C12, I3).

What goes out was recorded before, with its message id; whatever is tried again goes out under the
same one.
"""

import asyncio
import math

from locum.core.commands import DropReply, RefuseReply
from locum.core.errors import RemoteCallError
from locum.core.hearing import Verdict, asks_again, heard_state, weigh
from locum.core.lifecycle import A2AState
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.envelope import reply_message
from ..a2a.reports import Heard
from ..pump import StreamEndedError, pumped
from .departure import Departure, is_send_wanted
from .desk import Desk
from .ear import Ear
from .late import Late
from .refusals import FINAL, unwatchable, words_of
from .searching import is_missing

__all__ = ["deliver_reply"]

LOOKS = 4
"""How often GetTask may be refused before a reply is looked for on the task's stream instead."""


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
        if pending is None or not await is_send_wanted(desk):
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
                if in_doubt and await _has_it(desk, sub_task):
                    desk.mark_delivered(pending.message_id)
                else:
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


async def _has_it(desk: Desk, sub_task: SubTask) -> bool:
    """True once the task goes on, though a copy was refused: an earlier one was taken after all (I3).

    An agent that takes a message once refuses the second copy, and may not have begun yet.
    """
    clock = asyncio.get_running_loop().time
    give_up = clock() + desk.office.settings.quiet_check
    pause = desk.retry_pause()
    while await is_send_wanted(desk):
        said = await desk.ask()
        if said is not None and not asks_again(sub_task, said, desk.artifacts.whole):
            await desk.judge(said, "recheck")
            return True
        if clock() >= give_up:
            return False
        await asyncio.sleep(min(pause.step(), max(give_up - clock(), 0.05)))
    return True


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
        known = desk.artifacts.whole
        is_news = weigh(sub_task, said, "get", known) is Verdict.CHANGE
        # Some agents make a message anew, id and time, each time that they are asked.
        is_news = is_news and not asks_again(sub_task, said, known)
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
