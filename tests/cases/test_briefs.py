"""What a brief is when it leaves: recorded first, in the form that its agent takes, and no more."""

import json
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from google.protobuf.json_format import MessageToDict

from locum.adapters.a2a.cards.accepting import digest_of
from locum.adapters.a2a.cards.parse import parse_card
from locum.adapters.a2a.extensions import TASK_EXTENSION, TASK_MEDIA_TYPE
from locum.adapters.ordering import keyed_id
from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.foreman import CARD, Foreman
from tests.integration.front import front
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
BRIEF: dict[str, Any] = {
    "goal": "Count the red chairs",
    "name": "chairs",
    "description": "In the hall",
    "acceptance_criteria": ["a number"],
    "model": "large",
    "reasoning_effort": "high",
    "parent_tasks": ["t-parent"],
}
TEXT = "Count the red chairs\n\nIn the hall\n\nAcceptance criteria:\n- a number"
DONE = [EV(T("COMPLETED", artifacts=[A("a", "done")])), EOF]


async def _sent(agent: RawAgent, brief: dict[str, Any]) -> dict[str, Any]:
    """The message that such a brief leaves as."""
    agent.on("SendStreamingMessage", DONE)
    async with locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", **brief)
        await until(harness, row.id, "COMPLETED")
    (seen,) = agent.calls("SendStreamingMessage")
    return dict(seen.message)


@both
async def test_an_agent_that_takes_no_envelope(binding: Any) -> None:
    """C3: without the task extension on the card, one text part and nothing of the parent's."""
    async with RawAgent(binding) as agent:
        message = await _sent(agent, BRIEF)
    assert [part.get("text") for part in message["parts"]] == [TEXT]
    assert not message.get("contextId")
    assert not message.get("extensions")


@both
async def test_an_agent_that_takes_the_envelope(binding: Any) -> None:
    """C3: with the extension on the card the envelope goes beside the text: name, goal, description
    and criteria, and nothing that is for `self` only.
    """
    async with RawAgent(binding, extensions=[TASK_EXTENSION]) as agent:
        message = await _sent(agent, BRIEF)
    words, envelope = message["parts"]
    assert words["text"] == TEXT
    assert envelope["mediaType"] == TASK_MEDIA_TYPE
    assert envelope["data"] == {
        "kind": "task",
        "payload": {
            "name": "chairs",
            "goal": "Count the red chairs",
            "description": "In the hall",
            "acceptance_criteria": [{"text": "a number", "met": False}],
        },
    }
    assert message["extensions"] == [TASK_EXTENSION]
    assert not message.get("contextId")


@both
async def test_the_record_comes_first(binding: Any) -> None:
    """C2: when the agent gets the brief, `Created` is in the log, with the brief's message id and
    the digest of the card that was accepted.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        recorded: list[list[dict[str, Any]]] = []

        async def take(seen: Seen, reply: Reply) -> None:
            recorded.append(await harness.events(keyed_id("p", "k")))
            await reply.play(DONE)

        agent.on("SendStreamingMessage", take)
        row = await harness.spawn("p", agent="a", goal="count", idempotency_key="k")
        await until(harness, row.id, "COMPLETED")
        ((created,),) = recorded
        (sent,) = agent.calls("SendStreamingMessage")
        assert created["type"] == "Created"
        assert created["message_id"] == sent.message["messageId"]
        assert created["card_digest"] == digest_of(parse_card(json.dumps(agent.card)))


class _Listener(Foreman):
    """A foreman who keeps what is said to him."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.heard.append(MessageToDict(context.message))
        await super().execute(context, event_queue)


async def test_the_agent_self_is_told_everything() -> None:
    """C3, A9: `self` gets the full brief: lifecycle, the parent's model and effort, its tasks."""
    executor = _Listener()
    async with front({"card": CARD}, executor=executor) as face:
        row = await face.harness.spawn("p", agent="self", **BRIEF)
        await until(face.harness, row.id, "COMPLETED")
    (message,) = executor.heard
    words, envelope = message["parts"]
    assert words["text"] == TEXT
    assert envelope["data"]["payload"] == {
        "name": "chairs",
        "goal": "Count the red chairs",
        "description": "In the hall",
        "acceptance_criteria": [{"text": "a number", "met": False}],
        "lifecycle": "delegated",
        "model": "large",
        "reasoning_effort": "high",
        "parent_tasks": [{"task_id": "t-parent"}],
    }
