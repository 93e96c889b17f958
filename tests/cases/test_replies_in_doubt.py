"""A reply whose answer never came: where the agent has it, and that it is not sent twice (C13, I3)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, HOLD, RST, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


@both
async def test_it_is_found_under_the_other_task(binding: Any) -> None:
    """C13, I3: the old task goes on asking and has not got the reply; another one has: the sub-task
    is followed there, and the reply is not sent again.
    """
    asks = T("INPUT_REQUIRED", "which?", ts=LATER)

    async def move(seen: Seen, reply: Reply) -> None:
        message = {**seen.message, "taskId": "t2"}
        agent.put(T("WORKING", id="t2", ts=LATEST, history=[message]))
        await reply.play([RST])

    async with RawAgent(binding) as agent:
        agent.task = asks
        agent.on("SendStreamingMessage", [EV(asks), EOF], move)
        agent.on("SubscribeToTask", [EV(asks), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=5)
            await agent.seen("SubscribeToTask", timeout=5)
            agent.on("SubscribeToTask", [EV(T("WORKING", id="t2", ts=LATEST)), HOLD])
            await harness.reply(row.id, "that one")
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            row = await until(harness, row.id, "WORKING")
            assert row.remote_task_id == "t2"
            moved = (await harness.events(row.id))[-1]
            assert (moved["type"], moved["replaces"]) == ("Linked", "t1")
            assert len(agent.calls("SendStreamingMessage")) == 2
            assert (await kinds(harness, row.id)).count("Linked") == 2


@both
async def test_a_reply_in_the_history_is_not_sent_again(binding: Any) -> None:
    """I3: the agent has the reply in its task's history and has not taken it up yet: still parked,
    and listing nothing, it is not sent it again, and what comes of it is heard.
    """

    async def take(seen: Seen, reply: Reply) -> None:
        asked = T("INPUT_REQUIRED", "which?", ts=LATER, history=[dict(seen.message)])
        agent.put(asked)
        await reply.play([RST])

    async with RawAgent(binding) as agent:
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(agent.task), EOF], take, [EV(T("WORKING")), HOLD])
        agent.on("ListTasks", ERR(-32601, "no lists"))
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), HOLD])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=5)
            (held,) = await agent.seen("SubscribeToTask", timeout=5)
            await harness.reply(row.id, "that one")
            # Once the reply is known to be there, the task is watched again.
            await agent.seen("SubscribeToTask", count=2, timeout=10)
            assert held.hung_up.is_set()
            assert len(agent.calls("SendStreamingMessage")) == 2
            agent.put(T("COMPLETED", ts=LATEST))
            await until(harness, row.id, "COMPLETED")
            assert len(agent.calls("SendStreamingMessage")) == 2
