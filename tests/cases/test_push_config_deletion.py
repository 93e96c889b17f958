"""How the push config is deleted where the agent makes it hard, and when that is given up (F1)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from locum.adapters import Harness
from tests.agents.frames import EOF, ERR, EV, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CREATE = "CreateTaskPushNotificationConfig"
LIST = "ListTaskPushNotificationConfigs"
DELETE = "DeleteTaskPushNotificationConfig"
LATER = "2099-01-01T00:00:00Z"
BUSY = (503, {}, b"later")


def _parks(agent: RawAgent) -> None:
    """The agent takes the brief and parks at once."""
    agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
    agent.on("SendStreamingMessage", [EV(agent.task), EOF])


async def _registered(harness: Harness, agent: RawAgent) -> str:
    """A sub-task that is parked, with its config on the agent."""
    row = await harness.spawn("p", agent="a", goal="count")
    await harness.settled(row.id, timeout=10)
    await agent.seen("GetTask", timeout=5)
    return row.id


async def _revoked(harness: Harness, sub_task_id: str) -> dict[str, Any]:
    """The PushRevoked, once it is recorded."""
    with harness.changes(sub_task_id) as changed:
        async with asyncio.timeout(10):
            while (last := (await history(harness, sub_task_id))[-1])["type"] != "PushRevoked":
                await changed.wait()
                changed.clear()
    return last


@both
async def test_a_busy_agent_is_asked_again(binding: Any) -> None:
    """F1: an agent that is too busy to delete the config is asked again, until it has done so."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _registered(harness, agent)
            (config,) = agent.push_configs
            agent.on(LIST, BUSY)
            agent.on(DELETE, BUSY)
            await harness.cancel(sub_task_id)
            await agent.seen(DELETE, count=2, timeout=5)
            agent.on(DELETE)
            revoked = await _revoked(harness, sub_task_id)
            assert (revoked["outcome"], revoked["config_id"]) == ("deleted", config["id"])
            assert not agent.push_configs


@both
async def test_it_is_given_up_in_the_end(binding: Any) -> None:
    """F1: best effort: what cannot be deleted for as long as a send may take is left, and the record
    says so.
    """
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, standin={"send_timeout": "1s"}) as harness:
            sub_task_id = await _registered(harness, agent)
            agent.on(LIST, BUSY)
            agent.on(DELETE, BUSY)
            row = await harness.cancel(sub_task_id)
            assert row.state == "CANCELED"
            revoked = await _revoked(harness, sub_task_id)
            assert revoked["outcome"] == "failed"
            assert revoked["detail"].startswith("remote.busy")


@both
async def test_a_config_under_another_id(binding: Any) -> None:
    """F1: an agent that keeps the config under an id of its own is rid of it all the same."""
    async with RawAgent(binding, push=True) as agent:
        _parks(agent)

        async def create(seen: Seen, reply: Reply) -> None:
            agent.push_configs.append({**seen.params, "id": "its-own"})
            await reply.json(agent.push_configs[-1])

        async def delete(seen: Seen, reply: Reply) -> None:
            if seen.params["id"] == "its-own":
                agent.push_configs.clear()
                await reply.json({})
            else:
                await reply.play([ERR(-32001, "no such config")])

        agent.on(CREATE, create)
        agent.on(DELETE, delete)
        async with locum({"a": agent.url}, push=True) as harness:
            sub_task_id = await _registered(harness, agent)
            await harness.cancel(sub_task_id)
            assert (await _revoked(harness, sub_task_id))["outcome"] == "deleted"
            assert not agent.push_configs


@both
async def test_a_config_from_before_base_url_was_changed(binding: Any, tmp_path: Path) -> None:
    """F1: kept under an id of the agent's own, with a URL of earlier, it is deleted all the same."""
    kept: dict[str, Any] = {}
    async with RawAgent(binding, push=True) as agent:

        async def create(seen: Seen, reply: Reply) -> None:
            name = f"own-{len(agent.calls(CREATE))}"
            kept[name] = {**seen.params, "id": name}
            await reply.json(kept[name])

        async def listed(seen: Seen, reply: Reply) -> None:
            await reply.json({"configs": list(kept.values())})

        async def delete(seen: Seen, reply: Reply) -> None:
            if kept.pop(str(seen.params["id"]), None) is None:
                await reply.play([ERR(-32001, "no such config")])
            else:
                await reply.json({})

        _parks(agent)
        for method, answer in ((CREATE, create), (LIST, listed), (DELETE, delete)):
            agent.on(method, answer)
        store = f"sqlite:///{tmp_path / 'locum.db'}"
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            sub_task_id = await _registered(harness, agent)
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            await agent.seen(CREATE, count=2, timeout=10)
            await harness.cancel(sub_task_id)
            await _revoked(harness, sub_task_id)
            assert kept == {}
