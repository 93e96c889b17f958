"""Looking on the agent for what a message of ours has become, and hearing of it (I2, I3, C13).

One search each; whether it is tried again, and what it means to find nothing, is decided elsewhere.
"""

import logging

import msgspec

from locum.core.errors import RemoteCallError
from locum.core.events import Cause
from locum.core.hearing import Verdict, heard_state, weigh
from locum.core.subtask import SubTask
from locum.core.times import parse_time

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.reports import Heard
from ..pump import StreamEndedError, pumped
from .desk import Desk

__all__ = ["find_brief", "find_reply", "hear_found", "is_missing"]

logger = logging.getLogger("locum.standin")

HISTORY = 100
"""How many messages of a task's history are asked for when a reply is looked for."""


async def find_brief(client: AgentClient, sub_task: SubTask) -> Heard | None:
    """The task that the brief has started, None when there surely is none."""
    return await client.find(
        sub_task.message_id,
        since=parse_time(sub_task.created_at),
        context_id=sub_task.follows.context_id if sub_task.follows else "",
        participant_id=sub_task.participant_id,
    )


async def find_reply(client: AgentClient, sub_task: SubTask, message_id: str) -> Heard | None:
    """The task that the reply is in, which may be another than it was sent to (C13)."""
    return await client.find(
        message_id,
        since=parse_time(sub_task.created_at),
        context_id=sub_task.context_id,
        participant_id=sub_task.participant_id,
    )


async def is_missing(desk: Desk, sub_task: SubTask, *, on_stream: bool) -> bool:
    """True when the reply is surely not there and its question is still open (I3).

    `on_stream`: where GetTask is refused, the snapshot that the task's stream begins with says so.
    Raises RemoteCallError when the agent tells neither way.
    """
    client, pending = desk.client, sub_task.reply
    assert client is not None, "it was there a moment ago"
    assert pending is not None, "only a pending reply is looked for"
    try:
        said = await client.get(
            sub_task.remote_task_id,
            history=HISTORY,
            participant_id=sub_task.participant_id,
        )
    except RemoteCallError as refusal:
        shown = await _shown(desk, client, sub_task) if on_stream and desk.streams else None
        if shown is None:
            raise
        logger.info("sub-task %s: its stream is asked (%s)", desk.id, refusal.code)
        said = shown
    report = desk.take(said.report)
    state = heard_state(sub_task, report)
    still_asks = state is not None and state.is_parked
    is_there = pending.message_id in report.history_ids
    # A task that asks something else has gone on, whatever its history shows: nothing but another
    # reply answers that.
    is_news = weigh(sub_task, report, "get", desk.artifacts.whole) is Verdict.CHANGE
    if still_asks and not is_there and not is_news:
        return not await _is_elsewhere(desk, client, sub_task, pending.message_id)
    await desk.judge(report, "recovery")
    return False


async def _is_elsewhere(
    desk: Desk, client: AgentClient, sub_task: SubTask, message_id: str
) -> bool:
    """True when the agent moved the reply to another task, and left the old one asking (C13)."""
    try:
        found = await find_reply(client, sub_task, message_id)
    except RemoteCallError as error:
        if error.kind == "transient":
            raise
        logger.info("sub-task %s: its reply could not be looked for (%s)", desk.id, error.code)
        return False
    if found is None:
        return False
    await hear_found(desk, found, "recovery", moved=True)
    return True


async def _shown(desk: Desk, client: AgentClient, sub_task: SubTask) -> Heard | None:
    """The snapshot that the task's stream begins with, None when it begins with something else."""
    stream = client.subscribe(sub_task.remote_task_id, participant_id=sub_task.participant_id)
    try:
        async with pumped(stream) as pump:
            heard = await pump.next(desk.office.settings.quiet_check)
    except (RemoteCallError, StreamEndedError, TimeoutError):
        return None
    return heard if heard.report.kind == "task" else None


async def hear_found(desk: Desk, found: Heard, cause: Cause, *, moved: bool = False) -> None:
    """Record which task it is. How it has ended, or what it asks, GetTask says: a list of tasks
    leaves out their artifacts (D12).
    """
    report = desk.take(found.report)
    state = heard_state(await desk.load(), report)
    is_settled = state is not None and state.is_settled
    link = msgspec.structs.replace(report, state=None) if is_settled else report
    await desk.hear(link, source="get", cause=cause, moved=moved)
    if is_settled:
        await desk.fetch(cause)
