"""C7's table: what an agent answers to a brief and to a reply, and what becomes of each.

Every row is played in both bindings, all rows of a kind at once at one harness.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, Binding, M, S
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until
from tests.loops import Refusals

Script = Any
SEND = "SendStreamingMessage"

REFUSED: dict[str, Script] = {
    "an error of the agent's": ERR(-32602, "not this"),
    "an internal error": ERR(-32603, "not this"),
    "no such extension": ERR(-32008, "not this"),
    "another version": ERR(-32009, "not this"),
    "a bad request": (400, {}, b"not this"),
    "no credential": (401, {"WWW-Authenticate": "Bearer not this"}, b""),
    "not allowed": (403, {}, b"not this"),
    "no such place": (404, {}, b"not this"),
    "a redirect": (302, {"Location": "http://127.0.0.1:1/not-this"}, b""),
    "an error on the stream": [EV(ERR(-32602, "not this")), EOF],
}
TRANSIENT: dict[str, Script] = {
    "too many": (429, {"Retry-After": "1"}, b"later"),
    "too many, no time": (429, {}, b"later"),
    "too early": (425, {}, b"later"),
    "busy": (503, {"Retry-After": "1"}, b"later"),
    "busy, in HTML": (503, {"Content-Type": "text/html"}, b"<p>later</p>"),
}
IN_DOUBT: dict[str, Script] = {
    "reset": [RST],
    "closed": [CUT],
    "no answer in time": [HOLD],
    "an empty stream": [b": nothing\n\n", EOF],
    "a stream that is cut": [b": nothing\n\n", CUT],
    "an empty event": [b"data:\n\n", EOF],
    "half an event": [b'data: {"jsonrpc": "2.0", "resu', CUT],
    "no answer at all": (200, {"Content-Type": "application/json"}, b""),
    "rubbish": (200, {"Content-Type": "application/json"}, b"<html>"),
    "a bad gateway": (502, {}, b"<p>gateway</p>"),
    "a gateway that waited": (504, {}, b"<p>gateway</p>"),
    "a failure": (500, {}, b"oops"),
}


@pytest.fixture
async def refusals(monkeypatch: pytest.MonkeyPatch) -> Refusals:
    """The connections of this test that nobody took."""
    return Refusals(monkeypatch)


class Row:
    """One row of the table in one binding: its agent, and the answer that it is about."""

    def __init__(self, harness: Harness, agent: RawAgent, agent_id: str, fault: Script) -> None:
        self.harness = harness
        self.agent = agent
        self.agent_id = agent_id
        self.fault = fault

    def answers(self, *, times: int = 1, takes: bool) -> None:
        """The next messages are answered with the fault; whether the agent `takes` them, too."""
        steps = self.fault if isinstance(self.fault, list) else [self.fault]

        async def fault(seen: Seen, reply: Reply) -> None:
            if takes:
                self.agent.take(seen.message)
            await reply.play(steps)

        self.agent.on(SEND, *[fault] * times, self.agent.answer)

    async def spawn(self) -> str:
        """Hand out work; its id."""
        return (await self.harness.spawn("p", agent=self.agent_id, goal="count")).id

    async def asks(self) -> str:
        """A sub-task whose agent has asked; its id."""
        key = await self.spawn()
        await self.harness.linked(key, timeout=10)
        await self.agent.seen("SubscribeToTask")
        self.agent.tell(S("INPUT_REQUIRED", "which?"))
        await until(self.harness, key, "INPUT_REQUIRED")
        return key

    async def reply(self, key: str) -> None:
        """Answer its question."""
        await self.harness.reply(key, "the red ones")

    async def ends(self, key: str) -> None:
        """The agent ends it, and the harness hears."""
        self.agent.complete("12")
        assert (await until(self.harness, key, "COMPLETED")).text == "12"

    async def resolved(self, key: str) -> Mapping[str, Any]:
        """The only Resolved of it."""
        (end,) = [e for e in await self.harness.events(key) if e["type"] == "Resolved"]
        return end

    async def told(self, key: str) -> list[str]:
        """What the parent was told of it."""
        notes, _ = await self.harness.notes("p", limit=1000)
        return [note.kind for note in notes if note.sub_task_id == key]

    def sent(self, count: int, *, replies: bool = False) -> None:
        """So many requests with a message, which is one message: C7."""
        sends = [s for s in self.agent.calls(SEND) if bool(s.message.get("taskId")) is replies]
        assert len(sends) == count
        assert len({repr(seen.message) for seen in sends}) == 1


async def play(
    faults: Mapping[str, Script],
    tell: Callable[[Row], Awaitable[None]],
    *,
    send_timeout: str = "2s",
    **agent: Any,
) -> None:
    """Tell the same story of each row in each binding; every row that failed is named."""
    bindings: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")
    rows = {
        f"{name}, {binding}": (fault, binding)
        for name, fault in faults.items()
        for binding in bindings
    }
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(RawAgent(binding)) for _, binding in rows.values()
        ]
        tables = {f"a{i}": {"url": one.url, **agent} for i, one in enumerate(agents)}
        harness = await stack.enter_async_context(
            locum(tables, standin={"send_timeout": send_timeout, "retry_first": "200ms"})
        )
        stories = (
            tell(Row(harness, one, f"a{i}", fault))
            for i, (one, (fault, _)) in enumerate(zip(agents, rows.values(), strict=True))
        )
        ended = await asyncio.gather(*stories, return_exceptions=True)
    failed = []
    for name, error in zip(rows, ended, strict=True):
        if isinstance(error, Exception):
            error.add_note(f"the row: {name}")
            failed.append(error)
    if failed:
        raise ExceptionGroup("rows of the table", failed)


async def test_a_brief_that_is_refused() -> None:
    """C7: FAILED at once with the agent's own words; sent once, and looked for nowhere."""

    async def tell(row: Row) -> None:
        row.answers(takes=False)
        key = await row.spawn()
        assert "not" in (await until(row.harness, key, "FAILED")).text
        end = await row.resolved(key)
        assert end["delivery"] == "refused"
        assert end["code"].startswith("remote.")
        row.sent(1)
        assert not row.agent.calls("ListTasks")
        assert await row.told(key) == ["ended"]

    await play(REFUSED, tell)


async def test_a_brief_that_was_not_read() -> None:
    """C7: sent again under the same id, not before the agent's time, until it is taken."""

    async def tell(row: Row) -> None:
        row.answers(times=2, takes=False)
        key = await row.spawn()
        await row.harness.linked(key, timeout=10)
        row.sent(3)
        first, second, _ = row.agent.calls(SEND)
        if isinstance(row.fault, tuple) and "Retry-After" in row.fault[1]:
            # Not how fast it is: to have waited for what the agent asked for is the rule.
            assert second.at - first.at >= 1
        assert not row.agent.calls("ListTasks")
        await row.ends(key)

    await play(TRANSIENT, tell, send_timeout="20s")


async def test_a_brief_that_is_never_read() -> None:
    """C7: past `send_timeout` it has failed, with the agent's last words; never looked for."""

    async def tell(row: Row) -> None:
        row.answers(times=100, takes=False)
        key = await row.spawn()
        await until(row.harness, key, "FAILED")
        end = await row.resolved(key)
        assert (end["code"], end["delivery"]) == ("remote.busy", "refused")
        assert len({s.message["messageId"] for s in row.agent.calls(SEND)}) == 1
        assert await row.told(key) == ["ended"]

    await play(TRANSIENT, tell)


async def test_a_brief_to_somebody_who_wants_much_time() -> None:
    """C7: the agent's time is later than a send may take: it has failed, and was not sent again."""

    async def tell(row: Row) -> None:
        row.answers(times=100, takes=False)
        key = await row.spawn()
        assert "later" in (await until(row.harness, key, "FAILED")).text
        row.sent(1)

    await play({"an hour": (429, {"Retry-After": "3600"}, b"later")}, tell)


async def test_a_brief_to_nobody(refusals: Refusals) -> None:
    """C7: no connection: it goes out under its id when the agent is there again."""

    async def tell(row: Row) -> None:
        await row.agent.stop_listening()
        key = await row.spawn()
        await refusals.seen(row.agent.port, 3)
        await row.agent.listen_again()
        await row.harness.linked(key, timeout=10)
        row.sent(1)
        await row.ends(key)

    await play({"no connection": []}, tell)


async def test_a_brief_in_doubt_that_arrived() -> None:
    """C7: looked for, found and followed; sent once, however it was answered."""

    async def tell(row: Row) -> None:
        row.answers(takes=True)
        key = await row.spawn()
        assert (await row.harness.linked(key, timeout=10)).remote_task_id == "t1"
        row.sent(1)
        assert row.agent.calls("ListTasks")
        await row.ends(key)
        assert await row.told(key) == ["ended"]

    await play(IN_DOUBT, tell)


async def test_a_brief_in_doubt_that_did_not_arrive() -> None:
    """I2: looked for and not there: FAILED, its fate unknown; not sent again."""

    async def tell(row: Row) -> None:
        row.answers(takes=False)
        key = await row.spawn()
        await until(row.harness, key, "FAILED")
        end = await row.resolved(key)
        assert (end["code"], end["delivery"]) == ("delivery.unknown", "unknown")
        row.sent(1)

    await play(IN_DOUBT, tell)


async def test_a_brief_in_doubt_that_may_be_sent_again() -> None:
    """I2: looked for and not there: sent again, byte for byte the same message."""

    async def tell(row: Row) -> None:
        row.answers(takes=False)
        key = await row.spawn()
        await row.harness.linked(key, timeout=10)
        row.sent(2)
        await row.ends(key)

    await play(IN_DOUBT, tell, resend="same-id")


async def test_a_reply_that_is_refused() -> None:
    """C12: the question is open again, the refusal in the record, and the parent is told."""

    async def tell(row: Row) -> None:
        key = await row.asks()
        row.answers(takes=False)
        await row.reply(key)
        row_again = await until(row.harness, key, "INPUT_REQUIRED")
        *_, again = [e for e in await row.harness.events(key) if e["type"] == "Parked"]
        assert "not" in again["refusal"]
        assert (again["question"], row_again.text) == (3, "which?")
        row.sent(1, replies=True)
        assert await row.told(key) == ["question", "question"]
        row.agent.on(SEND)
        await row.reply(key)
        await row.agent.seen(SEND, count=3)
        await row.ends(key)

    await play(REFUSED, tell)


async def test_a_reply_that_was_not_read() -> None:
    """I3: kept, and sent again under the same id for as long as it takes."""

    async def tell(row: Row) -> None:
        key = await row.asks()
        row.answers(times=2, takes=False)
        await row.reply(key)
        await row.agent.seen(SEND, count=4, timeout=10)
        row.sent(3, replies=True)
        await row.ends(key)
        assert await row.told(key) == ["question", "ended"]

    await play(TRANSIENT, tell)


async def test_a_reply_to_nobody(refusals: Refusals) -> None:
    """I3: no connection, longer than a send may take: kept, and sent when the agent is there."""

    async def tell(row: Row) -> None:
        key = await row.asks()
        await row.agent.stop_listening()
        await row.reply(key)
        # After 0.2, 0.4, 0.8 and 1.6 s, which is more than the 2 s that a send may take.
        await refusals.seen(row.agent.port, 5)
        assert (await row.harness.sub_task(key)).state == "WORKING"
        await row.agent.listen_again()
        await row.agent.seen(SEND, count=2, timeout=10)
        row.sent(1, replies=True)
        await row.ends(key)

    await play({"no connection": []}, tell)


async def test_a_reply_in_doubt_that_arrived() -> None:
    """I3: it is in the task's history: not sent again."""

    async def tell(row: Row) -> None:
        key = await row.asks()
        row.answers(takes=True)
        await row.reply(key)
        await row.agent.seen(SEND, count=2)
        await row.agent.seen("GetTask", timeout=10)
        await row.ends(key)
        row.sent(1, replies=True)
        assert await row.told(key) == ["question", "ended"]

    await play(IN_DOUBT, tell)


async def test_a_reply_in_doubt_that_did_not_arrive() -> None:
    """I3: it is not there, and the task still asks: sent again under the same id."""

    async def tell(row: Row) -> None:
        key = await row.asks()
        row.answers(takes=False)
        await row.reply(key)
        await row.agent.seen(SEND, count=3, timeout=10)
        await row.ends(key)
        row.sent(2, replies=True)
        assert await row.told(key) == ["question", "ended"]

    await play(IN_DOUBT, tell)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_slow_answer_is_no_failure(binding: Any) -> None:
    """C7: the agent has it and says nothing more for longer than a send may take: it is watched."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(agent.task), HOLD])
        options = {"send_timeout": "300ms", "quiet_check": "300ms"}
        async with locum({"a": agent.url}, standin=options) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("GetTask", count=3, timeout=10)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.complete("12")
            await until(harness, row.id, "COMPLETED")
            assert len(agent.calls(SEND)) == 1


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_words_and_then_a_break(binding: Any) -> None:
    """C5: a direct answer counts, whatever becomes of the connection after it."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(M("twelve")), CUT])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, "COMPLETED")).text == "twelve"
            assert len(agent.calls(SEND)) == 1
