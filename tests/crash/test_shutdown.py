"""locum is told to stop in the middle of everything: in good order, soon, and nothing changes by it."""

import asyncio
import re
import signal
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx
import pytest

from locum.adapters.store import Journal
from tests.agents.frames import HOLD, S
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.stores import logged

from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)

FOLLOWED = 50
SENT = 4
SOON = 3.0
"""Seconds: more than the second that D11 allows, for busy machines, and less than any waiting."""
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING) locum[.\w]*: \S")


class Scene:
    """An agent of each binding, and a locum that has much to do with both."""

    def __init__(self, http: httpx.AsyncClient, agents: dict[str, RawAgent]) -> None:
        self.http = http
        self.agents = agents
        self.readers: list[asyncio.Task[str]] = []

    async def spawn(self, agent: str, query: str = "", **brief: object) -> str:
        """Hand out work; its id."""
        answer = await self.http.post(
            f"/v1/parents/p/sub-tasks{query}", json={"agent": agent, "goal": "count", **brief}
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def fill(self) -> None:
        """Streams, sends, calls and waiting requests, all under way at once."""
        for name, agent in self.agents.items():
            ids = await asyncio.gather(*(self.spawn(name) for _ in range(FOLLOWED)))
            await agent.seen("SubscribeToTask", count=FOLLOWED, timeout=30)
            # A look that is not answered, a cancel that is not, and a reply that is not.
            agent.on("GetTask", [HOLD])
            agent.tell(S("COMPLETED", task="t2", context="c2"))
            agent.on("CancelTask", [HOLD])
            self._start(self.http.post(f"/v1/sub-tasks/{ids[2]}/cancel", json={}))
            await agent.seen("GetTask", timeout=10)
            await agent.seen("CancelTask", timeout=10)
            agent.on("SendStreamingMessage", [HOLD])
            for _ in range(SENT):
                await self.spawn(name)
            self._start(self.http.get("/v1/parents/p/notifications/stream"))
            self._start(self._waiting(name))
            await agent.seen("SendStreamingMessage", count=FOLLOWED + SENT + 1, timeout=10)

    def _start(self, request: object) -> None:
        async def outcome() -> str:
            try:
                answer = await request  # type: ignore[misc]  # a coroutine of httpx's
            except httpx.HTTPError as error:
                return type(error).__name__
            return str(answer.status_code)

        self.readers.append(asyncio.create_task(outcome()))

    async def _waiting(self, agent: str) -> httpx.Response:
        return await self.http.post(
            "/v1/parents/p/sub-tasks?wait=settled", json={"agent": agent, "goal": "count"}
        )


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=lambda sign: sign.name)
async def test_a_stop_with_much_under_way(tmp_path: Path, sign: signal.Signals) -> None:
    """F4: every connection to an agent closes soon, the process ends well, and no state changes."""
    async with AsyncExitStack() as stack:
        agents = {
            "rpc": await stack.enter_async_context(RawAgent("JSONRPC")),
            "rest": await stack.enter_async_context(RawAgent("HTTP+JSON")),
        }
        tables = {name: {"url": agent.url} for name, agent in agents.items()}
        locum = LocumProcess(
            tmp_path, tables, standin={"quiet_check": "60s", "cancel_grace": "60s"}
        )
        stack.push_async_callback(locum.close)
        await locum.start()
        http = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=locum.base_url,
                trust_env=False,
                timeout=30,
                limits=httpx.Limits(max_connections=None),
            )
        )
        scene = Scene(http, agents)
        await scene.fill()
        # Somebody sends a request and never finishes it.
        reader, writer = await asyncio.open_connection("127.0.0.1", locum.port)
        writer.write(b"POST /v1/parents/p/sub-tasks HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        writer.write(b"content-type: application/json\r\ncontent-length: 100\r\n")
        writer.write(b"expect: 100-continue\r\n\r\n")
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"{")
        before = logged(locum.store)

        locum.send(sign)
        async with asyncio.timeout(10):
            for agent in agents.values():
                await agent.all_closed(timeout=SOON)
            assert await locum.ended() == 0
        assert logged(locum.store) == before
        assert all(await asyncio.gather(*scene.readers))
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        lines = locum.log.read_text().splitlines()
        assert "\n".join(line for line in lines if not LOG_LINE.match(line)) == ""
        async with Journal.open(f"sqlite:///{locum.store}", create=False) as journal:
            rows = await journal.views.rows("p", unresolved=True)
            assert len(rows) == 2 * (FOLLOWED + SENT + 1)


async def test_a_second_signal_does_not_hurry_it_out_of_order(tmp_path: Path) -> None:
    """F4: told twice, it still ends in good order."""
    async with RawAgent() as agent:
        locum = LocumProcess(tmp_path, {"a": {"url": agent.url}})
        try:
            await locum.start()
            async with httpx.AsyncClient(base_url=locum.base_url, trust_env=False) as http:
                answer = await http.post(
                    "/v1/parents/p/sub-tasks?wait=linked", json={"agent": "a", "goal": "count"}
                )
                assert answer.json()["remote_task_id"] == "t1"
            await agent.seen("SubscribeToTask")
            locum.send(signal.SIGINT)
            locum.send(signal.SIGTERM)
            await agent.all_closed(timeout=SOON)
            assert await locum.ended() == 0
            lines = locum.log.read_text().splitlines()
            assert "\n".join(line for line in lines if not LOG_LINE.match(line)) == ""
        finally:
            await locum.close()


async def test_a_stop_while_it_starts(tmp_path: Path) -> None:
    """F4: told while it starts, with an agent whose card does not come: it ends all the same."""

    async def never(seen: Seen, reply: Reply) -> None:
        await reply.hold()

    async with RawAgent() as agent:
        agent.on("AgentCard", never)
        locum = LocumProcess(tmp_path, {"a": {"url": agent.url}})
        try:
            await locum.start(ready=False)
            await agent.seen("AgentCard", timeout=40)
            locum.send(signal.SIGTERM)
            await agent.all_closed(timeout=SOON)
            assert await locum.ended() == 0
            lines = locum.log.read_text().splitlines()
            assert "\n".join(line for line in lines if not LOG_LINE.match(line)) == ""
        finally:
            await locum.close()
