"""What every call to an agent has in common: headers, notes, a trace, and one kind of error (K4).

It knows no A2A method; `remote_agent.py` says what is asked.
"""

import asyncio
import string
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from a2a.client.client import ClientCallContext
from a2a.extensions.common import HTTP_EXTENSION_HEADER

from locum.core.errors import Kind, RemoteCallError

from ...loop_share import counted, metered
from ..extensions import PARTICIPANT_HEADER
from ..reports import Heard, Payload, heard
from ..wire.faults import error_for
from ..wire.notes import CALL, CallNotes
from .given_tokens import GivenTokens
from .tracing import traced

__all__ = ["Call", "Caller"]

T = TypeVar("T")

_VISIBLE = string.ascii_letters + string.digits + string.punctuation + " "


class Call:
    """One call under way: `context` goes to the SDK, `notes` are what the wire saw of it."""

    def __init__(
        self,
        notes: CallNotes,
        context: ClientCallContext,
        on_anomaly: Callable[[str, str], None],
        tokens: GivenTokens,
    ) -> None:
        self.notes = notes
        self.context = context
        self._on_anomaly = on_anomaly
        self._tokens = tokens
        self._told = 0

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn whatever the SDK, the pool and the wire raise into one RemoteCallError."""
        try:
            yield
        except Exception as fault:
            self.oddities()
            # Before it is cut to its length: no token in halves.
            self.notes.error = self._tokens.masked_json(self.notes.error)
            error = error_for(fault, self.notes)
            masked = self._tokens.masked_error(error)
            if masked is not error:
                raise masked from None  # What led to it has the token in clear.
            if error is fault:
                raise
            raise error from fault

    def heard(self, payload: Payload, oddities: Sequence[str] | None = None) -> Heard:
        """What the agent said, with whatever it quotes of its push tokens masked (D2, case P10).

        `oddities` are what was odd about the whole answer; None asks for them.
        """
        with counted(self.notes.spend):
            made = heard(payload, self.oddities() if oddities is None else oddities)
            report = self._tokens.masked_report(made.report)
        if report is made.report:
            return made
        odd = (*report.anomalies, *self.oddities("json.secret_quoted"))
        return Heard(msgspec.structs.replace(report, anomalies=odd), made.payload)

    def oddities(self, *more: str) -> tuple[str, ...]:
        """What was odd since this was last asked, and `more`; each is told to whoever counts."""
        since = (*self.notes.anomalies[self._told :], *more)
        self._told = len(self.notes.anomalies)
        for name in since:
            self._on_anomaly(self.notes.agent_id, name)
        return since

    def error(self, message: str, code: str, kind: Kind = "in_doubt") -> RemoteCallError:
        """An error that the answer itself is, with what the wire noted about it."""
        notes = self.notes
        self.oddities()  # told to whoever counts
        return RemoteCallError(
            message,
            code=code,
            kind=kind,
            method=notes.method,
            status=notes.status,
            anomalies=notes.anomalies,
        )


class Caller:
    """Sets up the calls to one agent, all with the same headers (C9, A7)."""

    def __init__(
        self,
        *,
        agent_id: str,
        tenant: str,
        participant_id: str,
        extensions: Sequence[str],
        on_anomaly: Callable[[str, str], None],
        trace_entropy: Callable[[int], bytes] | None,
        tokens: GivenTokens,
    ) -> None:
        """`trace_entropy` gives random bytes for new traces; None when tracing is off."""
        self._agent_id = agent_id
        self._tenant = tenant
        self._participant_id = participant_id
        self._extensions = ",".join(extensions)
        self._on_anomaly = on_anomaly
        self._trace_entropy = trace_entropy
        self._tokens = tokens

    @contextmanager
    def call(
        self,
        method: str,
        *,
        task_id: str = "",
        config_id: str = "",
        streaming: bool = False,
        participant_id: str | None = None,
        timeout: float | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> Iterator[Call]:
        """A call of A2A's `method`; it is over when the context is left.

        `on_sent` is called when bytes of it are about to leave.
        """
        notes = CallNotes(
            method=method,
            agent_id=self._agent_id,
            task_id=task_id,
            config_id=config_id,
            tenant=self._tenant,
            streaming=streaming,
            on_sent=on_sent,
        )
        headers: dict[str, str] = {}
        participant = self._participant_id if participant_id is None else participant_id
        if participant:
            # A header holds visible ASCII; whatever else an id has is percent-encoded.
            headers[PARTICIPANT_HEADER] = quote(participant, safe=_VISIBLE)
        if self._extensions:
            headers[HTTP_EXTENSION_HEADER] = self._extensions
        # The SDK would take a timeout for the longest silence of a stream.
        total = None if streaming else timeout
        with self._trace(method, task_id) as trace_headers:
            context = ClientCallContext(service_parameters=headers | trace_headers, timeout=total)
            yield Call(notes, context, self._on_anomaly, self._tokens)

    async def ask(
        self,
        method: str,
        sdk_call: Callable[..., Awaitable[T]],
        request: Any,
        *,
        task_id: str = "",
        config_id: str = "",
        participant_id: str | None = None,
        timeout: float | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> tuple[Call, T]:
        """A whole call that is no stream: what was seen of it, and its answer.

        Raises RemoteCallError, nothing else.
        """
        with self.call(
            method,
            task_id=task_id,
            config_id=config_id,
            participant_id=participant_id,
            timeout=timeout,
            on_sent=on_sent,
        ) as call:
            token = CALL.set(call.notes)
            try:
                with call.errors():
                    async with asyncio.timeout(timeout):
                        answer = sdk_call(request, context=call.context)
                        return call, await metered(answer, call.notes.spend)
            finally:
                CALL.reset(token)

    def _trace(self, method: str, task_id: str) -> AbstractContextManager[dict[str, str]]:
        if self._trace_entropy is None:
            return nullcontext({})
        return traced(method, self._agent_id, task_id, entropy=self._trace_entropy)
