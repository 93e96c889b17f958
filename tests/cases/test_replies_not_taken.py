"""A reply that an agent answers with an error of its own, again and again (I3)."""

import logging
from typing import Any

import pytest

from tests.agents.frames import S
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
ERROR = (500, {}, b"Internal Server Error")


@both
async def test_a_reply_that_is_never_taken(binding: Any, caplog: pytest.LogCaptureFixture) -> None:
    """I3: it is kept and sent under its one id, and past `send_timeout` the log tells of it, once."""

    def told() -> list[logging.LogRecord]:
        return [one for one in caplog.records if "does not take the reply" in one.getMessage()]

    async with RawAgent(binding) as agent:
        async with locum({"a": agent.url}, standin={"send_timeout": "500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SubscribeToTask")
            agent.tell(S("INPUT_REQUIRED", "which?"))
            await until(harness, row.id, "INPUT_REQUIRED")
            agent.on(SEND, ERROR)
            await harness.reply(row.id, "the red ones")
            await agent.until(lambda: bool(told()), 20, "a warning")
            await agent.seen(SEND, len(agent.calls(SEND)) + 2, timeout=30)
        (record,) = told()
        assert record.levelname == "WARNING"
        assert row.id in record.getMessage()
        assert len({seen.message["messageId"] for seen in agent.calls(SEND)[1:]}) == 1
