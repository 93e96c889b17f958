"""States that mean another one than they say (D13, D15), over real sockets."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, Frame, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"
ANSWERED = {
    "io.github.madarauchiha-314.tiny-harness/status": {"sub_state": "awaiting-next-message"}
}


@both
@pytest.mark.parametrize(
    "said, at, expected",
    [
        ("there are 12", LATER, ("COMPLETED", "there are 12")),
        ("there are 12", LATEST, ("COMPLETED", "there are 12")),
        ("there are 12", None, ("COMPLETED", "there are 12")),
        (None, LATEST, ("COMPLETED", "there are 12")),
        ("which hall?", LATEST, ("INPUT_REQUIRED", "which hall?")),
    ],
)
async def test_a_sub_state_on_the_stream_alone(
    binding: Any, said: str | None, at: str | None, expected: tuple[str, str]
) -> None:
    """D13: GetTask has the same status without it, however it is stamped: answered, not asked.
    Another question that is newer is asked.
    """
    update = Frame("statusUpdate", S("INPUT_REQUIRED", "there are 12", ts=LATER))
    update["metadata"] = ANSWERED
    async with RawAgent(binding) as agent:
        agent.put(T("INPUT_REQUIRED", said, ts=at))
        agent.on("SendStreamingMessage", [EV(update), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED", "INPUT_REQUIRED")
            assert (row.state, row.text) == expected


@both
async def test_a_task_that_is_queued_again(binding: Any) -> None:
    """E1, D15: the authorisation came, and the task waits for its turn: for nobody outside."""
    async with RawAgent(binding) as agent:
        agent.put(T("AUTH_REQUIRED", "log in", ts=LATER))
        agent.on("SendStreamingMessage", [EV(T("AUTH_REQUIRED", "log in", ts=LATER)), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "AUTH_REQUIRED")
            await agent.seen("SubscribeToTask", timeout=5)
            agent.tell(S("SUBMITTED", "queued", ts=LATEST))
            row = await until(harness, row.id, "WORKING")
            assert row.text == "queued"
            notes, _ = await harness.notes("p")
            assert len(notes) == 1
