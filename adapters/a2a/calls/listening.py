"""The answers of one streamed call, one after another, as they have to be about one task (K3)."""

from a2a.types.a2a_pb2 import Message, Role

from ..reports import Heard, unwrap
from .about import AskedTask
from .calling import Call
from .sdk_stream import SdkStream

__all__ = ["Listener"]


class Listener:
    """Hears what comes on `stream`. `timeout`: seconds until the first event, None for no end.
    `sent` is the message that it answers.

    The wire ends the stream after a task's end or a direct answer (K5, C5). A message of ours that
    comes back is no answer.
    """

    def __init__(
        self,
        stream: SdkStream,
        call: Call,
        asked: AskedTask,
        timeout: float | None,
        *,
        sent: Message | None = None,
    ) -> None:
        self._stream = stream
        self._call = call
        self._asked = asked
        self._timeout = timeout
        self._sent = sent

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
            if payload is None:
                continue
            if isinstance(payload, Message):
                if self._is_echo(payload):
                    self._call.notes.note(["message.echo"])
                    continue
                if payload.role == Role.ROLE_USER:
                    self._call.notes.note(["message.role"])
            return self._asked.check(self._call.heard(payload))

    def _is_echo(self, said: Message) -> bool:
        """True for the message that was sent, and for one of a user's that says the same.

        Another one is the agent's, who may have made it of ours and left the role.
        """
        sent = self._sent
        if sent is None:
            return said.role == Role.ROLE_USER
        if said.message_id and said.message_id == sent.message_id:
            return True
        return said.role == Role.ROLE_USER and _words(said) == _words(sent)


def _words(message: Message) -> list[str]:
    return [part.text for part in message.parts]
