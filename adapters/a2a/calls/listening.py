"""The answers of one streamed call, one after another, as they have to be about one task (K3)."""

from ..reports import Heard, unwrap
from .about import AskedTask
from .calling import Call
from .sdk_stream import SdkStream

__all__ = ["Listener"]


class Listener:
    """Hears what comes on `stream`. `timeout`: seconds until the first event, None for no end.

    The wire ends the stream after a task's end or a direct answer (K5, C5).
    """

    def __init__(
        self, stream: SdkStream, call: Call, asked: AskedTask, timeout: float | None
    ) -> None:
        self._stream = stream
        self._call = call
        self._asked = asked
        self._timeout = timeout

    async def next(self) -> Heard | None:
        """The next thing heard, None when there is no more.

        Raises RemoteCallError.
        """
        while True:
            with self._call.errors():
                event = await self._stream.next(self._timeout)
            self._timeout = None
            if event is None:
                return None
            payload = unwrap(event)
            if payload is not None:
                return self._asked.check(self._call.heard(payload))
