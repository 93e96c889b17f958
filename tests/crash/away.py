"""Stories of an agent that is away when locum starts again: its card cannot be fetched at first.

Everything is taken up when it is back, long before `card_refresh` would look at the card again.
"""

import asyncio

from tests.agents.frames import HOLD, A, S, T
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .stage import KILL, Stage, Story, Telling, story
from .watches import looked, watched, works

STORIES: list[Story] = []
SEND = "SendStreamingMessage"
CREATE = "CreateTaskPushNotificationConfig"
DELETE = "DeleteTaskPushNotificationConfig"


def leaves(at: Stage) -> None:
    """From now on nobody finds the agent's card."""
    at.agent.on("AgentCard", (503, {}, b"away"))


async def returns(at: Stage) -> None:
    """It was looked for at the start and once more since; now it is back."""
    await at.agent.seen("AgentCard", count=3)
    at.agent.on("AgentCard")


@story(STORIES)
async def with_a_brief(at: Stage) -> Telling:
    """I2: a brief in doubt is looked for when the agent is back, and found."""

    async def take(seen: Seen, reply: Reply) -> None:
        at.agent.take(seen.message)
        await reply.hold()

    at.agent.on(SEND, take)
    await at.spawn()
    await at.agent.seen(SEND)
    leaves(at)
    yield KILL
    await returns(at)
    await at.until("WORKING")
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len(at.sends()) == 1


@story(STORIES, updates="follow")
async def with_work(at: Stage) -> Telling:
    """I1: what worked is followed again when the agent is back."""
    await works(at)
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen("SubscribeToTask", count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")


@story(STORIES, agent={"streaming": False})
async def with_work_that_is_polled(at: Stage) -> Telling:
    """I1: the same with an agent that does not stream."""
    await at.spawn()
    await at.until("WORKING")
    leaves(at)
    yield KILL
    await returns(at)
    at.agent.complete("12")
    await at.until("COMPLETED")


@story(STORIES)
async def with_a_question(at: Stage) -> Telling:
    """I1: a push watch is kept, although nobody could be asked for its config at first."""
    await watched(at)
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen("GetTask", count=2)
    await at.agent.all_closed(timeout=5)
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    assert (await at.agent.push()).status == 204
    await at.until("COMPLETED")
    assert len(at.agent.calls(CREATE)) == 1
    assert [event["outcome"] for event in await at.events("PushRevoked")] in ([], ["deleted"])


@story(STORIES)
async def with_a_config_that_was_not_registered(at: Stage) -> Telling:
    """I1: a watch whose config never arrived is made anew when the agent is back."""
    at.agent.on(CREATE, [HOLD])
    await works(at)
    at.agent.tell(S("INPUT_REQUIRED", "which?"))
    await at.agent.seen(CREATE)
    at.agent.on(CREATE)
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen(CREATE, count=2)
    await looked(at)
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    assert (await at.agent.push()).status == 204
    await at.until("COMPLETED")
    await at.told("question", "ended")


@story(STORIES)
async def with_a_reply(at: Stage) -> Telling:
    """I3: a reply is kept while the agent is away, and goes out when it is back."""
    await works(at)
    at.agent.tell(S("INPUT_REQUIRED", "which?"))
    await at.until("INPUT_REQUIRED")
    at.agent.on(SEND, (503, {"Retry-After": "60"}, b"later"))
    await at.reply()
    await at.agent.seen(SEND, count=2)
    at.agent.on(SEND)
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen(SEND, count=3)
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len({seen.message["messageId"] for seen in at.replies()}) == 1


@story(STORIES)
async def with_a_new_reply(at: Stage) -> Telling:
    """I3: a reply to a question can be given while the agent is away."""
    await watched(at)
    leaves(at)
    yield KILL
    await at.reply()
    await returns(at)
    await at.agent.seen(SEND, count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len(at.replies()) == 1


@story(STORIES)
async def with_a_deletion(at: Stage) -> Telling:
    """F1: a push config is deleted when the agent is back."""
    await watched(at)
    at.agent.on(DELETE, [HOLD])
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    assert (await at.agent.push()).status == 204
    await at.agent.seen(DELETE)
    at.agent.on(DELETE)
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen(DELETE, count=2)
    assert (await at.event("PushRevoked"))["outcome"] == "deleted"


@story(STORIES)
async def with_a_deadline(at: Stage) -> Telling:
    """C11: the deadline has passed; within the grace the agent is back and is told."""
    at.agent.on("CancelTask", [HOLD])
    await at.spawn(timeout=0.7)
    await at.agent.seen("CancelTask")
    at.agent.on("CancelTask")
    leaves(at)
    yield KILL
    await returns(at)
    await at.agent.seen("CancelTask", count=2)
    await at.until("FAILED")
    end = await at.event("Resolved")
    assert (end["code"], end["confirmed"]) == ("deadline", True)


@story(STORIES)
async def with_a_cancel(at: Stage) -> Telling:
    """F2: a cancel waits for the agent as long as its grace lasts."""
    await works(at)
    leaves(at)
    yield KILL
    cancelling = asyncio.create_task(at.cancel())
    await returns(at)
    assert (await cancelling)["state"] == "CANCELED"
    assert len(at.agent.calls("CancelTask")) == 1
    assert (await at.event("Resolved"))["confirmed"] is True


@story(STORIES)
async def with_a_cancel_and_for_good(at: Stage) -> Telling:
    """F2: the agent does not come back within the grace: CANCELED all the same, unconfirmed."""
    await works(at)
    leaves(at)
    yield KILL
    assert (await at.cancel())["state"] == "CANCELED"
    assert (await at.event("Resolved"))["confirmed"] is False
    assert not at.agent.calls("CancelTask")
