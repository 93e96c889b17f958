"""A harmless round with one agent: every method that locum uses, and what A2A 1.0 has there.

It sends one message, looks at the task that comes of it from all sides, asks for what does not
exist, and clears away what it has made. It judges answers; whether the agent may be called at all
was decided before, by its card.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from a2a.types.a2a_pb2 import Message, Part, Role

from locum.core.errors import RemoteCallError

from ..calls.remote_agent import AgentClient
from ..reports import Heard
from .judge import ANSWER, Judge, words_of_error
from .log import Logbook
from .push import PushRound

__all__ = ["MESSAGE", "Patience", "Round"]

MESSAGE: Final = "This is a connection check by locum. Please answer briefly or ignore it."
_HOPELESS: Final = frozenset(
    {
        *("remote.unreachable", "remote.unauthorized", "remote.redirected", "remote.address"),
        *("remote.version", "remote.extension"),
    }
)
"""After one of these every further call would come to the same."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds things may take. All together stay below a minute."""

    whole: float = 45.0
    """The card and the round."""
    card: float = 10.0
    first: float = 15.0
    """Until a message is answered; an agent may have to think."""
    step: float = 5.0
    """One call, or the first event of a subscription."""
    listen: float = 3.0
    """How long a stream is listened to past its first event."""
    closing: float = 1.0
    """How long a stream may stay open after its last event."""
    settle: float = 3.0
    """How long a cancel may take to be seen."""
    clearing: float = 3.0
    """Each thing that is cleared away at the end."""
    pause: float = 0.3
    """Between two looks at a task that is waited for."""


class Round:
    """One round with the agent that `client` calls; what it finds goes into `log`.

    `new_id` gives ids that nobody has used, `clock` seconds that only rise.
    """

    def __init__(
        self,
        client: AgentClient,
        log: Logbook,
        patience: Patience,
        *,
        text: str,
        new_id: Callable[[], str],
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._log = log
        self._patience = patience
        self._text = text
        self._new_id = new_id
        self._clock = clock
        self._judge = Judge(log, client.interface.binding)
        self._message_id = ""
        self._begun_at = datetime.now(UTC)
        self._is_lost = False
        """The message left, and nothing is known of what it has started."""
        self._gave_up = False
        """The task goes on although it was cancelled; once is enough."""
        self._push = PushRound(client, log, new_id=new_id, seconds=patience.step)

    @property
    def _task_id(self) -> str:
        return self._judge.task_id

    def _is_over(self) -> bool:
        state = self._judge.state
        return state is not None and state.is_terminal

    async def play(self) -> None:
        """Play all of it. Raises nothing but what breaks it off from outside."""
        streaming = self._client.streaming
        is_sent = await self._step(
            "SendStreamingMessage" if streaming else "SendMessage", self._send
        )
        if not is_sent and self._log.checkup.findings[-1].code in _HOPELESS:
            self._log.step("everything else", "left_out", "it would come to the same")
            return
        if self._task_id:
            await self._step("GetTask", self._get)
            if streaming:
                await self._step("SubscribeToTask", self._subscribe)
            else:
                self._log.step("SubscribeToTask", "left_out", "the card says no streaming")
            if self._client.push:
                await self._push.play(self._task_id, self._step)
            else:
                self._log.step("push configs", "left_out", "the card says no push notifications")
        else:
            self._log.step("the task", "left_out", "there is none to ask about")
        await self._step("ListTasks", self._list)
        await self._unknown(streaming=streaming)
        if self._task_id:
            await self._step(
                "CancelTask", self._refused_cancel if self._is_over() else self._cancel
            )
        self._judge.conclude()

    async def leave(self) -> None:
        """Clear away what is still there. Bounded in time; what cannot be cleared away is told."""
        left = self._log.checkup.left_behind
        seconds = self._patience.clearing
        try:
            await self._push.clear(seconds)
        except RemoteCallError as error:
            left.append(f"push config {self._push.config_id}: not deleted: {words_of_error(error)}")
        try:
            async with asyncio.timeout(seconds):
                if self._is_lost and not self._task_id:
                    await self._look_for_it()
                if self._task_id and not self._is_over() and not self._gave_up:
                    self._judge.hear("CancelTask", await self._client.cancel(self._task_id))
        except RemoteCallError as error:
            left.append(f"task {self._task_id or '(unknown)'}: not ended: {words_of_error(error)}")
        except TimeoutError:
            left.append(f"task {self._task_id or '(unknown)'}: not ended within {seconds:g} s")
        self._log.read_notes()

    async def _look_for_it(self) -> None:
        found = await self._client.find(self._message_id, since=self._begun_at)
        if found is not None:
            self._judge.hear("ListTasks", found)

    async def _step(self, name: str, act: Callable[[], Awaitable[str]]) -> bool:
        """Perform one step; True unless the agent did not do at all what was asked."""
        begun, before = self._clock(), len(self._log.checkup.findings)
        method = name.partition(",")[0]
        try:
            words = await act()
        except RemoteCallError as error:
            words = words_of_error(error)
            self._log.find(error.code, error.method, words, ANSWER[error.method])
            self._log.read_notes()
            if error.method != method:
                words = f"{error.method}: {words}"
            self._log.step(name, "failed", words, self._clock() - begun)
            return False
        self._log.read_notes()
        is_odd = len(self._log.checkup.findings) > before
        self._log.step(name, "odd" if is_odd else "ok", words, self._clock() - begun)
        return True

    # The steps

    async def _send(self) -> str:
        self._message_id = self._new_id()
        message = Message(
            message_id=self._message_id, role=Role.ROLE_USER, parts=[Part(text=self._text)]
        )
        answers = self._client.send(message, return_immediately=True, timeout=self._patience.first)
        method = "SendStreamingMessage" if self._client.streaming else "SendMessage"
        try:
            return await self._listen(method, answers, self._patience.listen)
        except RemoteCallError as error:
            self._is_lost = error.kind == "in_doubt"
            raise

    async def _listen(
        self, method: str, answers: AsyncGenerator[Heard, None], seconds: float
    ) -> str:
        """Hear what comes, until it ends or for `seconds` past the first event."""
        judge, count = self._judge, 0
        async with aclosing(answers):
            try:
                while True:
                    async with asyncio.timeout(seconds if count else None):
                        heard = await anext(answers, None)
                    if heard is None:
                        judge.stream_ended(method, self._log.last)
                        break
                    count += 1
                    judge.hear(method, heard, is_first=count == 1)
            except TimeoutError:
                pass  # Long enough: it is still going on, and is left.
        what = judge.state or ("a message" if judge.is_message else "no state")
        return f"{what}, {count} event{'' if count == 1 else 's'}"

    async def _get(self) -> str:
        heard = await self._client.get(self._task_id, history=10, timeout=self._patience.step)
        self._judge.compare(heard)
        self._judge.hear("GetTask", heard)
        return str(heard.report.state or "no state")

    async def _subscribe(self) -> str:
        def subscribe() -> AsyncGenerator[Heard, None]:
            return self._client.subscribe(self._task_id, timeout=self._patience.step)

        if self._is_over():
            return await self._judge.must_refuse(
                "SubscribeToTask",
                "remote.unsupported",
                _first_of(subscribe()),
                "a task that is over",
            )
        try:
            words = await self._listen("SubscribeToTask", subscribe(), self._patience.listen)
        except RemoteCallError as error:
            if error.code != "remote.unsupported":
                raise
            await self._get()
            if not self._is_over():
                raise
            return "refused; the task has ended meanwhile"
        if self._is_over():
            await self._get()
        return words

    async def _list(self) -> str:
        context_id = self._judge.context_id
        page = await self._client.list_tasks(
            context_id=context_id, page_size=10, timeout=self._patience.step
        )
        self._judge.look_at_page(page)
        return f"{len(page.tasks)} task{'' if len(page.tasks) == 1 else 's'}"

    async def _unknown(self, *, streaming: bool) -> None:
        """Ask for a task that does not exist."""
        task_id = f"locum-check-{self._new_id()}"
        seconds = self._patience.step
        client = self._client

        def refuses(method: str, call: Callable[[], Awaitable[object]]) -> Awaitable[bool]:
            return self._step(
                f"{method}, unknown task",
                lambda: self._judge.must_refuse(
                    method, "remote.not_found", call(), "a task that does not exist"
                ),
            )

        await refuses("GetTask", lambda: client.get(task_id, timeout=seconds))
        if streaming:
            await refuses(
                "SubscribeToTask", lambda: _first_of(client.subscribe(task_id, timeout=seconds))
            )
        await refuses("CancelTask", lambda: client.cancel(task_id, timeout=seconds))

    async def _cancel(self) -> str:
        try:
            heard = await self._client.cancel(self._task_id, timeout=self._patience.step)
        except RemoteCallError as error:
            if error.code != "remote.not_cancelable":
                raise
            await self._get()
            if not self._is_over():
                self._gave_up = True
                self._log.checkup.left_behind.append(
                    f"task {self._task_id}: the agent does not cancel it"
                )
            return f"refused; the task is {self._judge.state}"
        self._judge.hear("CancelTask", heard)
        answered = heard.report.state
        end = self._clock() + self._patience.settle
        while True:
            await self._get()
            if self._is_over() or self._clock() > end:
                break
            await asyncio.sleep(self._patience.pause)
        if answered is not None and answered.is_terminal and answered is not self._judge.state:
            self._judge.disagrees(f"CancelTask said {answered}, GetTask {self._judge.state}.")
        if not self._is_over():
            self._gave_up = True
            self._log.checkup.left_behind.append(
                f"task {self._task_id}: it was cancelled and is still {self._judge.state}"
            )
        return str(self._judge.state)

    async def _refused_cancel(self) -> str:
        call = self._client.cancel(self._task_id, timeout=self._patience.step)
        return await self._judge.must_refuse(
            "CancelTask", "remote.not_cancelable", call, "a task that is over"
        )


async def _first_of(answers: AsyncGenerator[Heard, None]) -> Heard | None:
    """The first event of a stream, which is left then."""
    async with aclosing(answers):
        return await anext(answers, None)
