"""The answers of one streamed call, one after another, until there is no more to hear (K5, C5)."""

from .about import AskedTask
from .calling import Call
from .reports import Heard, heard, unwrap
from .sdk_stream import SdkStream

__all__ = ["Listener"]


class Listener:
    """Hears what comes on `stream`. `timeout`: seconds until the first event, None for no end."""

    def __init__(
        self, stream: SdkStream, call: Call, asked: AskedTask, timeout: float | None
    ) -> None:
        self._stream = stream
        self._call = call
        self._asked = asked
        self._timeout = timeout
        self._is_over = False

    async def next(self) -> Heard | None:
        """The next thing heard, None when the agent or the task is at its end.

        Raises RemoteCallError.
        """
        oddities: tuple[str, ...] = ()
        while not self._is_over:
            with self._call.errors():
                event = await self._stream.next(self._timeout)
            self._timeout = None
            if event is None:
                break
            payload = unwrap(event)
            if payload is None:
                oddities += self._call.oddities("sse.no_payload")
                continue
            is_answer = not self._asked.is_known
            one = self._asked.check(heard(payload, (*oddities, *self._call.oddities())))
            if _is_last(one, is_answer):
                self._is_over = True
                self._stream.expect_the_end()
            return one
        return None


def _is_last(one: Heard, is_answer: bool) -> bool:
    """True when nothing after this counts: the task is over, or a message answered the brief."""
    report = one.report
    if report.kind == "message":
        return is_answer
    return report.state is not None and report.state.is_terminal
