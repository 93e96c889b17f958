"""Ends that the agent forgets, replies that move or get lost, and what is heard of them."""

import asyncio
from pathlib import Path

import pytest

from locum.adapters import Harness
from locum.adapters.a2a import card_keeper
from tests.agents.frames import EOF, ERR, EV, HOLD, RST, A, Binding, M, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, settings_for, until

LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
@pytest.mark.parametrize("end, words", [("COMPLETED", None), ("FAILED", "the disk is full")])
async def test_an_end_that_the_agent_forgets(binding: Binding, end: str, words: str | None) -> None:
    """K5, D12, E7: an end that was heard live counts, though GetTask knows the task no more.

    The looks that were to complete it were taken for two looks for a task that is gone.
    """
    async with RawAgent(binding) as agent:

        async def told(seen: Seen, reply: Reply) -> None:
            await reply.event(T("WORKING"))
            await reply.event(A("a", "12 red chairs"))
            agent.on("GetTask", ERR(-32001, "Task not found"))
            await reply.event(S(end, words))
            await reply.eof()

        agent.on("SubscribeToTask", told)
        recheck = {"push_recheck": ["0.5s", "1s", "1s"]}
        async with locum({"a": agent.url}, standin=recheck) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED", "FAILED")
            assert (row.state, row.text) == (end, words or "12 red chairs")


@both
async def test_not_found_after_another_refusal(binding: Binding) -> None:
    """D10: one "not found" after a 401 is the first of its kind, and no end."""
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.on(
            "GetTask",
            (401, {}, b"token expired"),
            ERR(-32001, "no such task"),
            T("COMPLETED", artifacts=[A("a", "done")]),
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED", "FAILED")
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_a_search_that_is_refused(binding: Binding) -> None:
    """I3, C12: the agent has the reply, its answer was lost, and GetTask is refused for a while:
    that is no refusal of the reply.
    """
    asked = T("INPUT_REQUIRED", "which?", ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.on("SendStreamingMessage", [EV(asked), EOF], [RST])
        agent.on("SubscribeToTask", [EV(asked), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            ended = T("COMPLETED", "five", ts=LATEST)
            agent.on("SubscribeToTask")
            agent.on("GetTask", ERR(-32603, "hiccup"), ERR(-32603, "hiccup"), ended)
            await harness.reply(row.id, "red")
            await until(harness, row.id, "COMPLETED")
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "ended"]
            assert len(agent.calls("SendStreamingMessage")) == 2


@both
@pytest.mark.parametrize("text", ["Red: 5", "Nothing"])
async def test_the_result_of_another_task(binding: Binding, text: str) -> None:
    """C13, D12: a reply that is answered by another task has that task's result, and nothing of
    what the one before had made so far.
    """
    drafts = [A("a", "Red: 5, blue: 7 (draft)"), A("n", "notes")]
    old = T("INPUT_REQUIRED", "which?", artifacts=drafts, ts=LATER)
    new = T("COMPLETED", id="t2", artifacts=[A("a", text, task="t2")], ts=LATEST)
    async with RawAgent(binding) as agent:
        agent.put(old)
        agent.put(new)
        agent.on("SendStreamingMessage", [EV(old), EOF], [EV(new), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.remote_task_id, row.text) == ("t2", text)


@both
async def test_a_reply_that_a_message_answers(binding: Binding) -> None:
    """D12: a Message of a task that is over with it is the task's word, when it has no other."""
    asked = T("INPUT_REQUIRED", "which?", ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(asked)

        async def answer(seen: Seen, reply: Reply) -> None:
            agent.put(T("COMPLETED", ts=LATEST))
            await reply.play([EV(M("there are 12", task="t1", context="c1")), EOF])

        agent.on("SendStreamingMessage", [EV(asked), EOF], answer)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            assert (await until(harness, row.id, "COMPLETED")).text == "there are 12"


@both
async def test_a_text_that_comes_back(binding: Binding) -> None:
    """D17: the last text wins, also when it is the one that was recorded before it."""
    standin = {"status_interval": "1s", "quiet_check": "30s"}
    async with RawAgent(binding) as agent, locum({"a": agent.url}, standin=standin) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask", timeout=10)
        with harness.changes(row.id) as changed:
            agent.tell(S("WORKING", "reading"))
            while (await harness.sub_task(row.id)).text != "reading":
                await changed.wait()
                changed.clear()
            for text in ("waiting for the lock", "reading"):
                agent.tell(S("WORKING", text))
            # Past the time at which the text that waited would have been recorded.
            await asyncio.sleep(2)
        texts = [event.get("text") for event in await harness.events(row.id)]
        assert "waiting for the lock" not in texts


@both
async def test_the_last_change_of_a_restless_agent(binding: Binding) -> None:
    """D15, E1: a change that came too soon is recorded when its time has come, not at the next
    silence.
    """
    standin = {"flip_limit": 3, "flip_interval": "1s", "quiet_check": "300s"}
    async with RawAgent(binding) as agent, locum({"a": agent.url}, standin=standin) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask", timeout=10)
        for count in range(6):
            agent.tell(S("AUTH_REQUIRED", f"log in {count}"))
            agent.tell(S("WORKING"))
        agent.tell(S("INPUT_REQUIRED", "which hall?"))
        row = await until(harness, row.id, "INPUT_REQUIRED")
        assert row.text == "which hall?"


async def test_a_right_token_before_its_turn(tmp_path: Path) -> None:
    """D3, D5: after a restart a right token rings, also while its sub-task waits to be taken up."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(push=True) as agent:

        async def start(seen: Seen, reply: Reply) -> None:
            number = len(agent.calls("SendStreamingMessage"))
            asked = T("INPUT_REQUIRED", "?", id=f"t{number}", context=f"c{number}", ts=LATER)
            agent.put(asked)
            await reply.play([EV(asked), EOF])

        agent.on("SendStreamingMessage", start)
        one = {"url": agent.url, "max_calls": 1}
        async with locum({"a": one}, push=True, store=store) as harness:
            port = int(harness.settings.server.base_url.rpartition(":")[2])
            for number in (1, 2, 3):
                await harness.spawn("p", agent="a", goal="count")
                await agent.seen("GetTask", number)
        last = agent.push_configs[-1]
        agent.on("ListTaskPushNotificationConfigs", [HOLD])
        async with locum({"a": one}, push=True, store=store, port=port):
            wrong = await agent.push(S("COMPLETED", task=last["taskId"]), token="guessed")
            assert wrong.status == 401
            right = await agent.push(S("COMPLETED", task=last["taskId"]), token=last["token"])
            assert right.status == 204


async def test_a_cancel_while_the_card_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2: looking at the card again is part of the time that a cancel has: it ends when
    `cancel_grace` is over, though the card hangs for an hour.
    """
    monkeypatch.setattr(card_keeper, "LOOK_PAUSE", 0.0)  # the cancel is a time to look again
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    off = {"updates": "off"}
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?")), EOF])
        async with locum({"a": {"url": agent.url, **off}}, store=store) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
        agent.on("AgentCard", (503, {}, b"soon"), [HOLD])
        hangs = {"limits": {"card_timeout": "1h"}, "standin": {"cancel_grace": "0.3s"}}
        settings = settings_for({"a": {"url": agent.url, **off}}, store=store, **hangs)
        async with Harness(settings) as harness:
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies[-1]) == ("CANCELED", "cancel.unconfirmed")
