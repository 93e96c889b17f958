"""Answers that bring up a task which had ended before it was asked for (C5, C13, C14)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, M, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
LONG_AGO = "2020-01-01T00:00:00Z"
LATER = "2099-01-01T00:00:00Z"


def _ended(name: str = "t1", ts: str = "now", text: str = "42 chairs") -> Any:
    return T("COMPLETED", id=name, ts=ts, artifacts=[A("a", text)])


async def _first(agent: RawAgent, harness: Any) -> Any:
    """A sub-task that has ended with 42 chairs, under task t1."""
    agent.on(SEND, [EV(_ended()), EOF])
    row = await harness.spawn("p", agent="a", goal="count the chairs")
    return await until(harness, row.id, "COMPLETED")


@both
@pytest.mark.parametrize("is_follow_up", [False, True], ids=["brief", "follow-up"])
async def test_a_message_that_names_earlier_work_answers(binding: Any, is_follow_up: bool) -> None:
    """C5: a direct answer refers to the task of another sub-task, ended before: it is the answer."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await _first(agent, harness)
        agent.on(SEND, [EV(M("7 tables", task="t1", context="c1")), EOF])
        agent.put(_ended(ts=first.updated_at))
        follows = first.id if is_follow_up else None
        row = await harness.spawn("p", agent="a", goal="count the tables", follows=follows)
        row = await until(harness, row.id, "COMPLETED")
        assert (row.text, row.remote_task_id) == ("7 tables", "")


@both
async def test_a_message_that_names_its_own_task_is_about_it(binding: Any) -> None:
    """C5: by a clock that is behind, the task ended too early; it has the brief in its history."""
    async with RawAgent(binding) as agent:

        async def answer(seen: Any, reply: Any) -> None:
            found = [A("a", "7 tables")]
            agent.put(T("COMPLETED", ts=LONG_AGO, artifacts=found, history=[dict(seen.message)]))
            await reply.play([EV(M("here you are", task="t1", context="c1")), EOF])

        agent.on(SEND, answer)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count the tables")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.remote_task_id) == ("7 tables", "t1")


@both
async def test_a_follow_up_is_not_what_it_follows(binding: Any) -> None:
    """C14, E7: answered with the ended task that it follows, it has failed, and says why."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await _first(agent, harness)
        row = await harness.spawn("p", agent="a", goal="count the tables", follows=first.id)
        row = await until(harness, row.id, "FAILED", "COMPLETED")
        assert row.state == "FAILED"
        assert "the very task that this one follows" in row.account
        assert "42 chairs" not in (row.text, *(str(artifact) for artifact in row.artifacts))
        (*_, last) = await harness.events(row.id)
        assert last["code"] == "remote.followed_task"


@both
async def test_a_follow_up_under_the_old_id(binding: Any) -> None:
    """C14: an agent that goes on under the old id, and ends anew, has done what was asked for."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await _first(agent, harness)
        agent.on(SEND, [EV(_ended(ts=LATER, text="7 tables")), EOF])
        row = await harness.spawn("p", agent="a", goal="count the tables", follows=first.id)
        row = await until(harness, row.id, "COMPLETED")
        assert (row.text, row.remote_task_id) == ("7 tables", "t1")


@both
async def test_a_brief_answered_with_an_earlier_task(binding: Any) -> None:
    """C4, K2: what the agent says counts, and the record says what is odd about it."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(_ended(ts=LONG_AGO)), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count the tables")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.anomalies) == ("42 chairs", ("task.earlier",))


@both
@pytest.mark.parametrize("name", ["t1", "t0"], ids=["same id", "another id"])
async def test_a_reply_answered_with_an_earlier_task(binding: Any, name: str) -> None:
    """C13, K2: a reply is answered with a task that had ended long before."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await agent.seen("SubscribeToTask")
        agent.tell(S("INPUT_REQUIRED", "which?"))
        await until(harness, row.id, "INPUT_REQUIRED")
        old = _ended(name, LONG_AGO)
        agent.put(old)
        agent.on("SubscribeToTask", [HOLD])
        agent.on(SEND, [EV(old), EOF])
        await harness.reply(row.id, "the red ones")
        row = await until(harness, row.id, "COMPLETED")
        assert (row.text, row.remote_task_id) == ("42 chairs", name)
        assert "task.earlier" in row.anomalies
