"""The tasks of `self` on a real store: what is written when, what is there again, what is not (I1)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.types.a2a_pb2 import (
    Artifact,
    ListTasksRequest,
    Message,
    Part,
    Role,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import InternalError

from locum.adapters.a2a.own.lasting_tasks import LastingTasks
from locum.adapters.store import Journal
from tests.stores import sqlite

CALL = ServerCallContext()
FULL = "CREATE TRIGGER full BEFORE INSERT ON own_tasks BEGIN SELECT RAISE(FAIL, 'it is full'); END"
"""Has every write of a task fail."""
CONFIGS = InMemoryPushNotificationConfigStore


class Shelf:
    """A journal, and what was asked of it; `hold` keeps a write from beginning."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.writes: list[tuple[list[str], list[str]]] = []
        self.held = asyncio.Event()
        self.free = asyncio.Event()
        self.free.set()

    async def keep_tasks(
        self, tasks: Sequence[tuple[str, str, bytes]], forgotten: Sequence[str]
    ) -> None:
        self.held.set()
        await self.free.wait()
        self.writes.append(([key for key, _, _ in tasks], list(forgotten)))
        await self._journal.keep_tasks(tasks, forgotten)

    async def kept_tasks(self, after: int, limit: int) -> Sequence[tuple[int, str, str, bytes]]:
        return await self._journal.kept_tasks(after, min(limit, 2))


@asynccontextmanager
async def opened(url: str, limit: int = 100) -> AsyncIterator[tuple[LastingTasks, Shelf]]:
    """The tasks as a `self` that starts has them."""
    async with Journal.open(url) as journal:
        shelf = Shelf(journal)
        async with LastingTasks(limit, CONFIGS(), shelf) as tasks:
            yield tasks, shelf


def task(state: str, words: str = "", key: str = "t1", parts: Sequence[str] = ()) -> Task:
    """A task in a state, which says these words."""
    status = TaskStatus(state=TaskState.Value(f"TASK_STATE_{state}"))
    if words:
        said = Message(message_id=words, role=Role.ROLE_AGENT, parts=[Part(text=words)])
        status.message.CopyFrom(said)
    artifact = Artifact(artifact_id="a", parts=[Part(text=part) for part in parts])
    return Task(id=key, context_id="c", status=status, artifacts=[artifact] if parts else [])


def caller(name: str) -> ServerCallContext:
    """A call by somebody whom an embedder has authenticated."""

    class Named(User):
        is_authenticated = True
        user_name = name

    return ServerCallContext(user=Named())


async def seen(tasks: LastingTasks, key: str = "t1") -> tuple[str, str]:
    """The state of a task and the words in its status."""
    found = await tasks.get(key, CALL)
    assert found is not None
    words = "".join(part.text for part in found.status.message.parts)
    return TaskState.Name(found.status.state).removeprefix("TASK_STATE_"), words


def rows(path: Path) -> list[str]:
    """The ids of the tasks on disk, in their order."""
    with sqlite(path) as connection:
        return [
            key for (key,) in connection.execute("SELECT task_id FROM own_tasks ORDER BY place")
        ]


async def test_few_writes(url: str) -> None:
    """I1: a task is written as it appears, parks and ends, not as it streams."""
    async with opened(url) as (tasks, shelf):
        steps = [
            (task("SUBMITTED"), 1),
            (task("WORKING"), 1),
            *((task("WORKING", parts=["x"] * n), 1) for n in range(1, 20)),
            (task("INPUT_REQUIRED", "Which?"), 2),
            (task("INPUT_REQUIRED", "Which one?"), 3),
            (task("INPUT_REQUIRED"), 3),  # a reply came: the SDK has the question in the history
            (task("WORKING"), 4),
            (task("WORKING", "counting"), 4),
            (task("COMPLETED", parts=["12"]), 5),
        ]
        for step, count in steps:
            await tasks.save(step, CALL)
            assert len(shelf.writes) == count, step
            assert await tasks.get("t1", CALL) == step
    async with opened(url) as (tasks, shelf):
        assert await tasks.get("t1", CALL) == steps[-1][0]
        assert shelf.writes == []


async def test_a_reply_that_nobody_took_up(url: str) -> None:
    """I3: stopped before the executor did anything about a reply, the question is there again."""
    async with opened(url) as (tasks, _):
        await tasks.save(task("INPUT_REQUIRED", "Which?"), CALL)
        replied = task("INPUT_REQUIRED")
        replied.history.append(Message(message_id="r", role=Role.ROLE_USER))
        await tasks.save(replied, CALL)
    async with opened(url) as (tasks, _):
        assert await tasks.get("t1", CALL) == task("INPUT_REQUIRED", "Which?")


async def test_what_was_under_way(url: str) -> None:
    """F4: SUBMITTED and WORKING are found failed, with what they had, in words, and only once."""
    async with opened(url) as (tasks, _):
        await tasks.save(task("SUBMITTED", key="t2"), CALL)
        await tasks.save(task("WORKING"), CALL)
        await tasks.save(task("WORKING", "counting", parts=["half"]), CALL)
    async with opened(url) as (tasks, shelf):
        for key in ("t1", "t2"):
            state, words = await seen(tasks, key)
            assert (state, words.partition(" has ended")[0]) == (
                "FAILED",
                "The process that worked on this task",
            )
        found = await tasks.get("t1", CALL)
        assert found is not None
        assert [message.message_id for message in found.history] == ["counting"]
        assert found.artifacts[0].parts[0].text == "half"
        assert len(shelf.writes) == 1
    async with opened(url) as (tasks, shelf):
        assert await tasks.get("t1", CALL) == found
        assert shelf.writes == []


async def test_the_stalest_is_forgotten_on_disk_too(url: str, path: Path) -> None:
    """J3: no more tasks on disk than in memory, also when the limit is lower than it was."""
    async with opened(url, 3) as (tasks, _):
        for number in range(5):
            await tasks.save(task("COMPLETED", key=f"t{number}"), CALL)
            if number == 2:
                await tasks.save(task("WORKING", key="t0"), CALL)
                await tasks.save(task("COMPLETED", key="t0"), CALL)
        assert rows(path) == ["t0", "t3", "t4"]
        await tasks.delete("t3", caller("eve"))
        await tasks.delete("t3", CALL)
        await tasks.delete("t3", CALL)
        assert rows(path) == ["t0", "t4"]
    async with opened(url, 1) as (tasks, _):
        assert rows(path) == ["t4"]
        assert (await tasks.list(ListTasksRequest(), CALL)).total_size == 1


async def test_whose_they_are(url: str) -> None:
    """A9: where an embedder authenticates callers, each finds their own tasks, and no other's."""
    async with opened(url) as (tasks, _):
        await tasks.save(task("COMPLETED", key="t1"), caller("ada"))
        await tasks.save(task("INPUT_REQUIRED", key="t2"), caller("bob"))
    async with opened(url) as (tasks, _):
        for name, key in (("ada", "t1"), ("bob", "t2")):
            listed = await tasks.list(ListTasksRequest(), caller(name))
            assert [one.id for one in listed.tasks] == [key]
        assert await tasks.get("t2", caller("ada")) is None
        assert await tasks.get("t1", CALL) is None


async def test_a_caller_that_leaves(url: str) -> None:
    """I4: what was to be kept is kept, and seen, also when its caller waits no longer."""
    async with opened(url) as (tasks, shelf):
        await tasks.save(task("INPUT_REQUIRED", "Which?"), CALL)
        shelf.free.clear()
        shelf.held.clear()
        leaving = asyncio.create_task(tasks.save(task("CANCELED"), CALL))
        await shelf.held.wait()
        assert await seen(tasks) == ("INPUT_REQUIRED", "Which?")
        leaving.cancel()
        await asyncio.wait({leaving})
        shelf.free.set()
    async with opened(url) as (tasks, _):
        assert await seen(tasks) == ("CANCELED", "")


async def test_many_at_once(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """J4: what waits while one write is under way is the next; what cannot be kept is alone in it."""
    async with opened(url) as (tasks, shelf):
        shelf.free.clear()
        first = asyncio.create_task(tasks.save(task("COMPLETED", key="t0"), CALL))
        await shelf.held.wait()
        others = [
            asyncio.create_task(
                tasks.save(task("COMPLETED", key=f"t{n}"), caller("\ud800") if n == 2 else CALL)
            )
            for n in range(1, 4)
        ]
        await asyncio.sleep(0)
        shelf.free.set()
        done = await asyncio.gather(first, *others, return_exceptions=True)
        assert [type(one) for one in done] == [type(None), type(None), InternalError, type(None)]
        batches = [keys for keys, _ in shelf.writes]
        assert batches == [["t0"], ["t1", "t2", "t3"], ["t1"], ["t2"], ["t3"]]
        assert "task t2 of self could not be kept" in caplog.text
    async with opened(url) as (tasks, _):
        listed = await tasks.list(ListTasksRequest(), CALL)
        assert sorted(one.id for one in listed.tasks) == ["t0", "t1", "t3"]


async def test_what_cannot_be_kept(url: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """I4: told to the log and to the caller; a new task is not there, one under way has failed."""
    async with opened(url) as (tasks, _):
        await tasks.save(task("WORKING"), CALL)
        await tasks.save(task("COMPLETED", key="t3"), CALL)
        with sqlite(path) as connection:
            connection.execute(FULL)
            for one in (
                task("SUBMITTED", key="t2"),
                task("COMPLETED", parts=["12"]),
                # What the SDK makes of that, in its own words, which are none.
                task("FAILED", parts=["12"]),
                task("COMPLETED", key="t3", parts=["13"]),
            ):
                with pytest.raises(
                    InternalError, match=r"could not keep .* Its log has the reason"
                ):
                    await tasks.save(one, CALL)
            connection.execute("DROP TRIGGER full")
        assert caplog.text.count("of self could not be kept") == 4
        assert await tasks.get("t2", CALL) is None
        state, words = await seen(tasks)
        assert (state, words.partition(" what")[0]) == ("FAILED", "The agent could not keep")
        assert await seen(tasks, "t3") == ("COMPLETED", "")
    async with opened(url) as (tasks, _):
        assert await seen(tasks) == (state, words)


async def test_an_end_that_cannot_be_written_down(
    url: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F4: when how far the work had come cannot be kept, the log says so, and it stops all the same."""
    caplog.set_level(logging.WARNING)
    async with opened(url) as (tasks, _):
        await tasks.save(task("SUBMITTED"), CALL)
        await tasks.save(task("WORKING", parts=["half"]), CALL)
        with sqlite(path) as connection:
            connection.execute(FULL)
    assert "how far 1 tasks of self had come could not be kept" in caplog.text


async def test_a_task_that_is_damaged(
    url: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """I5: one task that cannot be read is told to the log; the others are there."""
    async with opened(url) as (tasks, _):
        for key in ("t1", "t2", "t3"):
            await tasks.save(task("COMPLETED", key=key), CALL)
    with sqlite(path) as connection:
        connection.execute("UPDATE own_tasks SET state = x'ffff' WHERE task_id = 't2'")
    async with opened(url) as (tasks, _):
        assert await tasks.get("t2", CALL) is None
        assert await tasks.get("t3", CALL) is not None
    assert "task t2 of self cannot be read" in caplog.text


async def test_no_push_token_is_on_disk(url: str, tmp_path: Path) -> None:
    """D2: push configs are not kept with their task."""
    configs = CONFIGS()
    async with Journal.open(url) as journal, LastingTasks(9, configs, journal) as tasks:
        config = TaskPushNotificationConfig(url="https://x", token="s3cret-token")
        await configs.set_info("t1", config, CALL)
        await tasks.save(task("INPUT_REQUIRED", "Which?"), CALL)
        on_disk = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert b"Which?" in on_disk
        assert b"s3cret-token" not in on_disk
