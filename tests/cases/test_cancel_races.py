"""Cancels that cross a result, a send, a reply's move, a deadline, or an agent that forgets."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, A, Binding, Frame, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import HungUpError, Reply
from tests.agents.seen import Seen
from tests.integration.support import locum

FIRST = "2099-01-01T00:00:00Z"
LATER = "2099-01-02T00:00:00Z"
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


def asked() -> Frame:
    """The question that the tests' replies answer."""
    return T("INPUT_REQUIRED", "which?", ts=FIRST)


@both
@pytest.mark.parametrize(
    "answer", [[HOLD], (503, {"Retry-After": "60"}, b"busy")], ids=["hangs", "busy"]
)
async def test_a_result_while_the_cancel_is_not_answered(binding: Binding, answer: Any) -> None:
    """F2: a result that was ready is not thrown away because CancelTask gets no answer."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", answer)
        async with locum({"a": agent.url}, standin={"cancel_grace": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.put(T("COMPLETED", artifacts=[A("a", "done")], ts=LATER))
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "done")
            assert len(agent.calls("CancelTask")) == 1
            await agent.all_closed()


@both
async def test_a_confirmed_cancel_while_the_look_hangs(binding: Binding) -> None:
    """F2: what CancelTask answers counts, though the look beside it gets no answer."""
    async with RawAgent(binding) as agent:

        async def confirm(seen: Seen, reply: Reply) -> None:
            await agent.seen("GetTask")
            await reply.json(T("CANCELED", ts=LATER))

        agent.on("CancelTask", confirm)
        agent.on("GetTask", [HOLD])
        async with locum({"a": agent.url}, standin={"cancel_grace": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            row = await harness.cancel(row.id, actor="planner")
            end = (await harness.events(row.id))[-1]
            assert (row.state, end["confirmed"], end["actor"]) == ("CANCELED", True, "planner")


async def test_a_push_while_cancelling() -> None:
    """F2, D3: a right push within the grace leads to a look, long before one would be due."""
    async with RawAgent(push=True) as agent:
        agent.put(asked())
        agent.on("SendStreamingMessage", [EV(asked()), EOF])
        agent.on("CancelTask", [HOLD])
        # The looks come about 0.25, 0.75, 1.75 and 3.75 s after CancelTask.
        async with locum({"a": agent.url}, push=True, standin={"cancel_grace": "3.2s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            looks = len(await agent.seen("GetTask"))
            cancelling = asyncio.create_task(harness.cancel(row.id))
            await agent.seen("CancelTask")
            await agent.seen("GetTask", looks + 3)
            await agent.until(lambda: agent.open_exchanges == 1)
            agent.put(T("COMPLETED", artifacts=[A("a", "done")], ts=LATER))
            assert (await agent.push(S("COMPLETED", ts=LATER))).status == 204
            row = await cancelling
            assert (row.state, row.text) == ("COMPLETED", "done")


@both
async def test_a_task_that_appears_within_the_grace(binding: Binding) -> None:
    """F2: the send was let go of, and the task is there only then: it is found and cancelled."""
    async with RawAgent(binding) as agent:
        agent.tasks.clear()

        async def start_late(seen: Seen, reply: Reply) -> None:
            try:
                await reply.hold()
            except HungUpError:
                await agent.seen("ListTasks", 2)
                agent.put(T("WORKING", history=[seen.message | {"taskId": "t1"}]))
                raise

        agent.on("SendStreamingMessage", start_late)
        async with locum({"a": agent.url}, standin={"cancel_grace": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage")
            row = await harness.cancel(row.id)
            assert (row.state, row.remote_task_id) == ("CANCELED", "t1")
            assert (await harness.events(row.id))[-1]["confirmed"] is True
            assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t1"]


@both
async def test_an_agent_that_lists_nothing(binding: Binding) -> None:
    """F2: where the brief cannot be looked for, nothing is waited for: CANCELED, unconfirmed."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [HOLD])
        agent.on("ListTasks", ERR(-32601, "Method not found"))
        async with locum({"a": agent.url}, standin={"cancel_grace": "1h"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage")
            async with asyncio.timeout(30):
                row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ("cancel.unconfirmed",))


@both
async def test_a_reply_that_moves_while_it_is_cancelled(binding: Binding) -> None:
    """F2, C13: a reply under way gets a moment: the task that it is answered by is cancelled."""
    gate = asyncio.Event()
    moved = T("WORKING", id="t2", ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(asked())
        agent.put(moved)
        agent.on("SubscribeToTask", [EV(asked()), HOLD])
        agent.on("SendStreamingMessage", [EV(asked()), EOF], [gate, EV(moved), HOLD])
        async with locum({"a": agent.url}, standin={"cancel_link_wait": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            await agent.seen("SendStreamingMessage", 2)
            cancelling = asyncio.create_task(harness.cancel(row.id))
            await asyncio.sleep(0)
            gate.set()
            row = await cancelling
            assert (row.state, row.remote_task_id) == ("CANCELED", "t2")
            assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t2"]


@both
async def test_a_reply_that_was_let_go_of_and_moved(binding: Binding) -> None:
    """F2, C13: the answer does not come: the reply is looked for, and its task is cancelled."""
    async with RawAgent(binding) as agent:
        agent.put(asked())
        agent.on("SubscribeToTask", [EV(asked()), HOLD])

        async def move(seen: Seen, reply: Reply) -> None:
            said = seen.message | {"taskId": "t2"}
            agent.put(T("WORKING", id="t2", ts=LATER, history=[said]))
            await reply.hold()

        agent.on("SendStreamingMessage", [EV(asked()), EOF], move)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            await agent.seen("SendStreamingMessage", 2)
            row = await harness.cancel(row.id)
            assert (row.state, row.remote_task_id) == ("CANCELED", "t2")
            assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t2"]


@both
async def test_a_search_for_the_reply_that_hangs(binding: Binding) -> None:
    """F2: CancelTask goes out, whatever comes of looking for the reply."""
    async with RawAgent(binding) as agent:
        agent.put(asked())
        agent.on("SubscribeToTask", [EV(asked()), HOLD])
        agent.on("SendStreamingMessage", [EV(asked()), EOF], [HOLD])
        agent.on("ListTasks", [HOLD])
        async with locum({"a": agent.url}, standin={"cancel_grace": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "red")
            await agent.seen("SendStreamingMessage", 2)
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ())
            assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t1"]


@both
@pytest.mark.parametrize("is_reply", [False, True], ids=["brief", "reply"])
async def test_nothing_is_sent_again_once_it_is_cancelled(binding: Binding, is_reply: bool) -> None:
    """F2: a send that fails while its task id is waited for is not tried again."""
    gate = asyncio.Event()
    busy = [gate, (503, {"Retry-After": "1"}, b"later")]
    async with RawAgent(binding) as agent:
        agent.put(asked())
        agent.on("SubscribeToTask", [EV(asked()), HOLD])
        agent.on("SendStreamingMessage", *([[EV(asked()), EOF]] if is_reply else []), busy)
        async with locum({"a": agent.url}, standin={"cancel_link_wait": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            if is_reply:
                await harness.settled(row.id, timeout=10)
                await harness.reply(row.id, "red")
            sends = len(await agent.seen("SendStreamingMessage", 1 + is_reply))
            cancelling = asyncio.create_task(harness.cancel(row.id))
            await asyncio.sleep(0)
            gate.set()
            row = await cancelling
            assert row.state == "CANCELED"
            assert len(agent.calls("SendStreamingMessage")) == sends


@both
async def test_a_cancel_of_what_the_agent_forgot(binding: Binding) -> None:
    """F2, D10: "not found" is no end that the agent tells of: CANCELED, unconfirmed, no failure."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            agent.on(method, ERR(-32001, "Task not found"))
        row = await harness.cancel(row.id)
        assert (row.state, row.anomalies) == ("CANCELED", ("cancel.unconfirmed",))
        assert (await harness.events(row.id))[-1]["confirmed"] is False


@both
async def test_a_cancel_beside_the_deadline(binding: Binding) -> None:
    """C11, F2: the deadline has passed and its CancelTask is under way: one CancelTask, and FAILED
    as the deadline wants it.
    """
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", [HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=0.5)
            await agent.seen("CancelTask")
            row = await harness.cancel(row.id)
            assert (row.state, (await harness.events(row.id))[-1]["code"]) == ("FAILED", "deadline")
            assert len(agent.calls("CancelTask")) == 1


async def test_a_deadline_beside_a_cancel() -> None:
    """F2, C11: the deadline passes while a cancel is under way: one CancelTask, and CANCELED."""
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        agent.on("CancelTask", [HOLD])
        row = await harness.spawn("p", agent="a", goal="count", timeout=1.5)
        await agent.seen("SubscribeToTask")
        row = await harness.cancel(row.id)
        assert row.state == "CANCELED"
        assert len(agent.calls("CancelTask")) == 1
