"""How the results of an operation come about: from an answer or a stream, finished by GetTask (G2, G3).

Knows no deadline and nothing of leaving early: whoever reads these generators has both.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from a2a.types.a2a_pb2 import Message

from locum.core.errors import RemoteCallError

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.reports import Heard
from ..pause import Pause
from .account import Account
from .lines import Lines
from .result import A2AResult

__all__ = ["Told"]

logger = logging.getLogger("locum.client")

UNBOUNDED = 10 * 366 * 86_400.0
"""Seconds for a SendMessage, which may take as long as the work does: its reader has the deadline."""

Results = AsyncGenerator[A2AResult, None]


class Told:
    """One operation's. `account` is filled in; `pause` is how long to wait between two GetTasks."""

    def __init__(self, lines: Lines, account: Account, pause: Pause) -> None:
        self._lines = lines
        self._account = account
        self._pause = pause
        self._asked_id = ""

    async def sent(self, message: Message, *, wait: bool, return_immediately: bool) -> Results:
        """SendMessage; with `wait`, GetTask until the task has settled."""
        async with self._lines.opened() as line:
            agent = await line.agent()
            answers = agent.send(
                message, streaming=False, return_immediately=return_immediately, timeout=UNBOUNDED
            )
            async with aclosing(answers):
                async for heard in answers:
                    if (result := self._account.take(heard)) is not None:
                        yield result
            if wait and not self._is_settled():
                async with aclosing(self._polled(agent)) as polled:
                    async for result in polled:
                        yield result

    async def streamed(self, message: Message) -> Results:
        """SendStreamingMessage until the task has settled, whatever becomes of the stream."""
        async with self._lines.opened() as line:
            agent = await line.agent()
            source = agent.send(message, return_immediately=True)
            async with aclosing(self._listened(agent, source, stays=False)) as results:
                async for result in results:
                    yield result

    async def followed(self, task_id: str) -> Results:
        """SubscribeToTask until the task settles; one that is parked already may first move on."""
        self._asked_id = task_id
        async with self._lines.opened() as line:
            agent = await line.agent()
            if agent.streaming:
                results = self._listened(agent, agent.subscribe(task_id), stays=True)
            else:
                results = self._polled(agent, at_once=True)
            async with aclosing(results):
                async for result in results:
                    yield result

    async def _listened(
        self, agent: AgentClient, source: AsyncGenerator[Heard, None], *, stays: bool
    ) -> Results:
        """What a stream brings, and after it what GetTask says until the task has settled.

        `stays` says that a task which is parked from the start does not end it.
        """
        parked: A2AResult | None = None
        async with aclosing(source):
            while (heard := await self._next(source)) is not None:
                result = self._account.take(heard)
                if result is None:
                    continue
                if stays and result.settled and not result.completed and not result.failed:
                    if parked is None or _says_the_same(parked, result):
                        parked = result
                        yield result
                        continue
                elif not result.settled:
                    stays = False
                    yield result
                    continue
                break
        if parked is not None and parked is self._account.result:
            return
        if not self._is_settled():
            async with aclosing(self._polled(agent, at_once=True)) as polled:
                async for result in polled:
                    yield result
            return
        yield await self._completed(agent)

    async def _next(self, source: AsyncGenerator[Heard, None]) -> Heard | None:
        """What the stream brings next, None at its end.

        A stream that breaks off has ended, once it is known which task GetTask has to be asked for.
        """
        try:
            return await anext(source, None)
        except RemoteCallError as error:
            if not self._task_id():
                raise
            logger.debug("task %r: its stream broke off: %s", self._task_id(), error.code)
            return None

    async def _completed(self, agent: AgentClient) -> A2AResult:
        """The settled task, all of it (D12): from one GetTask when an update told of its state."""
        result = self._account.result
        assert result is not None
        if result.message is not None or result.task is not None:
            return result
        try:
            heard = await agent.get(self._task_id())
        except RemoteCallError as error:
            # What the agent said live stands (K5).
            logger.debug("task %r: it cannot be completed: %s", self._task_id(), error.code)
            return result
        return self._account.complete(heard)

    async def _polled(self, agent: AgentClient, *, at_once: bool = False) -> Results:
        """GetTask until the task has settled: what has changed each time.

        Goes on while the agent cannot be reached; raises what else GetTask fails with.
        """
        if not self._task_id():
            raise RemoteCallError(
                "The agent's answer names no task that could be asked about.",
                code="remote.malformed",
                kind="in_doubt",
                method="SendMessage",
            )
        while True:
            if not at_once:
                await asyncio.sleep(self._pause.step())
            at_once = False
            try:
                heard = await agent.get(self._task_id())
            except RemoteCallError as error:
                if error.kind != "transient":
                    raise
                self._pause.at_least(error.retry_after)
                continue
            before, result = self._account.result, self._account.take(heard, asked=True)
            if result is not None and not _says_the_same(before, result):
                self._pause.reset()
                yield result
            if self._is_settled():
                return

    def _task_id(self) -> str:
        return self._account.task_id or self._asked_id

    def _is_settled(self) -> bool:
        return self._account.result is not None and self._account.result.settled


def _says_the_same(before: A2AResult | None, after: A2AResult) -> bool:
    return before is not None and (
        (before.state, before.text, before.status_text, before.artifacts)
        == (after.state, after.text, after.status_text, after.artifacts)
    )
