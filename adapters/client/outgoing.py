"""The message that an operation of the explicit client sends, made from what its caller gave."""

from collections.abc import Callable

from a2a.types.a2a_pb2 import Message, Role

from ..a2a.envelope import reply_message
from ..requests import checked_text
from ..values import found_in, refusal

__all__ = ["outgoing"]


def outgoing(
    message: str | Message, *, task_id: str, context_id: str, new_id: Callable[[], str]
) -> Message:
    """The message to send: `message` itself stays as it is.

    A text becomes one text part. What a Message leaves open (its id, role, task and context) is
    filled in. Raises RequestError for what cannot be sent.
    """
    task_id = checked_text("task_id", task_id)
    context_id = checked_text("context_id", context_id)
    if isinstance(message, str):
        text = checked_text("message", message, empty=False, wanted="what is to be said")
        return reply_message(message_id=new_id(), task_id=task_id, context_id=context_id, text=text)
    if not isinstance(message, Message):
        raise refusal("message", found=found_in(message), accepted="a text or an a2a Message")
    if not message.parts:
        raise refusal("message", found="no parts", accepted="parts that say something")
    made = Message()
    made.CopyFrom(message)
    made.message_id = made.message_id or new_id()
    made.role = made.role or Role.ROLE_USER
    made.task_id = task_id or made.task_id
    made.context_id = context_id or made.context_id
    return made
