"""What an agent's `updates` make of a task that is parked, and of one that works (D1, D9)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
ASKS = [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF]
WATCHING = ("SubscribeToTask", "GetTask", "CreateTaskPushNotificationConfig")


def _parks(agent: RawAgent) -> None:
    agent.on("SendStreamingMessage", ASKS)
    agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
    agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)


@both
@pytest.mark.parametrize("mode", ["auto", "push"])
async def test_what_can_push_does(binding: Any, mode: str) -> None:
    """D1: `auto` and `push` register with an agent whose card says push, and hold no stream."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": {"url": agent.url, "updates": mode}}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", timeout=5)
            assert (await harness.sub_task(row.id)).watch == "push"
            assert len(agent.calls("CreateTaskPushNotificationConfig")) == 1
            assert not agent.calls("SubscribeToTask")


@both
@pytest.mark.parametrize(
    "mode, card_says_push, has_url",
    [("auto", False, True), ("auto", True, False), ("follow", True, True), ("push", False, True)],
    ids=["no push on the card", "no base_url", "follow", "push, and no push on the card"],
)
async def test_what_cannot_push_is_followed(
    binding: Any, mode: str, card_says_push: bool, has_url: bool
) -> None:
    """D1: without push on the card, without `server.base_url`, or with `follow`: a stream is held,
    and nothing is registered.
    """
    async with RawAgent(binding, push=card_says_push) as agent:
        _parks(agent)
        async with locum({"a": {"url": agent.url, "updates": mode}}, push=has_url) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            assert (await harness.sub_task(row.id)).watch == "follow"
            assert not agent.calls("CreateTaskPushNotificationConfig")


@both
async def test_off_leaves_a_question_alone(binding: Any) -> None:
    """D1, D9: with `off` a parked task is asked for nothing, until a reply has it at work again."""

    async def take(seen: Seen, reply: Reply) -> None:
        if seen.text == "count":
            await reply.play(ASKS)
        elif seen.task_id:
            await reply.play([EV(S("WORKING", ts=LATEST)), EOF])
        else:
            await reply.play([EV(T("COMPLETED", id="t2", artifacts=[A("a", "done")])), EOF])

    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        agent.on("SendStreamingMessage", take)
        async with locum({"a": {"url": agent.url, "updates": "off"}}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=5)
            assert row.watch == "off"
            # Whatever watched it would have begun before this one has come and gone.
            other = await harness.spawn("p", agent="a", goal="something else")
            await until(harness, other.id, "COMPLETED")
            assert not [call for method in WATCHING for call in agent.calls(method)]
            agent.on("SubscribeToTask")
            agent.task = T("WORKING", ts=LATEST)
            await harness.reply(row.id, "that one")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.complete("done")
            assert (await until(harness, row.id, "COMPLETED")).text == "done"


@both
async def test_off_follows_what_works_until_it_parks(binding: Any) -> None:
    """D9: with `off` a working task is followed; when it parks, the stream is let go of."""
    async with (
        RawAgent(binding, push=True) as agent,
        locum({"a": {"url": agent.url, "updates": "off"}}, push=True) as harness,
    ):
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask", timeout=5)
        agent.tell(S("INPUT_REQUIRED", "which?", ts=LATER))
        row = await until(harness, row.id, "INPUT_REQUIRED")
        assert row.watch == "off"
        await agent.all_closed(timeout=1)
        assert len(agent.calls("SubscribeToTask")) == 1
        assert not agent.calls("CreateTaskPushNotificationConfig")
        assert await kinds(harness, row.id) == ["Created", "Linked", "Parked"]
