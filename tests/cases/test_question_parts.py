"""Questions whole: what they carry besides words, when they come again and when a reply is refused."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import EOF, ERR, EV, HOLD, S, T, data_part, text_part, url_part
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
T1, T2, T3 = "2099-01-01T00:00:00Z", "2099-01-02T00:00:00Z", "2099-01-03T00:00:00Z"


def confirm(row: int, ts: str) -> Any:
    """A task that asks for a confirmation of a call, always in the same words."""
    said = [text_part("Please confirm this call:"), data_part({"call": "delete", "row": row})]
    return T("INPUT_REQUIRED", said, ts=ts)


async def told(harness: Harness, count: int) -> list[str]:
    """What the model was told, once it was told `count` times."""
    notes: list[str] = []
    async with asyncio.timeout(10), aclosing(harness.notifications("p")) as stream:
        async for note in stream:
            notes.append(note.as_text())
            if len(notes) == count:
                break
    return notes


@both
async def test_the_same_words_about_another_call(binding: Any) -> None:
    """E2: another question while parked that differs only in its data is told; an echo is not."""
    async with RawAgent(binding) as agent:
        agent.put(confirm(1, T1))
        agent.on("SendStreamingMessage", [EV(confirm(1, T1)), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen("SubscribeToTask")
            agent.tell(confirm(1, T2))
            agent.tell(confirm(2, T3))
            first, second = await told(harness, 2)
            assert '"row":1' in first
            assert '"row":2' in second


@both
async def test_a_refused_reply_opens_the_whole_question_again(binding: Any) -> None:
    """C12, D16: the question that is open again is told with its parts: the URL to log in at."""
    asked = T("AUTH_REQUIRED", [text_part("Log in:"), url_part("https://login.example/a")], ts=T1)
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.on("SendStreamingMessage", [EV(asked), EOF], ERR(-32602, "not like this"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "done")
            first, second = await told(harness, 2)
            assert "https://login.example/a" in first
            assert "https://login.example/a" in second
            assert "not like this" in second


@both
async def test_a_refused_reply_that_crossed_another_question(binding: Any) -> None:
    """C12, E2: the new question is told with the refusal, and not that the old one is still open."""
    asked = T("INPUT_REQUIRED", "which colour?", ts=T1)
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.on("SubscribeToTask", [EV(asked), HOLD])

        async def refuse(_seen: Seen, reply: Reply) -> None:
            agent.put(T("INPUT_REQUIRED", "which hall?", ts=T2))
            await reply.play([ERR(-32602, "I ask something else by now")])

        agent.on("SendStreamingMessage", [EV(asked), EOF], refuse)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            _, second = await told(harness, 2)
            assert "which hall?" in second
            assert "It had refused the last reply, and gone on without it." in second
            assert "I ask something else by now" in second
            assert "the same question" not in second
            events = await history(harness, row.id)
            assert [e["type"] for e in events][-4:] == ["Parked", "Woken", "Woken", "Parked"]
            assert events[-2]["refusal"].startswith("I ask something else by now (code ")
            assert "reply.refused" in events[-2]["anomalies"]


@both
async def test_a_refused_reply_to_what_has_gone_on(binding: Any) -> None:
    """C12, D15: that a reply was refused when the task works already is in the record."""
    asked = T("AUTH_REQUIRED", "log in", ts=T1)
    before: list[Seen] = []
    refused = asyncio.Event()
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.on("SubscribeToTask", [EV(asked), HOLD])

        async def refuse(_seen: Seen, reply: Reply) -> None:
            agent.put(T("WORKING", ts=T2))
            agent.on("SubscribeToTask")
            before.extend(agent.calls("SubscribeToTask"))
            await reply.play([ERR(-32602, "no messages while working")])
            refused.set()

        agent.on("SendStreamingMessage", [EV(asked), EOF], refuse)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "use the blue account")
            await refused.wait()
            await agent.seen("SubscribeToTask", count=len(before) + 1)
            agent.tell(S("COMPLETED", "done", ts=T3))
            row = await until(harness, row.id, "COMPLETED")
            assert "reply.refused" in row.anomalies
            refusals = [e["refusal"] for e in await history(harness, row.id) if e.get("refusal")]
            assert [one.startswith("no messages while working (") for one in refusals] == [True]
            _, last = await told(harness, 2)
            assert "no messages while working" in last
            assert "It ended as COMPLETED." in last
