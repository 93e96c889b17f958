"""The disk is full for a while: whoever asked is told, nothing half-done is seen, and it goes on."""

import asyncio
import resource
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.frames import S
from tests.agents.raw import RawAgent

from .audit import faults
from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)

FULL = 64 * 1024
"""Bytes: no file of locum's grows past this while its disk is full."""


class Parent:
    """What a parent does over HTTP."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        answer = await self._http.request(method, f"/v1{path}", json=body)
        return answer.status_code, answer.json()

    async def spawn(self, **brief: Any) -> tuple[int, Any]:
        """Hand out work."""
        return await self.ask("POST", "/parents/p/sub-tasks", {"agent": "a", "goal": "g"} | brief)

    async def row(self, key: str) -> Any:
        """One row."""
        return (await self.ask("GET", f"/sub-tasks/{key}"))[1]

    async def until(self, key: str, state: str) -> Any:
        """The row, once it is in the state."""
        async with asyncio.timeout(20):
            while (row := await self.row(key))["state"] != state:
                await asyncio.sleep(0.1)
        return row

    async def seen(self) -> Any:
        """All that a parent can see."""
        paths = ("/parents/p/sub-tasks", "/parents/p/notifications")
        return [(await self.ask("GET", path))[1] for path in paths]


async def test_a_full_disk(tmp_path: Path) -> None:
    """I4: a write that fails is told to its caller, nothing of it is seen, and the server goes on."""
    async with RawAgent() as agent:
        locum = LocumProcess(tmp_path, {"a": {"url": agent.url}})
        try:
            await locum.start()
            async with httpx.AsyncClient(
                base_url=locum.base_url, trust_env=False, timeout=30
            ) as http:
                await _through_a_full_disk(Parent(http), agent, locum)
        finally:
            await locum.close()
    assert faults(locum.store) == {}


async def _through_a_full_disk(parent: Parent, agent: RawAgent, locum: LocumProcess) -> None:
    # A long brief makes the files larger than they may be in a moment.
    _, works = await parent.spawn(description="long " * 60_000)
    _, asks = await parent.spawn()
    await agent.seen("SubscribeToTask", count=2)
    agent.tell(S("INPUT_REQUIRED", "which?", task="t2", context="c2"))
    await parent.until(asks["id"], "INPUT_REQUIRED")
    before, sends = await parent.seen(), len(agent.calls("SendStreamingMessage"))

    locum.limit_files(FULL)
    for status, problem in (
        await parent.spawn(),
        await parent.spawn(idempotency_key="k"),
        await parent.ask("POST", f"/sub-tasks/{asks['id']}/reply", {"text": "that one"}),
    ):
        assert (status, problem["code"]) == (503, "store.failed")
        assert "full" in problem["title"] or "I/O" in problem["title"]
    agent.complete("12", task="t1")
    # The end cannot be recorded yet, and is kept until it can be.
    async with asyncio.timeout(20):
        while "recorded as soon as it can be" not in locum.log.read_text():
            await asyncio.sleep(0.05)
    assert await parent.seen() == before
    assert len(agent.calls("SendStreamingMessage")) == sends
    assert (await parent.ask("GET", "/agents"))[0] == 200

    locum.limit_files(resource.RLIM_INFINITY)
    assert (await parent.until(works["id"], "COMPLETED"))["text"] == "12"
    status, keyed = await parent.spawn(idempotency_key="k")
    assert status == 201
    status, _ = await parent.ask("POST", f"/sub-tasks/{asks['id']}/reply", {"text": "that one"})
    assert status == 202
    await agent.seen("SendStreamingMessage", count=sends + 2)
    agent.complete("13", task="t2")
    await parent.until(asks["id"], "COMPLETED")
    await parent.until(keyed["id"], "WORKING")
    _, feed = await parent.ask("GET", "/parents/p/notifications")
    told = sorted((note["sub_task_id"], note["kind"]) for note in feed["notifications"])
    assert told == sorted([(works["id"], "ended"), (asks["id"], "question"), (asks["id"], "ended")])
    assert len((await parent.seen())[0]["sub_tasks"]) == 3
