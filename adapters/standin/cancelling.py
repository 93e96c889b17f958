"""CancelTask on its way to an agent, which may take longer than anybody waits for the end (F2)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, TypeAlias

from locum.core.errors import RemoteCallError
from locum.core.report import RemoteReport
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from .desk import Desk

__all__ = ["Answer", "CancelCall"]

logger = logging.getLogger("locum.standin")

Answer: TypeAlias = Literal["ended", "unknown", "nothing"]
"""What came of CancelTask: an end, "no such task", or neither."""

LATE_LEAST = 1.0
"""Seconds that each CancelTask has from its leaving at the least, whatever `cancel_grace` is."""
LATE_MOST = 900.0
"""Seconds for which one that was surely not read goes out again when the sub-task has ended."""


class CancelCall:
    """CancelTask, sent until the agent has read it. To ask for an end twice does no harm, so one that
    may have been read goes out again, too, as long as the sub-task has not ended.

    `hear` is given what it answers, and says whether that is an end.
    """

    def __init__(
        self, desk: Desk, hear: Callable[[SubTask, RemoteReport], Awaitable[bool]]
    ) -> None:
        self._desk = desk
        self._hear = hear
        self._sub_task: SubTask | None = None
        self._task: asyncio.Task[Answer] | None = None
        self._limit = asyncio.timeout(None)
        self._late_since: float | None = None
        self._is_unread = True
        self._since: float | None = None
        """When it had a place last, and left or could not; by the loop's clock."""

    def address(self, sub_task: SubTask) -> None:
        """There is a task to cancel: this one's."""
        self._sub_task = sub_task

    def start(self, client: AgentClient) -> asyncio.Task[Answer]:
        """Send it; what comes of it."""
        assert self._sub_task is not None, "sent to nobody"
        self._task = asyncio.create_task(self._call(client, self._sub_task))
        return self._task

    async def leave_behind(self) -> None:
        """The sub-task ends without its answer. What was surely not read goes out all the same.

        It may wait long for its place. From its leaving it has a time as long as the sub-task had,
        so that the places come free and all that wait get theirs. Its answer changes nothing.
        """
        self._late_since = self._now()
        client = self._desk.client
        if self._task is None and self._sub_task is not None and client is not None:
            task = self.start(client)
        elif self._task is not None and not self._task.done():
            task = self._task
        else:
            await self.drop()
            return
        if self._since is not None and not self._is_unread:
            self._count_from(self._since)
        await self._desk.office.errands.take(task)

    async def drop(self) -> None:
        """It is not needed any more, or has had its time."""
        if self._task is None:
            return
        was_done = self._task.done()
        self._task.cancel()
        await asyncio.wait({self._task})
        failed = None if self._task.cancelled() else self._task.exception()
        if failed is not None and not was_done:
            logger.warning("what was let go of has failed", exc_info=failed)

    async def _call(self, client: AgentClient, sub_task: SubTask) -> Answer:
        # Only a late one has a limit here: who waits for the others limits them.
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as self._limit:
                return await self._send(client, sub_task)
        return "nothing"

    async def _send(self, client: AgentClient, sub_task: SubTask) -> Answer:
        desk, pause = self._desk, self._desk.retry_pause()
        answer: Answer = "nothing"
        while True:
            try:
                said = await client.cancel(
                    sub_task.remote_task_id,
                    participant_id=sub_task.participant_id,
                    on_sent=self._leaves,
                )
            except RemoteCallError as error:
                if self._goes_again(error):
                    if error.kind == "in_doubt":
                        desk.doorbell.set()
                    pause.at_least(error.retry_after)
                    await asyncio.sleep(pause.step())
                    continue
                logger.info("sub-task %s: CancelTask: %s", desk.id, error.code)
                if error.code == "remote.not_found":
                    answer = "unknown"
            else:
                if not self._is_late and await self._hear(sub_task, desk.take(said.report)):
                    return "ended"
            # When the task has not ended, or the agent refuses, it may be over already: a look.
            if not self._is_late:
                desk.doorbell.set()
            return answer

    def _goes_again(self, error: RemoteCallError) -> bool:
        since = self._late_since
        if error.kind == "transient":
            self._was_not_read(error)
            return since is None or self._now() - since < LATE_MOST
        return error.kind == "in_doubt" and since is None

    def _leaves(self) -> None:
        self._is_unread = False
        self._got_place()

    def _was_not_read(self, error: RemoteCallError) -> None:
        self._is_unread = True
        if error.code != "remote.busy" or error.status is not None:  # else none came free in time
            self._got_place()
        if self._is_late:
            # It has given its place back, and waits to be sent again.
            self._limit.reschedule(None)

    def _got_place(self) -> None:
        self._since = self._now()
        if self._is_late and self._limit.when() is None:
            self._count_from(self._since)

    @property
    def _is_late(self) -> bool:
        return self._late_since is not None

    def _count_from(self, begun: float) -> None:
        self._limit.reschedule(begun + max(self._desk.office.settings.cancel_grace, LATE_LEAST))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
