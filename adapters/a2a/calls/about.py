"""Hold an agent's answers to the task that they have to be about (K3). Reads nothing else of them."""

import msgspec

from ..reports import Heard
from ..wire.words import one_line
from .calling import Call

__all__ = ["AskedTask"]


class AskedTask:
    """The task that a call is about, and whether its answers are.

    `task_id` is empty for a brief: the first answer names the task. `may_move` lets an agent answer
    a reply under another task, once (C13).
    """

    def __init__(self, call: Call, task_id: str = "", *, may_move: bool = False) -> None:
        self._call = call
        self._task_id = task_id
        self._may_move = may_move

    def check(self, heard: Heard) -> Heard:
        """What was heard, its missing task id filled in.

        Raises RemoteCallError `remote.wrong_task` when it is about another task, and
        `remote.malformed` when it is a task that says nothing.
        """
        report = heard.report
        if report.kind == "task" and not report.remote_task_id and report.state is None:
            raise self._call.error(
                "The agent answered with a task that has no id and no state.", "remote.malformed"
            )
        if not report.remote_task_id:
            return self._fill_in(heard)
        if self._task_id and report.remote_task_id != self._task_id:
            if not self._may_move:
                asked, other = (one_line(x, 100) for x in (self._task_id, report.remote_task_id))
                raise self._call.error(
                    f"The agent was asked about task {asked!r} and answered about {other!r}.",
                    "remote.wrong_task",
                )
            self._may_move = False
        self._task_id = report.remote_task_id
        return heard

    def _fill_in(self, heard: Heard) -> Heard:
        if heard.report.kind == "message" or not self._task_id:
            return heard
        report = msgspec.structs.replace(
            heard.report,
            remote_task_id=self._task_id,
            anomalies=(*heard.report.anomalies, *self._call.oddities("task.id_missing")),
        )
        return Heard(report, heard.payload)
