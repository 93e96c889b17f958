"""What may be followed, and what a key that was seen before leads to (C10, C14)."""

from typing import Any

import pytest

from locum.core.errors import RequestError
from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
async def test_only_what_has_ended_is_followed(binding: Any) -> None:
    """C14: a sub-task that has not ended is not followed; nothing is recorded or sent."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await harness.spawn("p", agent="a", goal="count")
        await harness.linked(first.id, timeout=5)
        with pytest.raises(RequestError, match="wait for its end"):
            await harness.spawn("p", agent="a", goal="once more", follows=first.id)
        assert [row.id for row in await harness.rows("p")] == [first.id]
        assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_only_its_own_agent_goes_on(binding: Any) -> None:
    """C14: a context is one agent's; another is not handed it, and nothing is recorded or sent."""
    async with RawAgent(binding) as agent, RawAgent(binding) as other:
        agent.on("SendStreamingMessage", [EV(T("COMPLETED", artifacts=[A("a", "done")])), EOF])
        async with locum({"a": agent.url, "b": other.url}) as harness:
            first = await harness.spawn("p", agent="a", goal="count")
            first = await until(harness, first.id, "COMPLETED")
            with pytest.raises(RequestError, match="'a'"):
                await harness.spawn("p", agent="b", goal="once more", follows=first.id)
            assert [row.id for row in await harness.rows("p")] == [first.id]
            assert not other.calls("SendStreamingMessage")


@both
async def test_a_key_is_known_whatever_became_of_the_agent(binding: Any) -> None:
    """C10: a key that was seen before gives the first sub-task, though what else is said is another
    brief now, for an agent that there is not.
    """
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        first = await harness.spawn("p", agent="a", goal="count", idempotency_key="k")
        await harness.linked(first.id, timeout=5)
        again = await harness.spawn("p", agent="nobody", goal="other", idempotency_key="k")
        assert (again.id, again.goal, again.agent) == (first.id, "count", "a")
        assert len(await harness.rows("p")) == 1
        assert len(agent.calls("SendStreamingMessage")) == 1
