"""The cases of states and questions (docs/cases.md)."""

import json
from typing import Any

import pytest

from locum.core.errors import NotParkedError
from tests.agents.frames import EOF, ERR, EV, HOLD, A, S, T, data_part
from tests.agents.raw import RawAgent
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


@both
async def test_nothing_but_reply_answers(binding: Any) -> None:
    """C12, case Q1: while a question is open, no message with its task's id leaves until `reply`."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF])
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            agent.on("SendStreamingMessage")
            other = await harness.spawn("p", agent="a", goal="something else")
            await harness.linked(other.id, timeout=10)
            await harness.notes("p")
            assert [seen.message.get("taskId", "") for seen in _sends(agent)] == ["", ""]
            await harness.reply(row.id, "the ones in the hall")
            await agent.seen("SendStreamingMessage", count=3, timeout=5)
            assert _sends(agent)[-1].message["taskId"] == "t1"


@both
async def test_a_reply_names_its_task_and_context(binding: Any) -> None:
    """C12, case Q2: a reply carries the remote task's id and its context; the record comes first."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF],
            [EV(S("WORKING", ts=LATEST)), EOF],
        )
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            agent.on("SubscribeToTask", [EV(T("WORKING", ts=LATEST)), HOLD])
            row = await harness.reply(row.id, "the ones in the hall", question=row.version)
            assert row.state == "WORKING"
            _, sent = await agent.seen("SendStreamingMessage", count=2, timeout=5)
            assert (sent.message["taskId"], sent.message["contextId"]) == ("t1", "c1")
            assert sent.text == "the ones in the hall"
            (woken,) = [e for e in await harness.events(row.id) if e["type"] == "Woken"]
            assert woken["message_id"] == sent.message["messageId"]
            assert woken["cause"] == "reply"


@both
async def test_contexts_are_apart_unless_one_follows(binding: Any) -> None:
    """C14, case Q3: two sub-tasks have contexts of their own; one that follows names context and
    task.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await harness.spawn("p", agent="a", goal="one")
        second = await harness.spawn("p", agent="a", goal="two")
        await harness.linked(second.id, timeout=10)
        first = await harness.linked(first.id, timeout=10)
        agent.put(T("COMPLETED", id=first.remote_task_id, context=first.context_id, ts=LATER))
        first = await until(harness, first.id, "COMPLETED")
        await harness.spawn("p", agent="a", goal="three", follows=first.id)
        sends = [s.message for s in await agent.seen("SendStreamingMessage", count=3)]
        assert [m.get("contextId", "") for m in sends] == ["", "", first.context_id]
        assert sends[2]["referenceTaskIds"] == [first.remote_task_id]
        assert not sends[2].get("taskId")


@both
@pytest.mark.parametrize("context, odd", [("", False), ("c9", True)])
async def test_an_empty_context_is_unknown(binding: Any, context: str, odd: bool) -> None:
    """K3, case Q4: an empty contextId means unknown, another one is an anomaly; the result is kept."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on(
            "SubscribeToTask",
            [EV(T("WORKING")), EV(A("a", "done")), EV(S("COMPLETED", context=context)), EOF],
        )
        agent.task = T("COMPLETED", artifacts=[A("a", "done")], context=context, ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.context_id) == ("done", "c1")
            assert ("context.changed" in row.anomalies) is odd


@both
async def test_a_deadline_ends_what_works_for_ever(binding: Any) -> None:
    """C11, case Q5: a task that works for ever is cancelled at its deadline, and has failed."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=0.6)
            row = await until(harness, row.id, "FAILED")
            assert len(agent.calls("CancelTask")) == 1
            assert (await harness.events(row.id))[-1]["code"] == "deadline"


@both
async def test_data_alone_is_a_result(binding: Any) -> None:
    """D12, case Q6: COMPLETED with data only: the data is the result, the text is empty."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.task = T("COMPLETED", artifacts=[A("a", data_part({"chairs": 9}))], ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == ""
            assert row.artifacts[0].parts[0].data == {"chairs": 9}
            ((note,), _) = await harness.notes("p")
            assert '{"chairs":9}' in note.as_text()
            assert "None" not in note.as_text()


@both
async def test_updates_without_a_task(binding: Any) -> None:
    """C4, case Q7: only status updates, never a Task: linked from the first, text of the last."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(S("SUBMITTED")), EV(S("WORKING", "one")), EV(S("WORKING", "two")), EOF],
        )
        agent.on("SubscribeToTask", [EV(S("WORKING", "two")), EV(S("COMPLETED", "all done")), EOF])
        agent.on("GetTask", ERR(-32601, "no such method"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED", timeout=15)
            assert (row.text, row.remote_task_id) == ("all done", "t1")
            assert (await kinds(harness, row.id))[:2] == ["Created", "Linked"]


@both
async def test_a_question_in_data(binding: Any) -> None:
    """D16, case Q9: a question in a data part is told as compact JSON, and the part is kept."""
    call = {"name": "pay", "args": {"amount": 3}}
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on(
            "SubscribeToTask", [EV(T("WORKING")), EV(S("INPUT_REQUIRED", data_part(call))), HOLD]
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert json.loads(row.text) == call
            assert " " not in row.text
            (parked,) = [e for e in await harness.events(row.id) if e["type"] == "Parked"]
            assert parked["parts"][0]["data"] == call


@both
async def test_a_question_in_an_artifact(binding: Any) -> None:
    """D16, case Q10: a question that is on the stream only, in an artifact, is not lost."""
    call = {"confirm": "delete"}
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on(
            "SubscribeToTask",
            [EV(T("WORKING")), EV(A("q", data_part(call))), EV(S("INPUT_REQUIRED")), HOLD],
        )
        agent.task = T("INPUT_REQUIRED", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert row.text == '{"confirm":"delete"}'


@both
async def test_a_question_in_gettask(binding: Any) -> None:
    """D16, case Q11: a question that only GetTask has is fetched."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), EV(S("INPUT_REQUIRED")), HOLD])
        agent.task = T("INPUT_REQUIRED", "which hall?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            assert row.text == "which hall?"


@both
async def test_a_refused_reply_opens_the_question_again(binding: Any) -> None:
    """C12: a reply that the agent refuses parks again under the same question; the model is told."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING")), EOF],
            ERR(-32602, "only red or blue"),
        )
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which colour?", ts=LATER)), HOLD])
        agent.task = T("INPUT_REQUIRED", "which colour?", ts=LATER)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="paint")
            row = await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "green")
            row = await harness.settled(row.id, timeout=10)
            assert (row.state, row.text) == ("INPUT_REQUIRED", "which colour?")
            parked = [e for e in await harness.events(row.id) if e["type"] == "Parked"]
            assert parked[0]["question"] == parked[1]["question"] == parked[0]["version"]
            assert "only red or blue" in parked[1]["refusal"]
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "question"]
            assert "only red or blue" in notes[1].as_text()


@both
async def test_a_reply_that_moves_to_another_task(binding: Any) -> None:
    """C13: an agent that answers a reply under another task id is followed there."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("WORKING")), EOF],
            [EV(T("WORKING", id="t2")), EOF],
        )
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.settled(row.id, timeout=10)
            agent.on("SubscribeToTask", [EV(T("WORKING", id="t2")), HOLD])
            agent.put(T("WORKING", id="t2"))
            await harness.reply(row.id, "the ones in the hall")
            await agent.seen("SubscribeToTask", count=2, timeout=5)
            assert agent.calls("SubscribeToTask")[-1].task_id == "t2"
            linked = [e for e in await harness.events(row.id) if e["type"] == "Linked"]
            assert [(e["remote_task_id"], e["replaces"]) for e in linked] == [
                ("t1", None),
                ("t2", "t1"),
            ]


async def test_a_reply_comes_too_early_or_too_late() -> None:
    """C12: a reply while nothing is asked is refused, and nothing is recorded."""
    async with RawAgent("JSONRPC") as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        row = await harness.linked(row.id, timeout=5)
        with pytest.raises(NotParkedError):
            await harness.reply(row.id, "hello")
        assert await kinds(harness, row.id) == ["Created", "Linked"]


def _sends(agent: RawAgent) -> list[Any]:
    return agent.calls("SendStreamingMessage")
