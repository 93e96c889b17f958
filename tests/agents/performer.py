"""Performs a script as an a2a-sdk AgentExecutor. Knows nothing of HTTP."""

import asyncio
import base64
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from a2a.helpers.proto_helpers import get_message_text, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import CancelTaskRequest, Message, Part, Role, Task, TaskState
from a2a.utils.errors import TaskNotCancelableError
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value

from .script import Script, ScriptError, Statement, Word

__all__ = ["Gates", "LawfulHandler", "Performer"]

_STATES = {
    "submit": TaskState.TASK_STATE_SUBMITTED,
    "work": TaskState.TASK_STATE_WORKING,
    "ask": TaskState.TASK_STATE_INPUT_REQUIRED,
    "auth": TaskState.TASK_STATE_AUTH_REQUIRED,
    "complete": TaskState.TASK_STATE_COMPLETED,
    "fail": TaskState.TASK_STATE_FAILED,
    "reject": TaskState.TASK_STATE_REJECTED,
    "cancel": TaskState.TASK_STATE_CANCELED,
}
_ENDS = frozenset({"complete", "fail", "reject", "cancel", "message"})


class Gates:
    """Named gates that scripts wait at. A gate that was released stays open."""

    def __init__(self) -> None:
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.waiting: defaultdict[str, int] = defaultdict(int)
        """How many scripts wait at each gate."""
        self.changed = asyncio.Event()
        """Set when somebody came to a gate; whoever awaits it clears it first."""

    def release(self, name: str) -> None:
        """Let through all who wait at `name`, now and later."""
        self._gates[name].set()

    def close(self) -> None:
        """Close all gates for those who come from now on; who waits already may be released."""
        for name, gate in list(self._gates.items()):
            if gate.is_set():
                del self._gates[name]

    async def wait(self, name: str) -> None:
        """Wait until `name` is released."""
        self.waiting[name] += 1
        self.changed.set()
        try:
            await self._gates[name].wait()
        finally:
            self.waiting[name] -= 1


class Performer(AgentExecutor):
    """Does what the script in the task's first message says.

    It keeps nothing of a task itself: where a reply goes on is read from the task's history, so
    that an agent with a lasting store can be restarted in between.
    """

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """One turn: from the brief, or from the reply, to the next question or the end."""
        message, task_id, context_id = context.message, context.task_id, context.context_id
        assert message is not None
        assert task_id is not None
        assert context_id is not None
        task = context.current_task
        if task is not None:
            context_id = (
                task.context_id
            )  # The SDK makes one up for a reply that names only its task.
        earlier = [one for one in _asked(task) if one.message_id != message.message_id]
        brief = earlier[0] if earlier else message
        turn = _Turn(event_queue, task_id, context_id, self._gates)
        try:
            script = Script.found_in(get_message_text(brief))
            statements = script.after(len(earlier))
        except ScriptError as wrong:
            script = Script((), "")
            statements = (Statement("reject", (f"bad script: {wrong}",)),)
        if task is None and not (statements and statements[0].verb == "message"):
            await event_queue.enqueue_event(new_task_from_user_message(message))
        names = {
            "reply": get_message_text(message),
            "text": script.text,
            "task": task_id,
            "context": context_id,
        }
        for statement in statements:
            if await turn.perform(statement.filled(names)):
                return

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """What the script's `on-cancel` says; `refuse` never comes this far (LawfulHandler)."""
        task_id, context_id = context.task_id, context.context_id
        assert task_id is not None
        assert context_id is not None
        turn = _Turn(event_queue, task_id, context_id, self._gates)
        how, *rest = _on_cancel(context.current_task).args
        if how == "wait":
            await self._gates.wait(rest[0])
        verb = str(how) if how in ("complete", "fail") else "cancel"
        if verb == "complete" and rest:
            await turn.perform(Statement("artifact", (Word("late"), *rest)))
            rest = []
        await turn.perform(Statement(verb, tuple(rest) if verb == "fail" else ()))


class LawfulHandler(DefaultRequestHandlerV2):
    """The SDK's own request handler, but for a task whose script refuses to be cancelled.

    The SDK marks a task FAILED when its executor refuses, so the refusal is said before that.
    """

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """The cancelled task, or TaskNotCancelableError."""
        stored = await self._versioned_store.get(params.id, context)
        if stored is not None and _on_cancel(stored.task).args[0] == "refuse":
            raise TaskNotCancelableError
        task: Task = await super().on_cancel_task(params, context)
        return task


class _Turn:
    """Publishes the statements of one turn of one task."""

    def __init__(self, queue: EventQueue, task_id: str, context_id: str, gates: Gates) -> None:
        self._queue = queue
        self._update = TaskUpdater(queue, task_id, context_id)
        self._gates = gates
        self._metadata: dict[str, Any] | None = None

    async def perform(self, statement: Statement) -> bool:
        """Do one statement; True when the turn is over with it."""
        args = statement.args
        match statement.verb:
            case "artifact" | "append":
                await self._artifact(statement)
            case "meta":
                self._metadata = args[0]
            case "message":
                await self._queue.enqueue_event(self._message(list(_parts(args))))
            case "hang":
                await asyncio.Event().wait()
            case "wait":
                await self._gates.wait(args[0])
            case "sleep":
                await asyncio.sleep(float(args[0]))
            case "raise":
                raise RuntimeError(" ".join(map(str, args)) or "the script raises")
            case "on-cancel":
                pass  # Read when a CancelTask comes.
            case "auth" if not statement.waits_for_message:
                await self._authorise(statement)
            case verb:
                await self._status(verb, args)
        return statement.verb in _ENDS or statement.waits_for_message

    async def _status(self, verb: str, args: tuple[Any, ...]) -> None:
        parts = list(_parts(args))
        metadata, self._metadata = self._metadata, None
        message = self._message(parts) if parts else None
        await self._update.update_status(_STATES[verb], message, metadata=metadata)

    async def _authorise(self, statement: Statement) -> None:
        """AUTH_REQUIRED that clears without a message, then WORKING again."""
        *says, how, limit = statement.args
        await self._status("auth", tuple(says))
        if how == "until":
            await self._gates.wait(limit)
        else:
            await asyncio.sleep(float(limit))
        await self._status("work", ())

    async def _artifact(self, statement: Statement) -> None:
        artifact_id, *rest = statement.args
        last = bool(rest) and rest[-1] == "last" and isinstance(rest[-1], Word)
        metadata, self._metadata = self._metadata, None
        await self._update.add_artifact(
            list(_parts(tuple(rest[:-1] if last else rest))),
            artifact_id=str(artifact_id),
            append=True if statement.verb == "append" else None,
            last_chunk=True if last else None,
            metadata=metadata,
        )

    def _message(self, parts: list[Part]) -> Message:
        return self._update.new_agent_message(parts)


def _asked(task: Task | None) -> list[Message]:
    """The client's messages in a task, in order."""
    return [] if task is None else [m for m in task.history if m.role == Role.ROLE_USER]


def _on_cancel(task: Task | None) -> Statement:
    asked = _asked(task)
    try:
        script = Script.found_in(get_message_text(asked[0]) if asked else "")
    except ScriptError:
        script = Script((), "")
    return script.on_cancel()


def _parts(args: tuple[Any, ...]) -> Iterator[Part]:
    """The parts that arguments stand for: see README.md."""
    left = list(args)
    while left:
        arg = left.pop(0)
        if isinstance(arg, Word) and arg == "raw":
            filename, media_type, content = left.pop(0), left.pop(0), left.pop(0)
            yield Part(raw=_bytes(content), filename=filename, media_type=media_type)
        elif isinstance(arg, Word) and arg == "url":
            url, filename, media_type = left.pop(0), left.pop(0), left.pop(0)
            yield Part(url=url, filename=filename, media_type=media_type)
        elif isinstance(arg, Word) and arg == "data":
            value = left.pop(0)
            yield _data(json.loads(value) if isinstance(value, Word) else value)
        elif isinstance(arg, str):
            yield Part(text=arg)
        else:
            yield _data(arg)


def _data(value: Any) -> Part:
    return Part(data=ParseDict(value, Value()), media_type="application/json")


def _bytes(content: str) -> bytes:
    kind, _, encoded = content.partition(":")
    return base64.b64decode(encoded) if kind == "base64" else content.encode()
