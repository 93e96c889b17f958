"""The agent `self` when its process ends: what waited goes on waiting, what was under way has ended."""

import asyncio
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client.errors import A2AClientError
from a2a.helpers import get_message_text
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import A2AError

from locum.adapters.store.verify import verify
from tests.integration.foreman import BINDINGS, Served, asked, state

from .apprentice import CARD, Apprentice
from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)
ends = pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL], ids=lambda sign: sign.name)
ENDED = "The process that worked on this task has ended, and its work with it."


class Parent:
    """A locum with a `self`, and what a parent asks of it."""

    def __init__(self, locum: LocumProcess, http: httpx.AsyncClient) -> None:
        self.locum = locum
        self.http = http

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer."""
        answer = await self.http.request(method, f"/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def spawn(self, goal: str) -> str:
        """Hand work to `self`; its id."""
        body = {"agent": "self", "goal": goal}
        return str((await self.ask("POST", "/parents/p/sub-tasks", body))["id"])

    async def reply(self, key: str, text: str) -> None:
        """Answer its question."""
        await self.ask("POST", f"/sub-tasks/{key}/reply", {"text": text})

    async def row(self, key: str) -> Any:
        """One row."""
        return await self.ask("GET", f"/sub-tasks/{key}")

    async def events(self, key: str) -> list[Any]:
        """The events of a sub-task."""
        return list((await self.ask("GET", f"/sub-tasks/{key}/events"))["events"])

    async def until(self, key: str, state: str, text: str | None = None) -> Any:
        """The row, once it is in the state, with the text where one is given."""
        async with asyncio.timeout(20):
            while (row := await self.row(key))["state"] != state or text not in (None, row["text"]):
                await asyncio.sleep(0.1)
        return row

    async def rings(self, key: str) -> None:
        """Return when `self` has a push config of the stand-in's, who needs one to hear more."""
        wanted = ListTaskPushNotificationConfigsRequest(
            task_id=(await self.row(key))["remote_task_id"]
        )
        async with (
            asked(self.locum.base_url, Apprentice(), BINDINGS[0]) as self_,
            asyncio.timeout(20),
        ):
            while not (await self_.client.list_task_push_notification_configs(wanted)).configs:
                await asyncio.sleep(0.1)

    async def told(self) -> list[tuple[str, str]]:
        """The sub-task and the kind of all that the model was told."""
        notes = await self.ask("GET", "/parents/p/notifications")
        return [(note["sub_task_id"], note["kind"]) for note in notes["notifications"]]

    async def restart(self, sign: signal.Signals) -> None:
        """End the process and start it again on the same file."""
        self.locum.send(sign)
        assert await self.locum.ended() == (-sign if sign == signal.SIGKILL else 0)
        await self.locum.start()


@asynccontextmanager
async def parent(folder: Path, updates: str = "push") -> AsyncIterator[Parent]:
    """A served locum whose `self` is an apprentice."""
    async with AsyncExitStack() as stack:
        locum = LocumProcess(folder, {}, card=CARD, agents_defaults={"updates": updates})
        stack.push_async_callback(locum.close)
        await locum.start()
        http = httpx.AsyncClient(base_url=locum.base_url, trust_env=False, timeout=30)
        yield Parent(locum, await stack.enter_async_context(http))


async def sent(self_: Served, text: str) -> Task:
    """The task that came of a message."""
    *_, last = await self_.send(text)
    key = last.task.id or last.status_update.task_id
    return await self_.client.get_task(GetTaskRequest(id=key))


@ends
async def test_a_question_outlives_its_process(tmp_path: Path, sign: signal.Signals) -> None:
    """F4, I1: what `self` has asked is asked after the restart too, and the reply goes on with it."""
    async with parent(tmp_path) as p:
        asks, logs_in, done = [await p.spawn(goal) for goal in ("ask", "log in", "sums")]
        before = [
            await p.until(asks, "INPUT_REQUIRED", "Which?"),
            await p.until(logs_in, "AUTH_REQUIRED", "Where?"),
            await p.until(done, "COMPLETED", "half and half"),
        ]
        for _ in range(2):
            for key in (asks, logs_in):
                await p.rings(key)
            await p.restart(sign)
            after = [await p.row(row["id"]) for row in before]
            assert [(row["state"], row["text"]) for row in after] == [
                (row["state"], row["text"]) for row in before
            ]
        assert sorted(await p.told()) == sorted(
            [(asks, "question"), (logs_in, "authorization"), (done, "ended")]
        )
        for key in (asks, logs_in):
            await p.rings(key)
            await p.reply(key, "the red ones")
            await p.until(key, "COMPLETED", "half and half")


@ends
async def test_a_question_can_be_cancelled(tmp_path: Path, sign: signal.Signals) -> None:
    """F2, I1: a question that outlived its process is cancelled as any other."""
    async with parent(tmp_path) as p:
        key = await p.spawn("ask")
        await p.until(key, "INPUT_REQUIRED")
        await p.restart(sign)
        await p.ask("POST", f"/sub-tasks/{key}/cancel", {})
        await p.until(key, "CANCELED")
        [end] = [one for one in await p.events(key) if one["type"] == "Resolved"]
        assert end["confirmed"]


@pytest.mark.parametrize("updates", ["push", "follow"])
@ends
async def test_the_stand_in_goes_on_watching(
    tmp_path: Path, sign: signal.Signals, updates: str
) -> None:
    """I1: somebody else answers `self` after the restart, and the stand-in hears what comes of it."""
    async with parent(tmp_path, updates) as p:
        key = await p.spawn("ask")
        row = await p.until(key, "INPUT_REQUIRED")
        if updates == "push":
            await p.rings(key)
        await p.restart(sign)
        if updates == "push":
            await p.rings(key)
        task = Task(id=row["remote_task_id"], context_id=row["context_id"])
        async with asked(p.locum.base_url, Apprentice(), BINDINGS[0]) as self_:
            await self_.send("the red ones", task)
        await p.until(key, "COMPLETED", "half and half")
    assert verify(f"sqlite:///{p.locum.store}").faults == []


@ends
async def test_work_under_way_ends_with_its_process(tmp_path: Path, sign: signal.Signals) -> None:
    """F4, E7: what `self` was working at has failed, and says why: nobody works on it any more."""
    async with parent(tmp_path) as p:
        slow, asks = await p.spawn("slow"), await p.spawn("ask")
        await p.until(asks, "INPUT_REQUIRED")
        await p.reply(asks, "slow")
        for key in (slow, asks):
            await p.until(key, "WORKING", "counting")
        await p.restart(sign)
        for key in (slow, asks):
            row = await p.until(key, "FAILED")
            assert ENDED in (row["text"], row["status_text"])
            # At an orderly stop it could be kept how far the work had come.
            parts = [part["text"] for one in row["artifacts"] for part in one["parts"]]
            assert parts == (["half"] if sign == signal.SIGTERM else parts)
            assert "remote.gone" not in str(await p.events(key))
    assert verify(f"sqlite:///{p.locum.store}").faults == []


@ends
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_caller_of_self(tmp_path: Path, sign: signal.Signals, binding: str) -> None:
    """A9, I1: get, list, subscribe and a reply find after a restart what was there before it."""
    async with parent(tmp_path) as p:
        async with asked(p.locum.base_url, Apprentice(), binding) as self_:
            asks, done = await sent(self_, "ask"), await sent(self_, "sums")
        await p.restart(sign)
        async with asked(p.locum.base_url, Apprentice(), binding) as self_:
            for before in (asks, done):
                assert await self_.client.get_task(GetTaskRequest(id=before.id)) == before
            listed = await self_.client.list_tasks(ListTasksRequest(page_size=1))
            assert (listed.total_size, [one.id for one in listed.tasks]) == (2, [done.id])
            heard: list[str] = []
            subscribed = self_.client.subscribe(SubscribeToTaskRequest(id=asks.id))
            async for one in subscribed:
                heard.append("artifact" if one.HasField("artifact_update") else state(one))
                if len(heard) == 1:
                    replying = asyncio.create_task(self_.send("the red ones", asks))
            assert heard == ["INPUT_REQUIRED", "WORKING", "artifact", "artifact", "COMPLETED"]
            await replying
            got = await self_.client.get_task(GetTaskRequest(id=asks.id))
            assert [part.text for part in got.artifacts[0].parts] == ["half", " and half"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_full_disk(tmp_path: Path, binding: str) -> None:
    """I4: what `self` cannot keep is told to its caller and the log, and it goes on."""
    async with parent(tmp_path) as p:
        url, large = p.locum.base_url, "sums " * 40_000
        async with asked(url, Apprentice(), binding) as self_:
            asks, _ = await sent(self_, "ask"), await sent(self_, large)
            p.locum.limit_files(64 * 1024)
            for text, about in (("sums", None), ("the red ones", asks)):
                with pytest.raises((A2AError, A2AClientError), match="Its log has the reason"):
                    await self_.send(text, about)
            p.locum.limit_files(resource.RLIM_INFINITY)
            assert f"task {asks.id} of self could not be kept" in p.locum.log.read_text()
            assert (await sent(self_, "more sums")).artifacts
            failed = await self_.client.get_task(GetTaskRequest(id=asks.id))
            assert "could not keep" in get_message_text(failed.status.message)
        await p.restart(signal.SIGTERM)
        async with asked(url, Apprentice(), binding) as self_:
            assert await self_.client.get_task(GetTaskRequest(id=asks.id)) == failed
            assert (await self_.client.list_tasks(ListTasksRequest())).total_size == 3
