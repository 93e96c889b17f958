"""The cases of cancels and doubt (docs/cases.md), and the sends whose answer never came."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from locum.adapters.store import Journal
from locum.core.errors import SubTasksUnresolvedError
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, WAIT, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until
from tests.lives import artifact, task
from tests.stores import hear

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


@both
async def test_a_cancel_is_confirmed(binding: Any) -> None:
    """F2: the agent confirms the cancel: CANCELED, confirmed, by whom and why; one CancelTask."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask", timeout=5)
        row = await harness.cancel(row.id, reason="not needed", actor="planner")
        assert (row.state, row.anomalies) == ("CANCELED", ())
        (end,) = [e for e in await harness.events(row.id) if e["type"] == "Resolved"]
        assert (end["confirmed"], end["actor"]) == (True, "planner")
        assert end["reason"] == "not needed"
        assert len(agent.calls("CancelTask")) == 1
        again = await harness.cancel(row.id)
        assert again.version == row.version


@both
async def test_a_cancel_that_crosses_a_completion(binding: Any) -> None:
    """F2: a result that was ready when the cancel came is not thrown away."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", ERR(-32002, "it is over"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.put(T("COMPLETED", artifacts=[A("a", "done")], ts=LATER))
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
@pytest.mark.parametrize("answer", [ERR(-32002, "no"), ERR(-32601, "what?"), T("WORKING"), [HOLD]])
async def test_a_cancel_that_nobody_confirms(binding: Any, answer: Any) -> None:
    """F2: an agent that goes on: CANCELED all the same, within the grace, unconfirmed."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", answer)
        async with locum({"a": agent.url}, standin={"cancel_grace": "600ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", timeout=5)
            row = await harness.cancel(row.id)
            assert row.state == "CANCELED"
            assert "cancel.unconfirmed" in row.anomalies
            assert (await harness.events(row.id))[-1]["confirmed"] is False


@both
async def test_a_cancel_while_the_send_is_under_way(binding: Any) -> None:
    """F2: a cancel that comes while the send waits gets the task's id, and cancels it."""
    gate = asyncio.Event()
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [gate, EV(T("SUBMITTED")), HOLD])
        async with locum({"a": agent.url}, standin={"cancel_link_wait": "2s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage", timeout=5)
            cancelling = asyncio.create_task(harness.cancel(row.id))
            await asyncio.sleep(0)
            gate.set()
            row = await cancelling
            assert (row.state, row.remote_task_id) == ("CANCELED", "t1")
            assert len(agent.calls("CancelTask")) == 1


@both
async def test_a_cancel_of_a_send_that_never_answers(binding: Any) -> None:
    """F2: a send that never answers is let go of; the brief is looked for, then it is CANCELED."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage", timeout=5)
            row = await harness.cancel(row.id)
            assert row.state == "CANCELED"
            assert agent.calls("ListTasks")
            await agent.all_closed(timeout=1)


@both
async def test_a_cancel_beats_a_waiting_reply(binding: Any) -> None:
    """F2: a reply that waits for the agent to come back is not sent once a cancel has come."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF],
            (503, {"Retry-After": "1"}, b"later"),
        )
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=5)
            await harness.reply(row.id, "that one")
            await agent.seen("SendStreamingMessage", count=2, timeout=5)
            row = await harness.cancel(row.id)
            assert row.state == "CANCELED"
            assert len(agent.calls("SendStreamingMessage")) == 2


@both
async def test_cancelling_a_parent(binding: Any) -> None:
    """F5: cancelling a parent cancels all of its unresolved sub-tasks, and no other's."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        mine = [await harness.spawn("p", agent="a", goal=f"count {i}") for i in range(3)]
        other = await harness.spawn("q", agent="a", goal="count")
        for row in (*mine, other):
            await harness.linked(row.id, timeout=5)
        rows = await harness.cancel_parent("p")
        assert [row.state for row in rows] == ["CANCELED"] * 3
        assert not (await harness.sub_task(other.id)).state.is_terminal
        await harness.complete("p")


@both
async def test_the_deadline_cancels_once(binding: Any) -> None:
    """C11, case D1: the deadline passes while the agent works: one CancelTask, then FAILED."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count", timeout=0.8)
        row = await until(harness, row.id, "FAILED")
        assert len(agent.calls("CancelTask")) == 1
        assert (await harness.events(row.id))[-1]["code"] == "deadline"
        notes, _ = await harness.notes("p")
        assert "deadline" in notes[0].as_text()


@both
async def test_a_stop_in_five_states(binding: Any, tmp_path: Path) -> None:
    """I1, case D2: locum is stopped in five states and started again: none is stuck, none doubled."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    states = ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED"]

    async def start(seen: Seen, reply: Reply) -> None:
        index = int(seen.text.split()[-1])
        task = T(states[index], f"words {index}", id=f"t{index}", context=f"c{index}")
        agent.put(task)
        await reply.play([EV(task), EOF])

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", start)
        async with locum({"a": agent.url}, store=store) as harness:
            rows = [await harness.spawn("p", agent="a", goal=f"do {i}") for i in range(5)]
            for row, state in zip(rows, states, strict=True):
                await harness.linked(row.id, timeout=5)
                await until(harness, row.id, state)
        sends = len(agent.calls("SendStreamingMessage"))
        for index in range(4):
            agent.put(
                T(
                    "COMPLETED",
                    id=f"t{index}",
                    context=f"c{index}",
                    artifacts=[A("a", f"done {index}")],
                    ts=LATER,
                )
            )
        async with locum({"a": agent.url}, store=store) as harness:
            for index, row in enumerate(rows[:4]):
                assert (await until(harness, row.id, "COMPLETED")).text == f"done {index}"
            for row in rows:
                assert (await kinds(harness, row.id)).count("Resolved") == 1
            notes, _ = await harness.notes("p")
            assert len([note for note in notes if note.kind == "ended"]) == 5
        assert len(agent.calls("SendStreamingMessage")) == sends


async def test_twice_the_same_goal() -> None:
    """C10, case D3: twice the same goal is two sub-tasks; twice the same key is one."""
    async with RawAgent("JSONRPC") as agent, locum({"a": agent.url}) as harness:
        one = await harness.spawn("p", agent="a", goal="count")
        two = await harness.spawn("p", agent="a", goal="count")
        assert one.id != two.id
        keyed = [
            await harness.spawn("p", agent="a", goal="count", idempotency_key="k") for _ in range(3)
        ]
        assert len({row.id for row in keyed}) == 1
        other = await harness.spawn("q", agent="a", goal="count", idempotency_key="k")
        assert other.id != keyed[0].id
        await agent.seen("SendStreamingMessage", count=4, timeout=5)
        for row in (one, two, keyed[0], other):
            await harness.linked(row.id, timeout=5)
        assert len(agent.calls("SendStreamingMessage")) == 4


@both
@pytest.mark.parametrize("end", [RST, CUT, EOF])
async def test_a_send_in_doubt_is_found(binding: Any, end: Any) -> None:
    """C7: the connection breaks after the request was read: the task is looked for, and linked."""

    async def take(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        await reply.play([WAIT(0.05), end] if end is RST else [COMMENT_ONLY, end])

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", take)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            assert row.remote_task_id == "t1"
            linked = (await harness.events(row.id))[1]
            assert (linked["type"], linked["cause"]) == ("Linked", "recovery")
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_a_send_in_doubt_is_not_found(binding: Any) -> None:
    """I2: not found on the agent: FAILED, its delivery unknown; never sent again by default."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [RST])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            (end,) = [e for e in await harness.events(row.id) if e["type"] == "Resolved"]
            assert (end["code"], end["delivery"]) == ("delivery.unknown", "unknown")
            assert (end["text"], end["account"]) == ("", row.text)
            assert "it was not sent again" in row.account
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_a_send_again_is_byte_for_byte_the_same(binding: Any) -> None:
    """I2, case D4: with resend = "same-id" it goes out again, byte for byte the same message."""
    parts = [{"data": {"b": 1, "a": [1, 2.5, None]}}, {"text": "see"}]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [RST], [RST], [EV(T("WORKING")), EOF])
        async with locum({"a": {"url": agent.url, "resend": "same-id"}}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", parts=parts)
            row = await harness.linked(row.id, timeout=15)
            first, *others = [s.message for s in agent.calls("SendStreamingMessage")]
            assert len(others) == 2
            assert all(repr(other) == repr(first) for other in others)


@both
async def test_a_refused_send_keeps_the_words(binding: Any) -> None:
    """C7: a send that the agent refuses: FAILED with the agent's code and message."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", ERR(-32602, "goal: too vague"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert "goal: too vague" in row.text
            assert (await harness.events(row.id))[-1]["delivery"] == "refused"
            notes, _ = await harness.notes("p")
            assert "goal: too vague" in notes[0].as_text()


async def test_an_agent_that_is_not_there() -> None:
    """C7: connection refused is tried again until send_timeout, then it has failed; one id."""
    async with (
        RawAgent("JSONRPC") as agent,
        locum({"a": agent.url}, standin={"send_timeout": "700ms"}) as harness,
    ):
        await agent.stop_listening()
        row = await harness.spawn("p", agent="a", goal="count")
        row = await until(harness, row.id, "FAILED")
        assert (await harness.events(row.id))[-1]["code"] == "remote.unreachable"


@both
async def test_two_processes_hear_one_change(binding: Any, tmp_path: Path) -> None:
    """I4, case D5: another process writes a change that this one hears too: one event, told once."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    heard = task("COMPLETED", remote_task_id="t1", artifacts=(artifact("a", "done"),))
    async with RawAgent(binding) as agent, locum({"a": agent.url}, store=store) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await harness.linked(row.id, timeout=5)
        await agent.seen("SubscribeToTask", timeout=5)
        async with Journal.open(store) as other:
            agent.complete("done")
            await other.handle(hear(row.id, heard))
        assert (await until(harness, row.id, "COMPLETED")).text == "done"
        await agent.all_closed()
        assert (await kinds(harness, row.id)).count("Resolved") == 1
        notes, _ = await harness.notes("p")
        assert [note.kind for note in notes] == ["ended"]


@both
async def test_a_task_that_is_gone(binding: Any) -> None:
    """D10: GetTask's own "not found", twice, means gone: FAILED remote.gone; a stream's does not."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", ERR(-32001, "unknown"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.on("GetTask", ERR(-32001, "Task not found"))
            row = await until(harness, row.id, "FAILED")
            assert (await harness.events(row.id))[-1]["code"] == "remote.gone"
            assert row.account == "The agent no longer knows the task."
            assert "Task not found" in row.said
            assert len(agent.calls("GetTask")) >= 2


@both
async def test_a_parent_waits_for_its_sub_tasks(binding: Any) -> None:
    """C8: a parent cannot complete while a sub-task is unresolved; the error lists it."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        with pytest.raises(SubTasksUnresolvedError) as caught:
            await harness.complete("p")
        assert caught.value.detail["unresolved"] == [row.id]
        await harness.linked(row.id, timeout=5)
        await agent.seen("SubscribeToTask", timeout=5)
        agent.tell(S("COMPLETED", "done", ts=LATEST))
        await until(harness, row.id, "COMPLETED")
        await harness.complete("p")


COMMENT_ONLY = b": taken\n\n"
