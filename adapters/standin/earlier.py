"""Answers that bring up a task of earlier: one that had ended before it was asked for (C5, C13, C14).

Told by the agent's own times; where it gives none, nothing is told.
"""

from locum.core.commands import Fail
from locum.core.report import RemoteReport
from locum.core.subtask import SubTask
from locum.core.times import order_of

from .desk import Desk

__all__ = ["EARLIER", "fail_if_followed", "is_earlier", "is_of_other_work"]

EARLIER = "task.earlier"
"""The oddity of an end that bears a time before the brief, or before the reply that it answers."""


def is_earlier(sub_task: SubTask, report: RemoteReport) -> bool:
    """True when the task had ended before what is open was recorded: the brief, or a reply to it."""
    state, at, reply = report.state, report.remote_at, sub_task.reply
    if state is None or not state.is_terminal or not at:
        return False
    is_latest = reply is not None and reply.version == sub_task.version
    return order_of(at, sub_task.updated_at if is_latest else sub_task.created_at) == "older"


def is_of_other_work(sub_task: SubTask, report: RemoteReport) -> bool:
    """True for a task of earlier that shows no message of this sub-task's."""
    ours = {sub_task.message_id, sub_task.reply.message_id if sub_task.reply else ""}
    return is_earlier(sub_task, report) and ours.isdisjoint(report.history_ids)


async def fail_if_followed(desk: Desk, sub_task: SubTask, report: RemoteReport) -> bool:
    """End a follow-up that is answered with the very task that it follows, as it was (C14)."""
    follows, state = sub_task.follows, report.state
    if follows is None or not follows.remote_task_id or state is None or not state.is_terminal:
        return False
    if report.remote_task_id != follows.remote_task_id:
        return False
    before = await desk.office.journal.load(follows.sub_task_id)
    known, at = before.remote_at, report.remote_at
    if known and at and order_of(at, known) == "newer":
        return False  # It has been at work again, under the old id.
    await desk.record(
        Fail(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            cause="send",
            code="remote.followed_task",
            account=(
                "The agent answered with the very task that this one follows, as that had ended:"
                " nothing came of what was asked for."
            ),
            anomalies=report.anomalies,
        )
    )
    return True
