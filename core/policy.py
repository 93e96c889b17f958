"""What the stand-in does next: a pure function of the sub-task, the time and what is known here.

The stand-in performs the action, turns what it heard into a command, and asks again. Whatever
instant it was stopped at, the answer starts again from the record (I1).
"""

from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from .subtask import SubTask
from .times import seconds_between

__all__ = [
    "NOTHING",
    "STREAMING",
    "Action",
    "AwaitPush",
    "CancelRemote",
    "ChangeWatch",
    "DeletePush",
    "Follow",
    "Known",
    "Poll",
    "RegisterPush",
    "Rest",
    "Send",
    "SendReply",
    "Traits",
    "Wanted",
    "next_action",
]


Wanted: TypeAlias = Literal["push", "follow", "off", "any"]


class Traits(Struct, frozen=True, kw_only=True):
    """What the agent can do, by its card and its settings.

    `watch` is how a parked task of its is to be watched (D1): "any" while its card is not known,
    None when nothing is known, so that the recorded watch stands. A task is polled where it cannot
    be followed.
    """

    streaming: bool = True
    watch: Wanted | None = None


class Known(Struct, frozen=True, kw_only=True):
    """What this process knows beyond the record. A restart knows nothing, which is the default.

    `unsent` is the message id that surely has not left yet; `delivered` the reply that surely
    arrived; `registered` the token digest that the agent has taken; `cancelling` whether somebody
    wants the end.
    """

    unsent: str = ""
    delivered: str = ""
    registered: str = ""
    cancelling: bool = False


class Send(Struct, frozen=True, kw_only=True, tag_field="action", tag="send"):
    """Send the brief; with `look_first`, look for it on the agent before (I2)."""

    message_id: str
    look_first: bool


class SendReply(Struct, frozen=True, kw_only=True, tag_field="action", tag="send_reply"):
    """Send the recorded reply; with `look_first`, look for it in the task's history (I3)."""

    message_id: str
    look_first: bool


class Follow(Struct, frozen=True, kw_only=True, tag_field="action", tag="follow"):
    """Hold SubscribeToTask open (D6)."""

    remote_task_id: str


class Poll(Struct, frozen=True, kw_only=True, tag_field="action", tag="poll"):
    """Ask GetTask now and then: the agent has no streaming (D8)."""

    remote_task_id: str


class RegisterPush(Struct, frozen=True, kw_only=True, tag_field="action", tag="register_push"):
    """See to it that the agent has our push config (D2)."""

    config_id: str
    token_digest: str


class AwaitPush(Struct, frozen=True, kw_only=True, tag_field="action", tag="await_push"):
    """Nothing runs: a push, the backstop, a reply or a cancel wakes it."""

    config_id: str


class ChangeWatch(Struct, frozen=True, kw_only=True, tag_field="action", tag="change_watch"):
    """Record another watch for the same question: the settings want it by now (D1)."""

    watch: Wanted


class CancelRemote(Struct, frozen=True, kw_only=True, tag_field="action", tag="cancel"):
    """Cancel the remote task and end (F2, C11)."""

    deadline: bool


class DeletePush(Struct, frozen=True, kw_only=True, tag_field="action", tag="delete_push"):
    """Delete the push config from the remote task that it is on (F1)."""

    config_id: str
    remote_task_id: str


class Rest(Struct, frozen=True, kw_only=True, tag_field="action", tag="rest"):
    """Nothing to do: it has ended, or is parked and not watched (D9)."""


Action: TypeAlias = (
    Send
    | SendReply
    | ChangeWatch
    | Follow
    | Poll
    | RegisterPush
    | AwaitPush
    | CancelRemote
    | DeletePush
    | Rest
)


STREAMING = Traits()
NOTHING = Known()


def next_action(
    sub_task: SubTask,
    now: str,
    *,
    traits: Traits = STREAMING,
    known: Known = NOTHING,
) -> Action:
    """The next action for `sub_task` at `now` (RFC 3339, UTC)."""
    if sub_task.is_resolved:
        return _delete_push(sub_task) or Rest()
    if sub_task.deadline and seconds_between(sub_task.deadline, now) >= 0:
        return CancelRemote(deadline=True)
    if known.cancelling:
        return CancelRemote(deadline=False)
    if not sub_task.is_linked:
        message_id = sub_task.message_id
        return Send(message_id=message_id, look_first=known.unsent != message_id)
    reply = sub_task.reply
    if reply is not None and known.delivered != reply.message_id:
        return SendReply(message_id=reply.message_id, look_first=known.unsent != reply.message_id)
    change = _change_watch(sub_task, traits.watch)
    return change or _delete_push(sub_task) or _watch(sub_task, traits, known)


def _change_watch(sub_task: SubTask, wanted: Wanted | None) -> ChangeWatch | None:
    """Another watch, where the recorded one is not what is wanted (D1).

    A refused push config is not asked for again under the same question. That it was refused is
    forgotten as soon as no push is wanted, so that it is asked for when it is wanted again.
    """
    watch = sub_task.watch
    if watch is None or wanted is None:
        return None
    match wanted:
        case "push":
            is_other = watch.mode != "push" and not sub_task.push_refused
        case "follow":
            is_other = watch.mode in ("push", "off") or sub_task.push_refused
        case "off":
            is_other = watch.mode != "off"
        case "any":
            is_other = watch.mode == "off"
        case _ as never:
            assert_never(never)
    return ChangeWatch(watch=wanted) if is_other else None


def _delete_push(sub_task: SubTask) -> DeletePush | None:
    """The push config to delete: all when it has ended (F1) or is parked and not watched by push
    (D1), else those on an old task (C13).
    """
    watch = sub_task.watch
    is_unused = sub_task.is_resolved or (watch is not None and watch.mode != "push")
    for config in sub_task.push_configs:
        if is_unused or config.remote_task_id != sub_task.remote_task_id:
            return DeletePush(config_id=config.config_id, remote_task_id=config.remote_task_id)
    return None


def _watch(sub_task: SubTask, traits: Traits, known: Known) -> Action:
    watch = sub_task.watch
    if watch is not None and watch.mode == "off":
        return Rest()
    if watch is not None and watch.mode == "push" and watch.config_id and watch.token_digest:
        if known.registered == watch.token_digest:
            return AwaitPush(config_id=watch.config_id)
        return RegisterPush(config_id=watch.config_id, token_digest=watch.token_digest)
    if traits.streaming and not (watch is not None and watch.mode == "poll"):
        return Follow(remote_task_id=sub_task.remote_task_id)
    return Poll(remote_task_id=sub_task.remote_task_id)
