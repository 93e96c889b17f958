"""Stories of a reply: locum is killed between recording it and knowing what became of it."""

import asyncio

from tests.agents.frames import EOF, ERR, EV, HOLD, A, Json, S, T
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .stage import FREEZE, KILL, Stage, Story, Telling, story

STORIES: list[Story] = []
SEND = "SendStreamingMessage"


async def asking(at: Stage, words: str = "which?") -> None:
    """The agent has asked, and the parent was told."""
    await at.spawn()
    await at.agent.seen("SubscribeToTask")
    at.agent.tell(S("INPUT_REQUIRED", words))
    await at.until("INPUT_REQUIRED")
    await at.told("question")


def taking(at: Stage, answer: asyncio.Event | None = None) -> None:
    """The agent takes the reply and answers when it may, or never."""

    async def take(seen: Seen, reply: Reply) -> None:
        task = at.agent.take(seen.message)
        await reply.play([HOLD] if answer is None else [answer, EV(task), HOLD])

    at.agent.on(SEND, take)


async def done(at: Stage, sends: int = 1) -> None:
    """The agent ends it, after so many requests with one reply in them."""
    await at.until("WORKING")
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    assert len({seen.message["messageId"] for seen in at.replies()}) == 1
    assert len(at.replies()) == sends
    await at.told("question", "ended")


@story(STORIES)
async def not_taken_for_now(at: Stage) -> Telling:
    """I3: the agent had no time for it: the reply is kept, and goes out under the same id."""
    await asking(at)
    at.agent.on(SEND, (503, {"Retry-After": "60"}, b"later"))
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    at.agent.on(SEND)
    await at.agent.seen(SEND, count=3)
    await done(at, sends=2)


@story(STORIES)
async def asked_and_taken(at: Stage) -> Telling:
    """I3: the reply is in the task's history: it is not sent again."""
    await asking(at)
    taking(at)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    await at.agent.seen("SubscribeToTask", count=2)
    await done(at)
    assert any(seen.params.get("historyLength") for seen in at.agent.calls("GetTask"))


@story(STORIES)
async def asked_and_lost(at: Stage) -> Telling:
    """I3: it is not there and the task still asks: it is sent again under the same id."""
    await asking(at)
    at.agent.on(SEND, [HOLD])
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    at.agent.on(SEND)
    await at.agent.seen(SEND, count=3)
    await done(at, sends=2)


@story(STORIES)
async def answered_and_not_heard(at: Stage) -> Telling:
    """I3: the agent's answer had arrived and was not read: the reply is not sent again."""
    answer = asyncio.Event()
    await asking(at)
    taking(at, answer)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield FREEZE
    answer.set()
    yield KILL
    await at.agent.seen("SubscribeToTask", count=2)
    await done(at)


@story(STORIES)
async def answered_and_heard(at: Stage) -> Telling:
    """I3: the reply was delivered, which nobody recorded: it is looked for, and not sent again."""
    await asking(at)
    await at.reply()
    await at.agent.seen("SubscribeToTask", count=2)
    yield KILL
    await at.agent.seen("SubscribeToTask", count=3)
    await done(at)


@story(STORIES)
async def taken_and_ended_meanwhile(at: Stage) -> Telling:
    """I3: the agent took it and ended the task while locum was down: that is its result."""
    await asking(at)
    taking(at)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    at.agent.complete("12")
    assert (await at.until("COMPLETED"))["text"] == "12"
    assert len(at.replies()) == 1
    await at.told("question", "ended")


async def asks_again(at: Stage, history: list[Json]) -> None:
    """The agent has taken the reply and asks something else; what its history shows of it."""
    at.agent.put(T("INPUT_REQUIRED", "and how high?", history=history))
    await at.told("question", "question")
    (first, second) = await at.events("Parked")
    assert (first["text"], second["text"]) == ("which?", "and how high?")
    assert len(at.replies()) == 1
    at.agent.on(SEND)
    await at.reply("two metres")
    await at.agent.seen(SEND, count=3)
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert [seen.text for seen in at.replies()] == ["the red ones", "two metres"]
    await at.told("question", "question", "ended")


@story(STORIES)
async def taken_and_asked_again(at: Stage) -> Telling:
    """I3: the reply is in the history and another question is open: that one is told."""
    await asking(at)
    taking(at)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    await asks_again(at, at.agent.task["history"])


@story(STORIES)
async def taken_and_asked_again_without_a_history(at: Stage) -> Telling:
    """I3: the agent shows no history, but what it asks is another question: nothing answers that."""
    at.agent.on("GetTask", _without_history(at))
    await asking(at)
    taking(at)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    at.agent.put(T("INPUT_REQUIRED", "and how high?"))
    yield KILL
    await asks_again(at, [])


def _without_history(at: Stage) -> object:
    async def get(seen: Seen, reply: Reply) -> None:
        await reply.json({key: x for key, x in at.agent.task.items() if key != "history"})

    return get


@story(STORIES)
async def moved_and_not_heard(at: Stage) -> Telling:
    """C13: the agent had moved the reply to another task: it is found there, not sent again."""
    answer = asyncio.Event()
    await asking(at)

    async def move(seen: Seen, reply: Reply) -> None:
        at.agent.put(T("WORKING", id="t9", history=[seen.message | {"taskId": "t9"}]))
        await reply.play([answer, EV(at.agent.tasks["t9"]), HOLD])

    at.agent.on(SEND, move)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield FREEZE
    answer.set()
    yield KILL
    linked = await at.event("Linked", count=2)
    assert (linked["remote_task_id"], linked["replaces"]) == ("t9", "t1")
    assert len(at.replies()) == 1
    at.agent.put(T("COMPLETED", id="t9", artifacts=[A("a", "12")]))
    assert (await at.until("COMPLETED"))["text"] == "12"
    await at.told("question", "ended")


@story(STORIES)
async def refused_and_not_heard(at: Stage) -> Telling:
    """C12: the agent had refused it: it is sent again, refused again, and told once."""
    answer = asyncio.Event()
    await asking(at)
    at.agent.on(SEND, [answer, ERR(-32602, "not that one")])
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield FREEZE
    answer.set()
    yield KILL
    refused = await at.event("Parked", count=2)
    assert "not that one" in refused["refusal"]
    assert len(at.replies()) == 2
    await at.told("question", "question")
    at.agent.on(SEND)
    await at.reply("the blue ones")
    await at.agent.seen(SEND, count=4)
    at.agent.complete("12")
    await at.until("COMPLETED")
    assert len({seen.message["messageId"] for seen in at.replies()}) == 2


@story(STORIES)
async def cancelled_while_it_waits(at: Stage) -> Telling:
    """F2: a reply that is kept over the restart does not hinder a cancel, which beats it."""
    await asking(at)
    at.agent.on(SEND, (503, {"Retry-After": "60"}, b"later"))
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield KILL
    await at.agent.seen(SEND, count=3)
    assert (await at.cancel())["state"] == "CANCELED"
    assert len(at.replies()) == 2
    assert len(at.agent.calls("CancelTask")) == 1


@story(STORIES, agent={"streaming": False})
async def asked_without_streaming(at: Stage) -> Telling:
    """I3: the same with an agent that does not stream: taken, not sent again."""
    await at.spawn()
    await at.until("WORKING")
    at.agent.put(T("INPUT_REQUIRED", "which?"))
    await at.until("INPUT_REQUIRED")

    async def take(seen: Seen, reply: Reply) -> None:
        at.agent.take(seen.message)
        await reply.play([HOLD])

    at.agent.on("SendMessage", take)
    await at.reply()
    await at.agent.seen("SendMessage", count=2)
    yield KILL
    await done(at)


@story(STORIES)
async def sent_and_ended_at_once(at: Stage) -> Telling:
    """I3: the stream of the reply brings the end while locum is killed: told once."""
    answer = asyncio.Event()
    await asking(at)

    async def take(seen: Seen, reply: Reply) -> None:
        at.agent.take(seen.message)
        await reply.wait(answer)
        at.agent.complete("12")
        await reply.play([EV(at.agent.task), EOF])

    at.agent.on(SEND, take)
    await at.reply()
    await at.agent.seen(SEND, count=2)
    yield FREEZE
    answer.set()
    yield KILL
    assert (await at.until("COMPLETED"))["text"] == "12"
    assert len(at.replies()) == 1
    await at.told("question", "ended")
