"""The explicit client: one agent, one method an operation, and nothing done that was not asked for.

It knows what each operation means (G2 to G4). Cards, calls and credentials are those of the stand-ins
(`adapters/a2a`); connections are `lines.py`'s, the ways to leave an operation `updates.py`'s.
"""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from a2a.types.a2a_pb2 import AgentCard, Message
from msgspec import UNSET, UnsetType

from locum.core.errors import ClientError, ClientTimeoutError
from locum.core.lifecycle import A2AState

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.reports import Heard
from ..origins import Origin
from ..pause import Pause
from ..requests import checked_text, checked_timeout
from ..values import found_in, refusal
from .account import Account
from .configured import Auth, configured
from .lines import Lines
from .outgoing import outgoing
from .result import A2APage, A2AResult
from .told import Told
from .updates import Updates

__all__ = ["A2AClient"]

T = TypeVar("T")
Seconds = float | UnsetType | None
"""A timeout; None for no end, left out for the client's own."""

TIMEOUT = 300.0
PAGE_LIMIT = 100
SLOWEST = 10.0
"""A task is asked about at least once in so many `poll_interval`s."""


class A2AClient:
    """One agent, for code that decides itself which operation to perform (section G).

    `card_url` is the card's full URL; with `url` instead, the card is looked for where A2 says. The
    interface has to be on the card's origin or on one of `allowed_hosts`; plain HTTP off loopback
    needs `allow_insecure` (G7). `streaming` allows `stream` and `subscribe` (G3). `timeout` is how
    many seconds an operation may take that is given none of its own, None for no end.
    `credentials` go to these origins only (G8); secrets in a table are named by variables of
    `environ`, the process's by default. `ca_file` holds certificates (PEM) that the agent's TLS is
    held against besides the usual ones. `name` is what errors call the agent.

    Nothing is sent before the first operation (G1). Each operation opens its connections and closes
    them; inside `async with` they are kept open in between. Operations raise LocumErrors only:
    CardError, RemoteCallError, ClientError, ClientTimeoutError, RequestError.
    """

    def __init__(
        self,
        card_url: str = "",
        *,
        url: str = "",
        allowed_hosts: Sequence[str] = (),
        streaming: bool = False,
        allow_insecure: bool = False,
        timeout: float | None = TIMEOUT,
        credentials: Auth | None = None,
        ca_file: str = "",
        name: str = "",
        poll_interval: float = 0.5,
        cancel_grace: float = 2.0,
        tracing: bool = False,
        environ: Mapping[str, str] | None = None,
        random: Random | None = None,
    ) -> None:
        """`poll_interval`: seconds before a task is first asked about again, then ever longer.

        `cancel_grace`: seconds that a CancelTask may take when a send is given up (G5). Raises
        ConfigError or RequestError for a value that cannot be.
        """
        settings, custom = configured(
            card_url=card_url,
            url=url,
            name=name,
            credentials=credentials,
            allowed_hosts=allowed_hosts,
            allow_insecure=allow_insecure,
            ca_file=ca_file,
        )
        self._lines = Lines(
            settings,
            custom=custom,
            environ=os.environ if environ is None else environ,
            tracing=tracing,
        )
        self.streaming = streaming
        """`stream` and `subscribe` may be used."""
        self._timeout = checked_timeout(timeout)
        self._poll_interval = _seconds("poll_interval", poll_interval)
        self._cancel_grace = _seconds("cancel_grace", cancel_grace)
        self._random = random or Random()  # noqa: S311 (jitter, no secret)

    def __repr__(self) -> str:
        settings = self._lines.settings
        return f"<A2AClient {settings.id!r} at {Origin.of(settings.card_url or settings.url)}>"

    @property
    def card(self) -> AgentCard | None:
        """The agent's card, None before it was looked at."""
        return self._lines.accepted.card if self._lines.accepted else None

    @property
    def anomalies(self) -> dict[str, int]:
        """How often each oddity was met with the agent (K2)."""
        return dict(self._lines.anomalies)

    # Life

    async def __aenter__(self) -> Self:
        self._lines.hold()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._lines.held().release()

    async def connect(self) -> AgentCard:
        """Fetch and validate the card now, unless it was already (G1); the card.

        Raises CardError or UnsupportedExtensionError, as section A says.
        """

        async def look(_: AgentClient) -> None:
            """Reaching the agent's client is what looks at the card."""

        await self._ask(look, UNSET)
        assert self.card is not None
        return self.card

    # Operations

    async def send(
        self,
        message: str | Message,
        *,
        task_id: str = "",
        context_id: str = "",
        wait: bool = True,
        return_immediately: bool = False,
        timeout: Seconds = UNSET,
    ) -> A2AResult:
        """Send a message (SendMessage) and wait until its task has settled (G2).

        With a `task_id` it answers that task, with a `context_id` alone it goes on in that context.
        A direct answer comes back at once. A task that is not settled is asked about, that task
        only. `wait=False` gives the first answer; `return_immediately` asks the agent not to wait
        with it. A send that is cancelled or late cancels its task, when the agent has named one
        that is not over (G5).
        """
        made = self._outgoing(message, task_id, context_id)
        account = Account()
        told = Told(self._lines, account, self._pause())
        results = told.sent(made, wait=wait, return_immediately=return_immediately)
        async with self._updates(results, account, timeout, is_ours=True) as updates:
            async for _ in updates:
                pass
        assert account.result is not None
        return account.result

    def stream(
        self,
        message: str | Message,
        *,
        task_id: str = "",
        context_id: str = "",
        timeout: Seconds = UNSET,
    ) -> Updates:
        """Send a message (SendStreamingMessage); what is known after each update, until its task
        has settled (G3).

        A stream that ends before that is gone on with by GetTask, and so is an agent that does not
        stream. Use `async with`; see `Updates` for what leaving early means. Raises ClientError
        `client.streaming_off`.
        """
        self._check_streaming("stream")
        made = self._outgoing(message, task_id, context_id)
        account = Account()
        results = Told(self._lines, account, self._pause()).streamed(made)
        return self._updates(results, account, timeout, is_ours=True)

    def subscribe(self, task_id: str, *, timeout: Seconds = UNSET) -> Updates:
        """Follow a task (SubscribeToTask): how it is, and what changes, until it settles (G3).

        A task that is parked already is followed until it moves on, or the agent ends the stream.
        Leaving never cancels the task. Raises ClientError `client.streaming_off`.
        """
        self._check_streaming("subscribe")
        task_id = checked_text("task_id", task_id, empty=False)
        account = Account()
        results = Told(self._lines, account, self._pause()).followed(task_id)
        return self._updates(results, account, timeout, is_ours=False)

    async def get_task(
        self,
        task_id: str,
        *,
        history: int | None = None,
        timeout: Seconds = UNSET,
    ) -> A2AResult:
        """The task as it is now (GetTask), with at most `history` of its messages."""
        task_id = checked_text("task_id", task_id, empty=False)
        return await self._ask(lambda agent: _get(agent, task_id, history), timeout)

    async def cancel_task(self, task_id: str, *, timeout: Seconds = UNSET) -> A2AResult:
        """Ask for a task's end (CancelTask); the task as it is then.

        Raises RemoteCallError, `remote.not_cancelable` when it is over.
        """
        task_id = checked_text("task_id", task_id, empty=False)
        return await self._ask(lambda agent: _cancel(agent, task_id), timeout)

    async def list_tasks(
        self,
        *,
        context_id: str = "",
        state: A2AState | str | None = None,
        page_size: int = 50,
        page_token: str = "",
        timeout: Seconds = UNSET,
    ) -> A2APage:
        """One page of the agent's tasks (ListTasks), at most `page_size` (1 to 100) of them (G4).

        Those of other contexts and states are left out, also when the agent ignores the filter.
        """
        if isinstance(page_size, bool) or not 1 <= page_size <= PAGE_LIMIT:
            accepted = f"a whole number from 1 to {PAGE_LIMIT}"
            raise refusal("page_size", found=found_in(page_size), accepted=accepted)
        wanted = None if state is None else _state(state)

        async def read(agent: AgentClient) -> A2APage:
            page = await agent.list_tasks(
                context_id=context_id, state=wanted, page_size=page_size, page_token=page_token
            )
            results = [_one(heard) for heard in page.tasks]
            fitting = [
                one
                for one in results
                if wanted in (None, one.state) and context_id in ("", one.context_id)
            ][:page_size]
            left_out = len(results) - len(fitting)
            return A2APage(tuple(fitting), page.next_page_token, page.total, left_out)

        return await self._ask(read, timeout)

    # Inside

    def _check_streaming(self, operation: str) -> None:
        if not self.streaming:
            raise ClientError(
                f"{operation}: this client does not stream. Make it with streaming=True, or use"
                " send and get_task.",
                code="client.streaming_off",
            )

    def _outgoing(self, message: str | Message, task_id: str, context_id: str) -> Message:
        return outgoing(
            message, task_id=task_id, context_id=context_id, new_id=lambda: str(uuid.uuid4())
        )

    def _pause(self) -> Pause:
        return Pause(self._poll_interval, self._poll_interval * SLOWEST, self._random)

    def _limit(self, timeout: Seconds) -> float | None:
        return self._timeout if isinstance(timeout, UnsetType) else checked_timeout(timeout)

    def _updates(
        self,
        results: Any,
        account: Account,
        timeout: Seconds,
        *,
        is_ours: bool,
    ) -> Updates:
        return Updates(
            results,
            account,
            self._lines,
            timeout=self._limit(timeout),
            cancel_grace=self._cancel_grace,
            is_ours=is_ours,
        )

    async def _ask(self, call: Callable[[AgentClient], Awaitable[T]], timeout: Seconds) -> T:
        limit = self._limit(timeout)
        try:
            async with asyncio.timeout(limit), self._lines.opened() as line:
                return await call(await line.agent())
        except TimeoutError as late:
            raise ClientTimeoutError(
                f"The agent did not answer within {limit:g} s. Allow more time with `timeout`.",
                detail={"timeout": limit},
            ) from late


async def _get(agent: AgentClient, task_id: str, history: int | None) -> A2AResult:
    return _one(await agent.get(task_id, history=history))


async def _cancel(agent: AgentClient, task_id: str) -> A2AResult:
    return _one(await agent.cancel(task_id))


def _one(heard: Heard) -> A2AResult:
    result = Account().take(heard)
    assert result is not None
    return result


def _seconds(name: str, value: float) -> float:
    seconds = checked_timeout(value)
    if seconds is None:
        raise refusal(name, found="null", accepted="seconds")
    return seconds


def _state(state: A2AState | str) -> A2AState:
    try:
        return A2AState(state)
    except ValueError:
        names = ", ".join(one.value for one in A2AState)
        raise refusal("state", found=found_in(state), accepted=f"one of {names}") from None
