"""What the wire saw of one call, and the limits that it holds calls to. Touches no network.

`calls` makes the notes, puts them into `CALL` and calls the SDK; the wire, far below,
finds them there and fills them in.
"""

import logging
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from ...loop_share import LoopShare

__all__ = ["CALL", "READS", "CallNotes", "WireLimits"]

logger = logging.getLogger("locum.wire")

READS: Final = frozenset(
    {
        "AgentCard",
        "GetExtendedAgentCard",
        "GetTask",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "ListTasks",
        "SubscribeToTask",
    }
)
"""The methods that change nothing at the agent, so that the same call may always go out again."""


class _Closable(Protocol):
    async def aclose(self) -> None: ...


@dataclass(slots=True)
class CallNotes:
    """What the wire saw of one call. The first six fields are the caller's, the rest the wire's.

    `method` is A2A's name ("GetTask", "SendStreamingMessage", …, "AgentCard" for a card); with any
    other the answer is held to the limits but not looked into. `task_id` and `config_id` are the
    raw ids that the call is about, `tenant` the raw one of the interface; the wire percent-encodes
    them into a REST URL (A5, K3).

    A call may take several requests (a token was renewed): but for the anomalies, the notes are
    about the last one.
    """

    method: str
    agent_id: str = ""
    task_id: str = ""
    config_id: str = ""
    tenant: str = ""
    streaming: bool = False

    anomalies: list[str] = field(default_factory=list)
    """Names from `ANOMALIES`, each once, in the order in which they were first met (K2)."""
    status: int | None = None
    """The HTTP status, as the agent said it."""
    content_type: str = ""
    retry_after: float | None = None
    """Seconds, from `Retry-After`."""
    challenge: str = ""
    """What `WWW-Authenticate` said."""
    error: dict[str, Any] | None = None
    """`{"code": int | str | None, "message": str, "data": Any}`, as the agent said it (K4)."""
    peer: str = ""
    """The IP address that the request went to."""
    sent: bool = False
    """Bytes of the request may have left for the agent."""
    answered: bool = False
    """The head of the response was received."""
    events: int = 0
    """Server-sent events handed on so far; comments and empty ones are none (D8)."""
    ended: bool = False
    """A terminal task state went by on the stream (K5)."""
    closed: bool | None = None
    """Whether the agent ended the stream after its last event; None unless it was waited for."""
    on_sent: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Called whenever bytes of a request are about to leave: until then it surely was not read.
    Whoever is told waits for the call's place for as long as it takes, and counts from there (C7)."""
    share: LoopShare | None = field(default=None, repr=False, compare=False)
    """The agent's share of the event loop; None before the first request, and without one."""
    response: _Closable | None = field(default=None, repr=False, compare=False)
    """The stream that is held open, for `hang_up`."""

    @property
    def is_patient(self) -> bool:
        """True when the time that the call has begins once it has its place."""
        return self.on_sent is not None

    def begin(self) -> None:
        """Start over, for the next request of the call."""
        self.status = self.retry_after = self.error = self.response = self.closed = None
        self.content_type = self.challenge = self.peer = ""
        self.sent = self.answered = self.ended = False
        self.events = 0

    def leave(self) -> None:
        """The first bytes of a request are about to leave."""
        self.sent = True
        if self.on_sent is not None:
            self.on_sent()

    async def turn(self) -> None:
        """Return when the agent may cost the event loop something again (J4)."""
        if self.share is not None:
            await self.share.turn()

    def spend(self, seconds: float) -> None:
        """Count a step of the event loop that reading the agent's words has taken."""
        if self.share is not None:
            self.share.spend(seconds)

    def note(self, kinds: Iterable[str]) -> None:
        """Keep the names of anomalies, and log each of them at DEBUG (K2)."""
        for kind in kinds:
            logger.debug("agent %s, %s: mended %s", self.agent_id, self.method, kind)
            if kind not in self.anomalies:
                self.anomalies.append(kind)

    async def hang_up(self) -> None:
        """Close the stream of this call now, if one is open (D11).

        Closing the SDK's generator leads there too, but only a few turns of the event loop later,
        since the generators inside it are closed by their finalizers.
        """
        if self.response is not None:
            await self.response.aclose()


CALL: ContextVar[CallNotes | None] = ContextVar("locum_call", default=None)
"""The notes of the call that is being made in this context."""


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What one answer may take (J3). Sizes are bytes, times are seconds."""

    event_limit: int = 16 << 20
    """One server-sent event or one JSON answer."""
    value_limit: int = 100_000
    """Values in one server-sent event or one JSON answer: objects, lists and what is in them."""
    card_limit: int = 1 << 20
    """One agent card."""
    error_limit: int = 256 << 10
    """How much is read of an answer that is an error or no JSON; the rest is cut off."""
    header_limit: int = 16 << 10
    """One line of the head: a header with its name, or the status line."""
    header_count: int = 256
    """Headers of one answer."""
    call_time: float = 60.0
    """All of a call that is no stream, from its queue (but for a patient one, see `CallNotes`) to
    the last byte of its answer, and reading an answer that is no stream although one was asked for. A call that is made with a timeout of
    its own (a2a's `ClientCallContext.timeout`) has that much time instead."""
    stream_first: float | None = None
    """From the request to the head of a stream; None leaves it to the caller."""
    queue_time: float = 30.0
    """How long a stream waits for its place in the agent's budget (J4)."""
    closing_time: float = 0.0
    """How long an agent is waited for to end a stream after its last event, only to see whether it
    does; 0 hangs up at once (K5)."""
