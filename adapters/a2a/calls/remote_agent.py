"""One accepted agent, called through a2a-sdk's client over our wire (A1). Records nothing.

Every call gives what the agent said as `Heard`: the report for the core, the SDK's object for the
explicit client. Every failure is one RemoteCallError (K4). Nothing is tried again here: whether that
may be done is the stand-in's to decide.
"""

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from functools import partial

import httpx
from a2a.client.client import Client, ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0

from locum.core.lifecycle import A2AState

from ..interface import Interface
from ..reports import Heard
from .about import AskedTask
from .calling import Caller
from .finding import Page, find_task
from .given_tokens import GivenTokens
from .listening import Listener
from .push_calls import PushCalls, PushConfig
from .sdk_http import sdk_http
from .sdk_stream import ReadToTheEnd, SdkStream

__all__ = ["AgentClient", "Interface", "Page", "PushConfig"]


class AgentClient(PushCalls):
    """Calls one agent at one interface. Raises RemoteCallError and nothing else.

    `http` is the agent's client, whose transport is the wire; it belongs to the caller and stays
    open. `extensions` are those in use with this agent (A7). `on_anomaly` is told the agent's id
    and the name of each oddity (K2). `entropy` gives random bytes for traces that nobody began.
    `tokens` are the push tokens that the agent has, which are masked in all that it says (D2).

    All methods take `participant_id`, the id that the harness delegates as (C9), by default the
    client's own, and `timeout` in seconds: for a whole call, or until a stream's first event.
    """

    def __init__(
        self,
        *,
        agent_id: str,
        card: AgentCard,
        interface: Interface,
        http: httpx.AsyncClient,
        participant_id: str,
        on_anomaly: Callable[[str, str], None],
        extensions: Sequence[str] = (),
        tracing: bool = False,
        entropy: Callable[[int], bytes] = os.urandom,
        tokens: GivenTokens | None = None,
    ) -> None:
        self.agent_id = agent_id
        self.interface = interface
        self.streaming = card.capabilities.streaming
        """The agent says that it streams."""
        self.push = card.capabilities.push_notifications
        """The agent says that it sends push notifications."""
        self._caller = Caller(
            agent_id=agent_id,
            tenant=interface.tenant,
            participant_id=participant_id,
            extensions=extensions,
            on_anomaly=on_anomaly,
            trace_entropy=entropy if tracing else None,
            tokens=GivenTokens() if tokens is None else tokens,
        )
        card = _with_only(card, interface)
        self._plain = _sdk_client(card, interface, http, streaming=False)
        self._streamed = _sdk_client(card, interface, http, streaming=True)

    async def send(
        self,
        message: Message,
        *,
        streaming: bool | None = None,
        return_immediately: bool = False,
        participant_id: str | None = None,
        timeout: float | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Heard, None]:
        """Send a message; what the agent answers, until a task's end or a direct answer.

        Streams when the card says that the agent does and `streaming` is not False; else there is
        one answer, which `return_immediately` asks for before the work is done (C6). An answer to a
        message with a task id may move on to another task (C13). Use `aclosing`: leaving closes the
        connection (D11). An agent that answers with nothing at all is `remote.empty`, in doubt.
        `on_sent` is called when bytes of it are about to leave: until then it surely was not read.
        """
        is_stream = self.streaming and streaming is not False
        request = SendMessageRequest(message=message)
        if return_immediately and not is_stream:
            request.configuration.return_immediately = True
        with self._caller.call(
            "SendStreamingMessage" if is_stream else "SendMessage",
            task_id=message.task_id,
            streaming=is_stream,
            participant_id=participant_id,
            timeout=timeout,
            on_sent=on_sent,
        ) as call:
            client = self._streamed if is_stream else self._plain
            asked = AskedTask(call, message.task_id, may_move=bool(message.task_id))
            answers = client.send_message(request, context=call.context)
            is_answered = False
            async with SdkStream(answers, call.notes) as stream:
                listener = Listener(stream, call, asked, timeout, sent=message)
                while (one := await listener.next()) is not None:
                    is_answered = True
                    yield one
            if not is_answered:
                raise call.error("The agent ended its answer without a word.", "remote.empty")

    async def subscribe(
        self, task_id: str, *, participant_id: str | None = None, timeout: float | None = None
    ) -> AsyncGenerator[Heard, None]:
        """Hear what happens to a task, until its end or until the agent ends the stream.

        Use `aclosing`: leaving closes the connection (D11). Needs an agent that streams.
        """
        with self._caller.call(
            "SubscribeToTask",
            task_id=task_id,
            streaming=True,
            participant_id=participant_id,
            timeout=timeout,
        ) as call:
            request = SubscribeToTaskRequest(id=task_id)
            events = self._streamed.subscribe(request, context=call.context)
            async with SdkStream(events, call.notes) as stream:
                listener = Listener(stream, call, AskedTask(call, task_id), timeout)
                while (one := await listener.next()) is not None:
                    yield one

    async def get(
        self,
        task_id: str,
        *,
        history: int | None = None,
        participant_id: str | None = None,
        timeout: float | None = None,
    ) -> Heard:
        """The task as it is now, with at most `history` messages of its history (None: as many as
        the agent likes).
        """
        call, task = await self._caller.ask(
            "GetTask",
            self._plain.get_task,
            GetTaskRequest(id=task_id, history_length=history),
            task_id=task_id,
            participant_id=participant_id,
            timeout=timeout,
        )
        return AskedTask(call, task_id).check(call.heard(task))

    async def cancel(
        self,
        task_id: str,
        *,
        participant_id: str | None = None,
        timeout: float | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> Heard:
        """Ask for a task's end; the task as it is then. `remote.not_cancelable` when it is over.

        `on_sent` is called when bytes of it are about to leave: until then it surely was not read.
        """
        call, task = await self._caller.ask(
            "CancelTask",
            self._plain.cancel_task,
            CancelTaskRequest(id=task_id),
            task_id=task_id,
            participant_id=participant_id,
            timeout=timeout,
            on_sent=on_sent,
        )
        return AskedTask(call, task_id).check(call.heard(task))

    async def list_tasks(
        self,
        *,
        context_id: str = "",
        state: A2AState | None = None,
        since: datetime | None = None,
        page_size: int = 50,
        page_token: str = "",
        history: int | None = None,
        participant_id: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """One page of the agent's tasks (G4): in a context, in a state, or with a status since an
        aware `since`. An agent may ignore any of these.
        """
        request = ListTasksRequest(
            context_id=context_id,
            status=None if state is None else f"TASK_STATE_{state}",
            page_size=page_size,
            page_token=page_token,
            history_length=history,
        )
        if since is not None:
            request.status_timestamp_after.FromDatetime(since)
        call, page = await self._caller.ask(
            "ListTasks",
            self._plain.list_tasks,
            request,
            participant_id=participant_id,
            timeout=timeout,
        )
        oddities = call.oddities()
        tasks = tuple(call.heard(task, oddities) for task in page.tasks)
        return Page(tasks, page.next_page_token, page.total_size)

    async def find(
        self,
        message_id: str,
        *,
        since: datetime | None,
        context_id: str = "",
        participant_id: str | None = None,
        timeout: float | None = None,
    ) -> Heard | None:
        """The task that the message is in, None when there surely is none (I2, C7).

        `since` is when the message was recorded. Looks through the tasks in `context_id`, or those
        with news since then. `timeout` is for each of the calls that this takes. Raises
        RemoteCallError when the agent cannot list its tasks, or `remote.not_listable` when its
        lists leave it open.
        """
        return await find_task(
            message_id,
            since=since,
            context_id=context_id,
            read_page=partial(self.list_tasks, participant_id=participant_id, timeout=timeout),
            read_task=partial(self.get, participant_id=participant_id, timeout=timeout),
        )


def _with_only(card: AgentCard, interface: Interface) -> AgentCard:
    """The card with the chosen interface and no other: the SDK would choose by rules of its own.

    Of HTTP+JSON without its query, behind which the SDK would put the path of each call.
    """
    reduced = AgentCard()
    reduced.CopyFrom(card)
    del reduced.supported_interfaces[:]
    is_rest = interface.binding == "HTTP+JSON"
    reduced.supported_interfaces.add(
        url=interface.url.partition("?")[0] if is_rest else interface.url,
        protocol_binding=interface.binding,
        tenant=interface.tenant,
        # All of 1.x is spoken alike, and the SDK would not know a version like "1".
        protocol_version=PROTOCOL_VERSION_1_0,
    )
    return reduced


def _sdk_client(
    card: AgentCard, interface: Interface, http: httpx.AsyncClient, *, streaming: bool
) -> Client:
    config = ClientConfig(
        streaming=streaming,
        httpx_client=sdk_http(http, interface.url),
        supported_protocol_bindings=[interface.binding],
    )
    return ClientFactory(config).create(card, [ReadToTheEnd()])
