"""A reply that an agent refuses, where it is not clear what the refusal is about (C12, I3)."""

from itertools import count

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, RST, A, Binding, Frame, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
streaming_or_not = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "asking"])
REFUSED = ERR(-32602, "no such colour")


@both
@streaming_or_not
async def test_a_question_that_is_made_anew_at_each_look(binding: Binding, streaming: bool) -> None:
    """C12: under another message id and a newer time, it is open again and no other one."""
    numbers = count(1)

    def asks() -> Frame:
        number = next(numbers)
        asked = T("INPUT_REQUIRED", "which?", ts=f"2099-01-01T00:{number:02}:00Z")
        asked["status"]["message"]["messageId"] = f"m{number}"
        return asked

    async with RawAgent(binding, streaming=streaming) as agent:

        async def send(seen: Seen, reply: Reply) -> None:
            if seen.task_id:
                await reply.play([REFUSED])
            else:
                agent.put(asks())
                await (reply.play([EV(agent.task), EOF]) if streaming else reply.json(agent.task))

        async def get(seen: Seen, reply: Reply) -> None:
            await reply.json(asks())

        agent.on("SendStreamingMessage" if streaming else "SendMessage", send)
        agent.on("GetTask", get)
        async with locum({"a": {"url": agent.url, "updates": "off"}}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "mauve", question=row.version)
            await agent.seen("GetTask")
            again = await until(harness, row.id, "INPUT_REQUIRED")
            parked = (await history(harness, row.id))[-1]
            assert (parked["type"], parked["question"]) == ("Parked", row.version)
            assert "no such colour" in parked["refusal"]
            await harness.reply(again.id, "red", question=row.version)


@both
async def test_a_copy_that_is_refused_after_one_that_was_taken(binding: Binding) -> None:
    """I3, C12: an agent that takes a message once had taken it: nobody is told of a refusal."""
    async with RawAgent(binding) as agent:

        async def once(seen: Seen, reply: Reply) -> None:
            agent.on("SendStreamingMessage", again)
            await reply.play([RST])

        async def again(seen: Seen, reply: Reply) -> None:
            agent.on("GetTask", begun)
            await reply.play([ERR(-32602, "this message was taken before")])

        async def begun(seen: Seen, reply: Reply) -> None:
            # It begins only after the first look.
            if len(agent.calls("GetTask")) > looks + 1:
                agent.on("GetTask")
                agent.tell(S("WORKING", "painting", ts="2099-01-02T00:00:00Z"))
            await reply.json(agent.task)

        agent.task = T("INPUT_REQUIRED", "which?", ts="2099-01-01T00:00:00Z")
        agent.on("SendStreamingMessage", [EV(agent.task), EOF], once)
        agent.on("SubscribeToTask", [EV(agent.task), HOLD])
        standin = {"quiet_check": "30s"}
        async with locum({"a": agent.url}, standin=standin) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            await harness.settled(row.id, timeout=10)
            looks = len(agent.calls("GetTask"))
            agent.on("SubscribeToTask")
            await harness.reply(row.id, "blue")
            await agent.seen("SendStreamingMessage", count=3, timeout=20)
            await agent.until(lambda: agent.task["status"]["state"].endswith("WORKING"), timeout=20)
            agent.put(T("COMPLETED", artifacts=[A("a", "painted")], ts="2099-01-03T00:00:00Z"))
            assert (await until(harness, row.id, "COMPLETED", timeout=40)).text == "painted"
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "ended"]
            assert not any(event.get("refusal") for event in await history(harness, row.id))


@both
async def test_a_copy_that_is_refused_and_none_was_taken(binding: Binding) -> None:
    """I3, C12: where the task goes on asking as before, the refusal is what it says."""
    async with RawAgent(binding) as agent:
        agent.task = T("INPUT_REQUIRED", "which?", ts="2099-01-01T00:00:00Z")
        agent.on("SendStreamingMessage", [EV(agent.task), EOF], [RST], [REFUSED])
        async with locum({"a": {"url": agent.url, "updates": "off"}}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "mauve")
            await agent.seen("SendStreamingMessage", count=3, timeout=20)
            await until(harness, row.id, "INPUT_REQUIRED", timeout=20)
            parked = (await history(harness, row.id))[-1]
            assert parked["question"] == row.version
            assert "no such colour" in parked["refusal"]
