"""An agent that cuts its words in the middle of an emoji says half of a surrogate pair."""

import pytest

from tests.agents.frames import EOF, ERR, EV, Binding, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CUT = ERR(-32602, "not that \ud83d", data={"why\ud83d": ["\ud83d\x00"]})


@both
@pytest.mark.parametrize("updates", ["push", "follow"])
async def test_in_the_refusal_of_a_reply(binding: Binding, updates: str) -> None:
    """K4, C12, D2: the question is open again, with the words; a push token is looked for in them."""
    async with RawAgent(binding, push=True) as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?")), EOF], [CUT])
        agent.task = T("INPUT_REQUIRED", "which?")
        async with locum({"a": {"url": agent.url, "updates": updates}}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            if updates == "push":
                await agent.seen("CreateTaskPushNotificationConfig")
            await harness.reply(row.id, "that one")
            await agent.seen("SendStreamingMessage", count=2)
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert "not that \ufffd" in (await history(harness, row.id))[-1]["refusal"]


@both
async def test_in_the_answers_to_a_look_and_a_cancel(binding: Binding) -> None:
    """K4, D3, F2: a doorbell is answered with another look, and a cancel ends the sub-task."""
    async with RawAgent(binding, push=True) as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?")), EOF])
        agent.task = T("INPUT_REQUIRED", "which?")
        agent.on("CancelTask", CUT)
        async with locum({"a": {"url": agent.url, "updates": "push"}}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await agent.seen("CreateTaskPushNotificationConfig")
            agent.on("GetTask", CUT, T("WORKING", "counting"))
            await agent.push(S("WORKING"))
            await until(harness, row.id, "WORKING")
            assert (await harness.cancel(row.id)).state == "CANCELED"
