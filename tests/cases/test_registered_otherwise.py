"""Agents that register another push config than asked: another URL, an id of their own (D2, F1)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
CREATE = "CreateTaskPushNotificationConfig"
DELETE = "DeleteTaskPushNotificationConfig"
LIST = "ListTaskPushNotificationConfigs"
PROXY = "https://proxy.example/hook"


class Keeper:
    """An agent that keeps push configs in its own way."""

    def __init__(self, agent: RawAgent, **changes: str) -> None:
        self.kept: list[dict[str, Any]] = []
        self._changes = changes
        self._agent = agent
        asked = T("AUTH_REQUIRED", "Log in", ts="2099-01-01T00:00:00Z")
        agent.put(asked)
        agent.on("SendStreamingMessage", [EV(asked), EOF])
        agent.on(CREATE, self._create)
        agent.on(DELETE, self._delete)
        agent.on(LIST, ERR(-32601, "no such method"))

    async def _create(self, seen: Seen, reply: Reply) -> None:
        odd = seen.params["url"].replace("http", "HTTP", 1)
        fields = {"token": seen.params["token"], "odd": odd, "n": len(self.kept)}
        made = {name: value.format(**fields) for name, value in self._changes.items()}
        self.kept.append({**seen.params, **made})
        await reply.json(self.kept[-1])

    async def _delete(self, seen: Seen, reply: Reply) -> None:
        left = [config for config in self.kept if config["id"] != seen.params["id"]]
        if left == self.kept:
            await reply.play([ERR(-32001, "no such config")])
            return
        self.kept = left
        await reply.json({})

    def list_them(self) -> None:
        """From now on it lists what it keeps."""

        async def found(seen: Seen, reply: Reply) -> None:
            await reply.json({"configs": self.kept})

        self._agent.on(LIST, found)


async def _revoked(harness: Any, sub_task_id: str) -> dict[str, Any]:
    """The PushRevoked, once it is recorded."""
    async with asyncio.timeout(10):
        while (last := (await history(harness, sub_task_id))[-1])["type"] != "PushRevoked":
            await asyncio.sleep(0.02)
    return last


@both
@pytest.mark.parametrize("changes", [{"url": PROXY}, {"url": PROXY, "id": "own-7"}])
async def test_another_url_than_asked(binding: Any, changes: dict[str, str]) -> None:
    """D2: a config that rings elsewhere is deleted, and the task followed; the record says why."""
    async with RawAgent(binding, push=True) as agent:
        keeper = Keeper(agent, **changes)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            revoked = await _revoked(harness, row.id)
            assert revoked["outcome"] == "refused"
            assert revoked["detail"] == f"push.changed: The agent registered {PROXY} instead."
            assert not keeper.kept
            agent.put(T("COMPLETED", "done", ts="2099-01-02T00:00:00Z"))
            await until(harness, row.id, "COMPLETED")
            assert len(agent.calls(CREATE)) == 1


@both
async def test_another_url_that_has_the_token(binding: Any) -> None:
    """D2, case P10: a token that the agent puts into its URL is not recorded."""
    async with RawAgent(binding, push=True) as agent:
        keeper = Keeper(agent, url=PROXY + "?t={token}", id="own-7")
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            detail = (await _revoked(harness, row.id))["detail"]
            (created,) = agent.calls(CREATE)
            assert PROXY in detail
            assert created.params["token"] not in str(await history(harness, row.id))
            assert not keeper.kept


@both
async def test_the_same_url_in_another_spelling(binding: Any) -> None:
    """D2: the URL as the agent writes it, or none, is still the one that was asked for."""
    async with RawAgent(binding, push=True) as agent:
        for url in ("", "{odd}"):
            keeper = Keeper(agent, url=url)
            async with locum({"a": agent.url}, push=True) as harness:
                row = await harness.spawn("p", agent="a", goal="count")
                await until(harness, row.id, "AUTH_REQUIRED")
                await agent.seen("GetTask", timeout=5)
                assert (await harness.sub_task(row.id)).watch == "push"
                await harness.cancel(row.id)
                assert (await _revoked(harness, row.id))["outcome"] == "deleted"
                assert not keeper.kept
            agent.requests.clear()


@both
async def test_an_id_of_its_own_is_what_is_deleted(binding: Any) -> None:
    """F1: every config that the agent keeps under an id of its own goes, though it lists none."""
    async with RawAgent(binding, push=True) as agent:
        keeper = Keeper(agent, id="own-{n}")
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "AUTH_REQUIRED")
            await agent.seen("GetTask", timeout=5)
            agent.put(T("INPUT_REQUIRED", "Which hall?", ts="2099-01-02T00:00:00Z"))
            await agent.push(config=keeper.kept[-1])
            await agent.seen(CREATE, count=2, timeout=5)
            await until(harness, row.id, "INPUT_REQUIRED")
            await harness.cancel(row.id)
            assert (await _revoked(harness, row.id))["outcome"] == "deleted"
            assert not keeper.kept


@both
async def test_an_id_of_its_own_after_a_restart(binding: Any, tmp_path: Path) -> None:
    """F1, I1: after a restart the config is found in the list, by its URL."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    async with RawAgent(binding, push=True) as agent:
        keeper = Keeper(agent, id="own-{n}")
        keeper.list_them()
        async with locum({"a": agent.url}, push=True, store=store) as harness:
            port = int(str(harness.settings.server.base_url).rsplit(":", 1)[1])
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "AUTH_REQUIRED")
            await agent.seen("GetTask", timeout=5)
        async with locum({"a": agent.url}, push=True, port=port, store=store) as harness:
            await harness.cancel(row.id)
            assert (await _revoked(harness, row.id))["outcome"] == "deleted"
            assert not keeper.kept
