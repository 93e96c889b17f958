"""A brief of which one copy may have arrived: what becomes of the next one proves nothing (C7, I2)."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.frames import ERR, RST
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, until
from tests.loops import Timers

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
BUSY = (503, {"Retry-After": "40"}, b"later")
PATIENT = {"send_timeout": "60s"}


def _agent(binding: Any, then: Any) -> RawAgent:
    """An agent that takes the first copy, hangs up, and lists nothing; `then` meets the next one."""
    agent = RawAgent(binding)

    async def take(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        await reply.play([RST])

    agent.on(SEND, take, then)
    agent.on("ListTasks", ERR(-32601, "no lists"))
    return agent


def _table(agent: RawAgent) -> dict[str, Any]:
    return {"a": {"url": agent.url, "resend": "same-id"}}


@both
@pytest.mark.parametrize(
    "then, said",
    [
        (ERR(-32600, "duplicate messageId"), "duplicate messageId"),
        ((503, {"Retry-After": "40"}, b"later"), "later"),
    ],
    ids=["refused", "busy"],
)
async def test_a_later_copy_is_refused(binding: Any, then: Any, said: str) -> None:
    """C7, I2: one copy was in doubt, the next is refused, or not taken for as long as a send is
    tried: it is not known whether the brief arrived, and the record says so.
    """
    async with _agent(binding, then) as agent, locum(_table(agent)) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        row = await until(harness, row.id, "FAILED")
        (*_, last) = await harness.events(row.id)
        assert (last["code"], last["delivery"]) == ("delivery.unknown", "unknown")
        assert "not known whether the brief arrived" in row.account
        assert row.text == said
        assert len(agent.calls(SEND)) == 2
        # Each copy was followed by a search.
        assert len(agent.calls("ListTasks")) == 2


@both
async def test_a_later_copy_is_found_under_its_task(binding: Any) -> None:
    """C7, I2: the agent refuses the second copy for having the first, and can list it by then."""
    async with _agent(binding, ERR(-32600, "duplicate messageId")) as agent:
        agent.on("ListTasks", ERR(-32601, "no lists"), agent.answer)
        async with locum(_table(agent)) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "WORKING")
            assert row.remote_task_id == "t1"


@both
async def test_a_cancel_is_not_confirmed_by_a_later_copy(
    binding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2, C7: cancelled while the second copy is not taken: the first may be at work."""
    retries = Timers(monkeypatch, 40)
    async with _agent(binding, BUSY) as agent, locum(_table(agent), standin=PATIENT) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        await retries.one_more()
        row = await harness.cancel(row.id)
        assert (row.state, row.anomalies) == ("CANCELED", ("cancel.unconfirmed",))


@both
async def test_the_next_process_is_in_doubt_too(
    binding: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """I2, F4: stopped while the second copy is not taken: the next start looks for the first."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    retries = Timers(monkeypatch, 40)
    async with _agent(binding, BUSY) as agent:
        async with locum(_table(agent), store=store, standin=PATIENT) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await retries.one_more()
        agent.on("ListTasks")
        async with locum(_table(agent), store=store) as harness:
            row = await until(harness, row.id, "WORKING")
            assert row.remote_task_id == "t1"
        assert len(agent.calls(SEND)) == 2
