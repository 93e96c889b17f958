"""Stories of an end: locum is killed around a result, a cancel and the deletion of a push config."""

import asyncio

from tests.agents.frames import HOLD, A, T
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .stage import FREEZE, KILL, Stage, Story, Telling, story
from .watches import asks, watched, works

STORIES: list[Story] = []
DELETE = "DeleteTaskPushNotificationConfig"


@story(STORIES)
async def end_heard_and_not_completed(at: Stage) -> Telling:
    """I1: the end was on the stream, the GetTask that completes it unanswered: whole, and once."""
    await works(at)
    at.agent.on("GetTask", [HOLD])
    at.agent.complete("12")
    await at.agent.seen("GetTask")
    at.agent.on("GetTask")
    yield KILL
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("ended")


@story(STORIES)
async def end_not_heard(at: Stage) -> Telling:
    """I1: the end had arrived and was not read."""
    await works(at)
    yield FREEZE
    at.agent.complete("12")
    yield KILL
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("ended")


@story(STORIES)
async def end_told(at: Stage) -> Telling:
    """E3: an end that was told before the kill is not told again after it."""
    await works(at)
    at.agent.complete("12")
    await at.told("ended")
    before = len(at.agent.calls())
    yield KILL
    await at.until("COMPLETED")
    await at.told("ended")
    assert len(at.agent.calls()) == before


async def ends(at: Stage) -> None:
    """The agent ends and says so in a push."""
    at.agent.put(T("COMPLETED", artifacts=[A("a", "12")]))
    assert (await at.agent.push()).status == 204
    await at.until("COMPLETED")
    await at.agent.seen(DELETE)


async def revoked(at: Stage, *outcomes: str) -> None:
    """F1: the config is gone, that is recorded once, and its token rings no more."""
    assert (await at.event("PushRevoked"))["outcome"] in outcomes
    assert not at.agent.push_configs
    token = str(at.agent.calls("CreateTaskPushNotificationConfig")[-1].params["token"])
    url = str(at.agent.calls("CreateTaskPushNotificationConfig")[-1].params["url"])
    assert (await at.agent.push(T("COMPLETED"), url=url, token=token)).status == 401
    await at.told("question", "ended")


@story(STORIES)
async def deletion_asked_and_lost(at: Stage) -> Telling:
    """F1: the end is recorded, the config still there: its deletion is done after the start."""
    at.agent.on(DELETE, [HOLD])
    await watched(at)
    await ends(at)
    at.agent.on(DELETE)
    yield KILL
    await at.agent.seen(DELETE, count=2)
    await revoked(at, "deleted")


@story(STORIES)
async def deletion_asked_and_done(at: Stage) -> Telling:
    """F1: the config was deleted, and nobody heard: it is recorded as gone, once."""

    async def delete(seen: Seen, reply: Reply) -> None:
        at.agent.push_configs.clear()
        await reply.hold()

    at.agent.on(DELETE, delete)
    await watched(at)
    await ends(at)
    at.agent.on(DELETE)
    yield KILL
    await revoked(at, "deleted", "gone")


@story(STORIES)
async def deletion_answered_and_not_heard(at: Stage) -> Telling:
    """F1: the agent's answer had arrived and was not read."""
    answer = asyncio.Event()

    async def delete(seen: Seen, reply: Reply) -> None:
        at.agent.push_configs.clear()
        await reply.wait(answer)
        await reply.json(None if reply.binding == "JSONRPC" else {})

    at.agent.on(DELETE, delete)
    await watched(at)
    await ends(at)
    yield FREEZE
    answer.set()
    yield KILL
    await revoked(at, "deleted", "gone")


@story(STORIES)
async def cancel_asked_and_ignored(at: Stage) -> Telling:
    """F2: the cancel was not answered and changed nothing: the work goes on, and can be ended."""
    at.agent.on("CancelTask", [HOLD])
    await works(at)
    cancelling = asyncio.create_task(at.cancel())
    await at.agent.seen("CancelTask")
    at.agent.on("CancelTask")
    yield KILL
    (lost,) = await asyncio.gather(cancelling, return_exceptions=True)
    assert isinstance(lost, Exception)
    await at.agent.seen("SubscribeToTask", count=2)
    assert (await at.until("WORKING"))["version"] == 2
    assert (await at.cancel())["state"] == "CANCELED"
    await at.told("ended")


@story(STORIES)
async def cancel_asked_and_done(at: Stage) -> Telling:
    """F2: the agent ended the task and nobody heard: CANCELED, as the agent says, told once."""

    async def cancel(seen: Seen, reply: Reply) -> None:
        at.agent.put(T("CANCELED"))
        await reply.hold()

    at.agent.on("CancelTask", cancel)
    await works(at)
    cancelling = asyncio.create_task(at.cancel())
    await at.agent.seen("CancelTask")
    yield KILL
    await asyncio.gather(cancelling, return_exceptions=True)
    await at.until("CANCELED")
    assert (await at.event("Resolved"))["confirmed"] is True
    await at.told("ended")


@story(STORIES)
async def cancel_answered_and_not_heard(at: Stage) -> Telling:
    """F2: the agent's answer had arrived and was not read; its push config is gone, too."""
    answer = asyncio.Event()

    async def cancel(seen: Seen, reply: Reply) -> None:
        at.agent.put(T("CANCELED"))
        await reply.play([answer, at.agent.task])

    at.agent.on("CancelTask", cancel)
    await watched(at)
    cancelling = asyncio.create_task(at.cancel())
    await at.agent.seen("CancelTask")
    yield FREEZE
    answer.set()
    yield KILL
    await asyncio.gather(cancelling, return_exceptions=True)
    await at.until("CANCELED")
    await revoked(at, "deleted")


@story(STORIES)
async def cancel_of_what_was_done(at: Stage) -> Telling:
    """F2: it was done when the cancel came, and locum was killed over it: the result counts."""
    at.agent.on("CancelTask", [HOLD])
    await works(at)
    cancelling = asyncio.create_task(at.cancel())
    await at.agent.seen("CancelTask")
    yield KILL
    at.agent.complete("12")
    await asyncio.gather(cancelling, return_exceptions=True)
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("ended")


@story(STORIES)
async def deadline_asked_and_ignored(at: Stage) -> Telling:
    """C11: killed while it cancelled for the deadline: it does so again, and fails once."""
    at.agent.on("CancelTask", [HOLD])
    await at.spawn(timeout=0.7)
    await at.agent.seen("CancelTask")
    at.agent.on("CancelTask")
    yield KILL
    await at.until("FAILED")
    end = await at.event("Resolved")
    assert (end["code"], end["cause"], end["confirmed"]) == ("deadline", "deadline", True)
    assert len(at.agent.calls("CancelTask")) == 2
    await at.told("ended")


@story(STORIES, updates="follow")
async def two_at_one_agent(at: Stage) -> Telling:
    """I1: two sub-tasks at one agent are taken up each by itself; the ends are not mixed up."""
    await asks(at)
    other = await at.spawn()
    await at.agent.seen("SubscribeToTask", count=2)
    yield KILL
    await at.agent.seen("SubscribeToTask", count=4)
    at.agent.complete("fourteen", task="t2")
    row = await at.until("COMPLETED", sub_task=other)
    assert row["text"] == "fourteen"
    assert (await at.until("INPUT_REQUIRED"))["text"] == "which?"
    at.agent.complete("twelve")
    assert (await at.until("COMPLETED"))["text"] == "twelve"
    await at.told("question", "ended")
    await at.told("ended", sub_task=other)
