"""A remote agent as one step of something larger: a node of a graph, or a tool of a model (G10).

It keeps nothing itself: a node's references go into the graph's state, a tool's into its answer. What
a model reads of the agent's is marked as such (`told_as.py`).
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from a2a.types.a2a_pb2 import Message

from locum.core.errors import ClientError, RemoteCallError
from locum.core.lifecycle import A2AState
from locum.core.report import parts_words

from ..requests import checked_id, checked_text
from ..tool import Tool
from ..values import refusal
from .client import A2AClient
from .result import A2AResult
from .told_as import answer_for, tool_name

__all__ = ["RemoteAgent"]

References = dict[str, str | None]

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "description": "What the agent is to do, or the answer to what it asked. It sees nothing"
            " of this conversation but this text.",
        },
        "task_id": {
            "type": "string",
            "description": "Only to answer what the agent asked: the task_id that came with it.",
        },
        "context_id": {
            "type": "string",
            "description": "Only to go on from an earlier answer: the context_id that came with it.",
        },
    },
    "required": ["message"],
    "additionalProperties": False,
}


class RemoteAgent:
    """The agent at `card_url`; `options` are A2AClient's. Nothing is sent before it is called (G1).

    As a node it is awaited with a state mapping and returns a partial update. It reads its message
    from `state[input_key]` (a text or an a2a Message) and writes its words to `output_key`: the
    result, the question, or for what has failed `FAILED: ` (REJECTED, CANCELED) and the reason. With
    a `result_key` the whole result is written there too, as `A2AResult.as_dict()` gives it.

    Under `state["a2a"][name]` it keeps `{"context_id", "task_id"}` and nothing else. The task id is
    there while the agent waits for an answer, which the next call then is; otherwise it is None and
    the next call starts a task in the same context. The update repeats the references of other
    agents, as a state without a reducer needs it; where several agents run in one step, `a2a` needs
    a reducer that merges, and each agent `keep_others=False`.
    """

    def __init__(
        self,
        name: str,
        description: str,
        card_url: str = "",
        *,
        input_key: str = "input",
        output_key: str = "output",
        result_key: str | None = None,
        keep_others: bool = True,
        **options: Any,
    ) -> None:
        self.name = checked_id("name", name)
        self.description = checked_text("description", description)
        self.client = A2AClient(card_url, name=self.name, **options)
        """What calls the agent, for whatever a node and a tool do not do."""
        self.__name__ = self.name  # What LangGraph calls a node that is given no name.
        self._input_key = input_key
        self._output_key = output_key
        self._result_key = result_key
        self._keep_others = keep_others

    def __repr__(self) -> str:
        return f"<RemoteAgent {self.name!r}: {self.client!r}>"

    # As a node

    async def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The update for `state`. Raises what `A2AClient.send` raises, RequestError for no message."""
        all_known = state.get("a2a") or {}
        known = all_known.get(self.name) or {}
        task_id, context_id = known.get("task_id") or "", known.get("context_id") or ""
        if self._input_key not in state:
            raise refusal(f"state[{self._input_key!r}]", found="nothing", accepted="the message")
        result = await self._ask(state[self._input_key], task_id, context_id)
        waits = result.state is not None and result.state.is_parked
        references: References = {
            "context_id": result.context_id or context_id or None,
            "task_id": result.task_id if waits else None,
        }
        others = dict(all_known) if self._keep_others else {}
        update = {self._output_key: _words(result), "a2a": others | {self.name: references}}
        if self._result_key is not None:
            update[self._result_key] = result.as_dict()
        return update

    def invoke(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The same for code that does not await: a graph that is run with its own `invoke`.

        Raises ClientError `client.running_loop` where an event loop runs: await the agent there.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self(state))
        raise ClientError(
            "An event loop runs here, and waiting would stop it. Await the agent instead.",
            code="client.running_loop",
        )

    # As a tool

    def as_tool(self) -> Tool:
        """The agent as a tool; the model hands back the ids that an answer names to go on."""
        return Tool(
            name=tool_name(self.name),
            description=self.description or f"Asks the agent {self.name}.",
            parameters=_PARAMETERS,
            run=self._run,
        )

    async def _run(self, message: str, task_id: str = "", context_id: str = "") -> str:
        result = await self._ask(message, unquote(task_id), unquote(context_id))
        return answer_for(result, self.name)

    # Inside

    async def _ask(self, message: str | Message, task_id: str, context_id: str) -> A2AResult:
        try:
            return await self._exchange(message, task_id, context_id)
        except RemoteCallError as error:
            if not task_id or error.kind != "refused":
                raise
            ended = await self._ended(task_id, context_id)
            if ended is None:
                raise
            return ended

    async def _exchange(self, message: str | Message, task_id: str, context_id: str) -> A2AResult:
        if self.client.streaming:
            return await self._streamed(message, task_id, context_id)
        # A new task's id is wanted at once, so that a call that is given up can cancel it (G5). The
        # first answer to a reply may still be the old question, so that the agent is waited for.
        return await self.client.send(
            message, task_id=task_id, context_id=context_id, return_immediately=not task_id
        )

    async def _streamed(self, message: str | Message, task_id: str, context_id: str) -> A2AResult:
        result: A2AResult | None = None
        stream = self.client.stream(message, task_id=task_id, context_id=context_id)
        async with stream as updates:
            async for update in updates:
                result = update
        assert result is not None, "a stream without an answer is an error"
        return result

    async def _ended(self, task_id: str, context_id: str) -> A2AResult | None:
        """How the task that refuses an answer has ended meanwhile; None when it has not."""
        try:
            result = await self.client.get_task(task_id)
        except RemoteCallError as error:
            if error.code != "remote.not_found":
                return None
            gone = "The agent does not know the task any more that it had asked about."
            return A2AResult(state=A2AState.FAILED, text=gone, context_id=context_id)
        return result if result.completed or result.failed else None


def _words(result: A2AResult) -> str:
    """The result in one text: never a failure that reads like a success (E7)."""
    if result.failed:
        return f"{result.state}: {result.text or 'the agent gave no reason'}"
    found = [part for artifact in result.artifacts for part in artifact.parts]
    return result.text or parts_words(found)
