"""One stream of a2a-sdk's client, read event by event and always wound up to its end (D11).

The SDK's streams are generators inside generators, none of which closes the one inside it: closing
the outermost leaves the socket and the rest to the garbage collector. They do clean up, each in its
turn, when the innermost ends or fails. So a stream is never closed from the top here: it is read on
with a deadline that has passed, and the cancellation that comes up from the socket ends them all.
Errors are not translated here.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

from a2a.client.interceptors import AfterArgs, BeforeArgs, ClientCallInterceptor
from a2a.types.a2a_pb2 import StreamResponse

from ...loop_share import metered
from ..wire.notes import CALL, CallNotes

__all__ = ["ReadToTheEnd", "SdkStream"]

_log = logging.getLogger(__name__)


class SdkStream:
    """An `async with` around a stream of the SDK's; `stream` must come from a client that has the
    interceptor `ReadToTheEnd`. `notes` are put in CALL whenever the stream is read.
    """

    def __init__(self, stream: AsyncIterator[StreamResponse], notes: CallNotes) -> None:
        # An event comes in the wrapper that `ReadToTheEnd` has put it in.
        self._stream: AsyncIterator[Any] = stream
        self._notes = notes

    async def next(self, timeout: float | None = None) -> StreamResponse | None:
        """The next event, None at the stream's end.

        Raises TimeoutError after `timeout` seconds, which ends the stream, and whatever the SDK and
        the wire raise.
        """
        token = CALL.set(self._notes)
        try:
            async with asyncio.timeout(timeout):
                event = await metered(anext(self._stream, None), self._notes.spend)
        finally:
            CALL.reset(token)
        return event.response if isinstance(event, _Event) else event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        token = CALL.set(self._notes)
        try:
            # What has arrived by now would be parsed before the deadline is met.
            await self._notes.hang_up()
            async with asyncio.timeout(0):
                async for _ in self._stream:
                    pass
        except TimeoutError:
            pass  # The deadline that ends the stream.
        except Exception as late:  # noqa: BLE001 (any error of a stream that nobody reads any more)
            _log.debug("%s: %s while hanging up", self._notes.method, type(late).__name__)
        finally:
            CALL.reset(token)


class ReadToTheEnd(ClientCallInterceptor):
    """Keeps the SDK from dropping a stream at a Message, half read and unclosed."""

    async def before(self, args: BeforeArgs) -> None:
        """Let every call go out as it is."""

    async def after(self, args: AfterArgs) -> None:
        """Put a stream's event into a wrapper that the SDK does not take for a Message."""
        if isinstance(args.result, StreamResponse):
            args.result = _Event(args.result)


class _Event:
    """An event on its way through the SDK, which asks it one thing: whether it is a Message."""

    __slots__ = ("response",)

    def __init__(self, response: StreamResponse) -> None:
        self.response = response

    def HasField(self, name: str) -> bool:  # noqa: N802 (protobuf's name)
        return False
