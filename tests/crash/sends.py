"""Stories of a brief: locum is killed between recording it and knowing the task it became."""

import asyncio

from tests.agents.frames import ERR, EV, HOLD, M, S, T
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .stage import FREEZE, KILL, Stage, Story, Telling, story

STORIES: list[Story] = []
SEND = "SendStreamingMessage"


def taking(at: Stage, answer: asyncio.Event | None = None) -> None:
    """The agent takes every message and answers when it may, or never."""

    async def take(seen: Seen, reply: Reply) -> None:
        task = at.agent.take(seen.message)
        await reply.play([HOLD] if answer is None else [answer, EV(task), HOLD])

    at.agent.on(SEND, take)


@story(STORIES, max_calls=1)
async def recorded_and_not_sent(at: Stage) -> Telling:
    """I2: it waited for its turn, and no request has left: not there, so its fate is told."""
    taking(at)
    first = await at.spawn()
    await at.agent.seen(SEND)
    second = await at.spawn()
    yield KILL
    await at.until("WORKING", sub_task=first)
    row = await at.until("FAILED", sub_task=second)
    (end,) = await at.events("Resolved", sub_task=second)
    assert (end["code"], end["delivery"]) == ("delivery.unknown", "unknown")
    assert row["text"] in (await at.told("ended", sub_task=second))[0]["text"]
    at.agent.complete("12")
    await at.until("COMPLETED", sub_task=first)
    assert len(at.sends()) == 1


@story(STORIES, resend="same-id")
async def busy_and_sent_again(at: Stage) -> Telling:
    """I2: the agent had no time for it; where that is allowed, it goes out again."""
    at.agent.on(SEND, (503, {"Retry-After": "30"}, b"later"))
    await at.spawn()
    await at.agent.seen(SEND)
    yield KILL
    at.agent.on(SEND)
    await at.until("WORKING")
    assert len(at.briefs()) == 2
    at.agent.complete("12")
    await at.until("COMPLETED")


@story(STORIES)
async def asked_and_taken(at: Stage) -> Telling:
    """I2: the agent has it and had not said so: it is found there, and was sent once."""
    taking(at)
    await at.spawn(idempotency_key=at.agent_id)
    await at.agent.seen(SEND)
    yield KILL
    # C10: whoever asked lost the answer, too, and asks again.
    assert await at.spawn(idempotency_key=at.agent_id) == at.id
    row = await at.until("WORKING")
    assert row["remote_task_id"] == "t1"
    assert (await at.event("Linked"))["cause"] == "recovery"
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    assert len(at.sends()) == 1
    await at.told("ended")


@story(STORIES)
async def asked_and_lost(at: Stage) -> Telling:
    """I2: the agent does not have it: FAILED, nothing is sent again, and the parent is told once."""
    at.agent.on(SEND, [HOLD])
    await at.spawn()
    await at.agent.seen(SEND)
    yield KILL
    await at.until("FAILED")
    end = await at.event("Resolved")
    assert (end["code"], end["delivery"]) == ("delivery.unknown", "unknown")
    assert at.agent.calls("ListTasks")
    assert len(at.sends()) == 1
    await at.told("ended")


@story(STORIES, resend="same-id")
async def asked_and_lost_and_sent_again(at: Stage) -> Telling:
    """I2: the agent does not have it, and takes a message id twice: it is sent again."""
    at.agent.on(SEND, [HOLD])
    await at.spawn(parts=[{"data": {"b": 1.5, "a": [None, True]}}])
    await at.agent.seen(SEND)
    yield KILL
    at.agent.on(SEND)
    await at.until("WORKING")
    assert len(at.sends()) == 2
    at.agent.complete("12")
    await at.until("COMPLETED")


@story(STORIES)
async def asked_and_not_listable(at: Stage) -> Telling:
    """I2: the agent cannot list its tasks: FAILED, with the reason why nobody knows."""
    taking(at)
    at.agent.on("ListTasks", ERR(-32601, "no such method"))
    await at.spawn()
    await at.agent.seen(SEND)
    yield KILL
    row = await at.until("FAILED")
    assert "could not be asked for it" in row["account"]
    assert (await at.event("Resolved"))["delivery"] == "unknown"
    assert len(at.sends()) == 1


@story(STORIES)
async def asked_and_done_meanwhile(at: Stage) -> Telling:
    """I2: the agent took it and ended it while locum was down: its result is there, told once."""
    taking(at)
    await at.spawn()
    await at.agent.seen(SEND)
    yield KILL
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    assert len(at.sends()) == 1
    await at.told("ended")


@story(STORIES)
async def asked_and_asking_meanwhile(at: Stage) -> Telling:
    """I2: the agent took it and asks: its question is told once, and watched."""
    taking(at)
    await at.spawn()
    await at.agent.seen(SEND)
    at.agent.put(T("INPUT_REQUIRED", "which?", history=at.agent.task["history"]))
    yield KILL
    assert (await at.until("INPUT_REQUIRED"))["text"] == "which?"
    await at.told("question")
    at.agent.on(SEND)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    at.agent.complete("12")
    await at.until("COMPLETED")
    await at.told("question", "ended")


@story(STORIES)
async def answered_and_not_heard(at: Stage) -> Telling:
    """I2: the agent's answer had arrived and was not read: the task is found, and linked once."""
    answer = asyncio.Event()
    taking(at, answer)
    await at.spawn()
    await at.agent.seen(SEND)
    yield FREEZE
    answer.set()
    yield KILL
    await at.until("WORKING")
    await at.event("Linked")
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len(at.sends()) == 1


@story(STORIES)
async def direct_answer_not_heard(at: Stage) -> Telling:
    """I2: a direct answer that was not read is lost with its agent's memory: nobody pretends."""
    answer = asyncio.Event()
    at.agent.on(SEND, [answer, EV(M("12")), HOLD])
    await at.spawn()
    await at.agent.seen(SEND)
    yield FREEZE
    answer.set()
    yield KILL
    await at.until("FAILED")
    assert (await at.event("Resolved"))["code"] == "delivery.unknown"
    assert len(at.sends()) == 1


@story(STORIES)
async def linked_and_still_submitted(at: Stage) -> Telling:
    """I1: the task's id is known, its stream still open: it is followed, and not sent again."""
    task = T("SUBMITTED")
    at.agent.task = task
    at.agent.on(SEND, [EV(task), HOLD])
    await at.spawn()
    await at.event("Linked")
    yield KILL
    await at.agent.seen("SubscribeToTask")
    at.agent.tell(S("WORKING"))
    await at.until("WORKING")
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len(at.sends()) == 1
    await at.event("Linked")
