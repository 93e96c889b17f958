"""The check of an agent: a lawful one is clean, and whatever happens nothing is left behind."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from locum.adapters.a2a.checkup.examination import MESSAGE, Patience
from locum.adapters.a2a.wire.anomalies import ANOMALIES, EXPECTED

from ..agents.frames import HOLD
from ..agents.process import LawfulAgent, lawful_agent
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import CREATE, LIST, SEND, SUBSCRIBE, both, checked, codes, outcomes


@both
@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        '[[ work "looking"; artifact a "one"; append a " two" last; complete ]]',
        '[[ message "hello" ]]',
        '[[ work; ask "which?" ]]',
        '[[ auth "who are you?" until never ]]',
        '[[ work; artifact a "one" last; hang ]]',
        '[[ fail "cannot" ]]',
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_lawful_agent_is_clean(binding: Any, text: str, agent: LawfulAgent) -> None:
    """K2: with a2a-sdk's own server there is nothing to find, whatever becomes of the task."""
    await agent.forget()
    checkup = await checked(agent.url, text=text, bindings=(binding,))
    assert checkup.interface is not None
    assert checkup.interface.binding == binding
    assert (checkup.ok, codes(checkup), checkup.refusals) == (True, set(), [])
    assert set(outcomes(checkup).values()) <= {"ok", "left_out"}
    assert checkup.left_behind == []
    await agent.wait_streams(0)
    sent = [seen["params"] for seen in await agent.requests(SEND)]
    assert [one["message"]["parts"] for one in sent] == [[{"text": text}]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent() -> AsyncIterator[LawfulAgent]:
    """One for the whole module, in both bindings: a start takes seconds."""
    async with lawful_agent(binding="both") as running:
        yield running


@both
async def test_a_call_that_is_not_allowed_ends_the_round(binding: Any) -> None:
    """K4: what would come to the same every time is tried once."""
    async with RawAgent(binding) as agent:
        agent.on(SEND, (401, {"www-authenticate": "Bearer"}, b""))
        checkup = await checked(agent.url)
        assert codes(checkup) == {("remote.unauthorized", SEND)}
        assert outcomes(checkup)["everything else"] == "left_out"
        assert [seen.method for seen in agent.calls()] == [SEND]


@both
async def test_the_check_clears_away(binding: Any) -> None:
    """D11: the task is cancelled, the config deleted, every connection closed."""
    async with RawAgent(binding) as agent:
        assert (await checked(agent.url)).ok
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        (created,) = agent.calls(CREATE)
        assert created.params["url"].startswith("http://127.0.0.1:9/")
        assert agent.push_configs == []
        await agent.until(lambda: not agent.open_connections, timeout=1)


@both
@pytest.mark.parametrize("method", [SUBSCRIBE, CREATE, LIST, "ListTasks"])
async def test_a_check_that_is_interrupted_clears_away(binding: Any, method: str) -> None:
    """D11: broken off in the middle, the check takes back what it has done."""
    async with RawAgent(binding) as agent:

        async def hangs(seen: Seen, reply: Reply) -> None:
            if method == CREATE:
                agent.push_configs.append(seen.params)
            await reply.hold()

        agent.on(method, hangs)
        check = asyncio.create_task(checked(agent.url))
        await agent.seen(method)
        check.cancel()
        with pytest.raises(asyncio.CancelledError):
            await check
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        assert agent.push_configs == []
        await agent.all_closed(timeout=1)


@both
async def test_a_message_whose_answer_is_lost(binding: Any) -> None:
    """I2: a task of which nothing was heard is looked for by the message's id, and cancelled."""

    async def lost(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        await reply.reset()

    async with RawAgent(binding) as agent:
        agent.on(SEND, lost)
        checkup = await checked(agent.url)
        assert codes(checkup) == {("remote.reset", SEND)}
        assert agent.task["status"]["state"] == "TASK_STATE_CANCELED"
        assert checkup.left_behind == []


@both
async def test_an_agent_that_hangs(binding: Any) -> None:
    """J3: the check is over in time, and says where it waited in vain."""
    async with RawAgent(binding) as agent:
        for method in (SEND, "GetTask", "ListTasks", "CancelTask", SUBSCRIBE):
            agent.on(method, [HOLD])
        hasty = Patience(whole=1, first=0.2, step=0.3, clearing=0.2)
        checkup = await checked(agent.url, patience=hasty)
        assert ("remote.timeout", SEND) in codes(checkup)
        assert "check.too_slow" in {found.code for found in checkup.findings}
        assert checkup.left_behind == ["task (unknown): not ended within 0.2 s"]
        await agent.all_closed(timeout=1)


def test_a_check_takes_less_than_a_minute() -> None:
    """J3: whatever an agent does: the round, two things to clear away, and the stream's end."""
    patience = Patience()
    assert patience.whole + 3 * patience.clearing + patience.closing < 60


def test_every_anomaly_says_what_belongs_there() -> None:
    """K2: what was met, and what A2A 1.0 has there, for each of them."""
    assert list(ANOMALIES) == list(EXPECTED) == sorted(EXPECTED)
    assert all(expected.endswith(".") for expected in EXPECTED.values())
