"""Looking on the agent for what a message of ours has become, and hearing of it (I2, I3, C13).

One search each; whether it is tried again, and what it means to find nothing, is decided elsewhere.
"""

import msgspec

from locum.core.events import Cause
from locum.core.hearing import heard_state
from locum.core.subtask import SubTask
from locum.core.times import parse_time

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.reports import Heard
from .desk import Desk

__all__ = ["find_brief", "find_reply", "hear_found"]


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
