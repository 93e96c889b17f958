"""What waits for its place among an agent's calls has not left, however long that takes (C7, J4)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, S
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
ONE_PLACE = {"max_calls": 1}
SHORT = {"send_timeout": "1s"}


@both
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "asking"])
async def test_a_brief_waits_its_turn(binding: Any, streaming: bool) -> None:
    """C7, I2, J4: two briefs take the one place for as long as a send may last, each; the third one
    waits for longer than that: it is no brief in doubt, and goes out once it has the place.
    """
    method = "SendStreamingMessage" if streaming else "SendMessage"
    async with RawAgent(binding, streaming=streaming) as agent:

        async def take(seen: Seen, reply: Reply) -> None:
            agent.take(seen.message)
            await reply.hold()

        agent.on(method, take)
        async with locum({"a": {"url": agent.url, **ONE_PLACE}}, standin=SHORT) as harness:
            rows = [await harness.spawn("p", agent="a", goal=f"count {n}") for n in range(3)]
            for row in rows:
                await until(harness, row.id, "WORKING", timeout=15)
        sent = [seen.message["messageId"] for seen in agent.calls(method)]
        assert len(sent) == len(set(sent)) == 3


@both
async def test_a_brief_that_waits_is_surely_unsent(binding: Any) -> None:
    """F2, J4: cancelled while it waits, it ends confirmed: there is nothing to look for."""
    async with RawAgent(binding) as agent:

        async def take(seen: Seen, reply: Reply) -> None:
            await reply.hold()

        agent.on("SendStreamingMessage", take)
        table = {"url": agent.url, **ONE_PLACE}
        async with locum({"a": table}, standin={"send_timeout": "60s"}) as harness:
            await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage")
            row = await harness.spawn("p", agent="a", goal="count again")
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ())
            assert not agent.calls("ListTasks")


@both
async def test_a_reply_waits_its_turn(binding: Any) -> None:
    """I3, J4: a reply that waits for its place is not in doubt, nor is it looked for."""
    async with RawAgent(binding) as agent:

        async def take(seen: Seen, reply: Reply) -> None:
            agent.take(seen.message)
            await reply.hold()

        async with locum({"a": {"url": agent.url, **ONE_PLACE}}, standin=SHORT) as harness:
            asking = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.tell(S("INPUT_REQUIRED", "which?"))
            await until(harness, asking.id, "INPUT_REQUIRED")
            agent.on("SendStreamingMessage", take, take, [EV(S("WORKING")), EOF])
            for number in range(2):
                await harness.spawn("p", agent="a", goal=f"count {number}")
            await agent.seen("SendStreamingMessage", count=2)
            asked = len([seen for seen in agent.calls("GetTask") if seen.task_id == "t1"])
            await harness.reply(asking.id, "that one")
            await agent.seen("SendStreamingMessage", count=4, timeout=15)
            (*_, last) = agent.calls("SendStreamingMessage")
            assert last.message["taskId"] == "t1"
            assert len([seen for seen in agent.calls("GetTask") if seen.task_id == "t1"]) == asked
