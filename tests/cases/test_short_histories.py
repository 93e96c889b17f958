"""Lists that show no more of each task than its latest messages, and what is looked for in them (I2)."""

from typing import Any

import pytest

from tests.agents.frames import RST, M, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"


def _other(name: str, *more: Any) -> Any:
    asked = M("other work", role="ROLE_USER", task=name, context="c9")
    return T("WORKING", id=name, context="c9", ts=LATER, history=[asked, *more])


def _agent(binding: Any, *said: str) -> RawAgent:
    """An agent that takes a brief, says these words about it, hangs up, and lists one message of
    each task.
    """
    agent = RawAgent(binding)

    async def take(seen: Seen, reply: Reply) -> None:
        task = agent.take(seen.message)
        words = [M(text, task=task["id"], context=task["contextId"]) for text in said]
        task["history"] = [*task["history"], *words]
        await reply.play([RST])

    async def list_short(seen: Seen, reply: Reply) -> None:
        tasks = [{**task, "history": task["history"][-1:]} for task in agent.tasks.values()]
        await reply.json({"tasks": tasks, "nextPageToken": "", "pageSize": 50, "totalSize": 9})

    agent.on("SendStreamingMessage", take)
    agent.on("ListTasks", list_short)
    return agent


@both
async def test_a_brief_behind_the_latest_message_is_found(binding: Any) -> None:
    """I2: the list shows what the agent said since; the task itself shows the brief."""
    async with _agent(binding, "I am on it") as agent:
        for number in range(25):
            agent.put(_other(f"o{number}"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "WORKING", "FAILED")
            assert (row.state, row.remote_task_id) == ("WORKING", "t1")
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_so_many_tasks_are_asked_for_and_no_more(binding: Any) -> None:
    """I2, J3: not one of the other tasks has the brief: twenty are asked for it, at each of the two
    looks, then it is called absent.
    """
    async with _agent(binding) as agent:

        async def drop(seen: Seen, reply: Reply) -> None:
            await reply.play([RST])

        agent.on("SendStreamingMessage", drop)
        for name in ("t1", *(f"o{number}" for number in range(25))):
            agent.put(_other(name))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert row.account.startswith("The agent has no task with this message.")
            asked = [seen.task_id for seen in agent.calls("GetTask")]
            assert len(asked) == 40
            assert len(set(asked)) == 20
