"""The push config on an agent that is slow to take it, or quotes what it holds (D2, D3, F1)."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CREATE = "CreateTaskPushNotificationConfig"
DELETE = "DeleteTaskPushNotificationConfig"
T1, T2 = "2099-01-01T00:00:00Z", "2099-01-02T00:00:00Z"


def _parks(agent: RawAgent) -> None:
    """The agent takes the brief and parks at once."""
    asked = T("INPUT_REQUIRED", "which?", ts=T1)
    agent.put(asked)
    agent.on("SendStreamingMessage", [EV(asked), EOF])


async def _revoked(harness: Any, sub_task_id: str) -> dict[str, Any]:
    """The PushRevoked, once it is recorded."""
    async with asyncio.timeout(10):
        while True:
            last = (await history(harness, sub_task_id))[-1]
            if last["type"] == "PushRevoked":
                return last
            await asyncio.sleep(0.02)


@both
@pytest.mark.parametrize(
    "around", ["token {}", "x-{}_y", "{{'token': '{}', 'credentials': '{}'}}", "{}" + "-é" * 600]
)
async def test_an_agent_that_quotes_the_config_it_keeps(
    binding: Any, around: str, caplog: pytest.LogCaptureFixture
) -> None:
    """D2: the token is in no event and no log when an error about the deletion quotes it."""
    caplog.set_level("DEBUG", logger="locum")
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen("GetTask")
            token = agent.push_configs[-1]["token"]
            agent.on(DELETE, ERR(-32602, "no: " + around.format(token, token)))
            agent.on("ListTaskPushNotificationConfigs", ERR(-32602, "no"))
            await harness.cancel(row.id)
            revoked = await _revoked(harness, row.id)
            assert revoked["outcome"] == "failed"
            assert "no: " in revoked["detail"]
            assert "****" in revoked["detail"]
            assert token not in str(await history(harness, row.id))
            assert token not in caplog.text


@both
async def test_a_token_that_was_cut_is_not_kept_by_half(binding: Any) -> None:
    """D2: of a token that an error would be cut in the middle of, nothing is left."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen("GetTask")
            token = agent.push_configs[-1]["token"]
            agent.on(DELETE, ERR(-32602, "." * 970 + " " + token))
            await harness.cancel(row.id)
            agent.on("ListTaskPushNotificationConfigs", ERR(-32602, "no"))
            detail = (await _revoked(harness, row.id))["detail"]
            assert "......" in detail
            assert token[:8] not in detail


@both
async def test_an_end_while_the_config_is_being_created(binding: Any) -> None:
    """F1: what the agent stores only after the deletion is deleted as well."""
    may_store = asyncio.Event()
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)

        async def slow(seen: Seen, reply: Reply) -> None:
            await may_store.wait()
            agent.push_configs.append({"id": "theirs", **seen.params})
            await reply.json(seen.params)

        agent.on(CREATE, slow)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen(CREATE)
            await harness.cancel(row.id)
            await agent.seen(DELETE)
            await agent.seen("ListTaskPushNotificationConfigs")
            may_store.set()
            await agent.until(lambda: bool(agent.push_configs), what="a late config")
            assert (await _revoked(harness, row.id))["outcome"] == "deleted"
            assert not agent.push_configs


@both
async def test_a_push_before_the_registration_is_answered(binding: Any) -> None:
    """D3: an agent that keeps the config and pushes before it answers is heard at once."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)

        async def never(seen: Seen, reply: Reply) -> None:
            agent.push_configs.append({"id": "theirs", **seen.params})
            await reply.hold()

        agent.on(CREATE, never)
        async with locum({"a": agent.url}, push=True, standin={"send_timeout": "60s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen(CREATE)
            await agent.push(S("WORKING", ts=T1))
            await agent.seen("GetTask")
            assert len(agent.calls(CREATE)) == 1
            agent.put(T("COMPLETED", "done", ts=T2))
            assert (await agent.push(S("COMPLETED", ts=T2))).status == 204
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
