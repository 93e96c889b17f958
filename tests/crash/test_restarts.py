"""What may have changed while locum was down: the time, the configuration, and how much there is.

Where a kill adds nothing, harnesses in this process follow each other on one file.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from locum.adapters import Harness
from locum.adapters.store import Journal
from tests.agents.frames import ERR, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import kinds, settings_for, until
from tests.lives import FOLLOW, push
from tests.stores import asks, brief, completed, reply, working

from .audit import faults

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@asynccontextmanager
async def life(
    path: Path, agents: dict[str, Any], *, later: timedelta = timedelta(), **options: Any
) -> AsyncIterator[Harness]:
    """A harness on the file, whose clock is ahead by `later`."""

    def clock() -> datetime:
        return datetime.now(UTC) + later

    settings = settings_for(agents, store=f"sqlite:///{path}", **options)
    async with Harness(settings, clock=clock) as harness:
        yield harness


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "locum.db"


async def recorded(harness: Harness, key: str, kind: str) -> None:
    """Return once there is an event of the kind."""
    with harness.changes(key) as changed:
        async with asyncio.timeout(10):
            while kind not in await kinds(harness, key):
                await changed.wait()
                changed.clear()


async def end_of(harness: Harness, key: str) -> dict[str, Any]:
    """The only Resolved of a sub-task."""
    (end,) = [event for event in await harness.events(key) if event["type"] == "Resolved"]
    return end


# The time


@both
@pytest.mark.parametrize("asked", [False, True], ids=["at work", "with a question"])
async def test_the_deadline_passed_while_it_was_down(
    store: Path, binding: Any, asked: bool
) -> None:
    """C11: the first thing after the start is one CancelTask; then it has FAILED, told once."""
    async with RawAgent(binding) as agent:
        async with life(store, {"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3600)
            await agent.seen("SubscribeToTask")
            if asked:
                agent.tell(S("INPUT_REQUIRED", "which?"))
                await until(harness, row.id, "INPUT_REQUIRED")
        await agent.all_closed()
        before = len(agent.calls())
        async with life(store, {"a": agent.url}, later=timedelta(hours=2)) as harness:
            await until(harness, row.id, "FAILED")
            end = await end_of(harness, row.id)
            assert (end["code"], end["cause"], end["confirmed"]) == ("deadline", "deadline", True)
            first, *others = [seen.method for seen in agent.calls()[before:]]
            assert first == "CancelTask"
            # What the agent says without a word is completed.
            assert set(others) <= {"GetTask"}
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "ended"][not asked :]
    assert faults(store) == {}


@both
async def test_done_before_the_deadline_that_passed(store: Path, binding: Any) -> None:
    """F2: the agent had ended it before anybody cancelled: its result counts."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", ERR(-32002, "it is over"))
        async with life(store, {"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3600)
            await agent.seen("SubscribeToTask")
        agent.complete("12")
        async with life(store, {"a": agent.url}, later=timedelta(hours=2)) as harness:
            assert (await until(harness, row.id, "COMPLETED")).text == "12"


@both
async def test_a_deadline_that_is_still_to_come(store: Path, binding: Any) -> None:
    """C11: started before the deadline, it is kept, and passes when its time has come."""
    async with RawAgent(binding) as agent:
        async with life(store, {"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3600)
            await agent.seen("SubscribeToTask")
        nearly = timedelta(hours=1) - timedelta(seconds=1.5)
        async with life(store, {"a": agent.url}, later=nearly) as harness:
            await agent.seen("SubscribeToTask", count=2)
            assert not agent.calls("CancelTask")
            await until(harness, row.id, "FAILED")
            assert (await end_of(harness, row.id))["code"] == "deadline"


@both
async def test_the_deadline_of_a_brief_in_doubt(store: Path, binding: Any) -> None:
    """C11: the deadline has passed and nobody knew the task: it is looked for, and cancelled."""

    async def take(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        await reply.hold()

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", take)
        async with life(store, {"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=3600)
            await agent.seen("SendStreamingMessage")
        async with life(store, {"a": agent.url}, later=timedelta(hours=2)) as harness:
            await until(harness, row.id, "FAILED")
            assert (await end_of(harness, row.id))["code"] == "deadline"
            assert len(agent.calls("CancelTask")) == 1
            assert len(agent.calls("SendStreamingMessage")) == 1


@both
async def test_a_cancel_of_a_brief_in_doubt_that_is_done(store: Path, binding: Any) -> None:
    """F2: the brief had arrived and its task has ended: the cancel finds the result, and all of it."""

    async def take(seen: Seen, reply: Reply) -> None:
        agent.take(seen.message)
        agent.put(T("COMPLETED", artifacts=[A("a", "12")], history=agent.tasks["t1"]["history"]))
        await reply.hold()

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", take)
        async with life(store, {"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await agent.seen("SendStreamingMessage")
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "12")
            assert not agent.calls("CancelTask")


# The configuration


async def open_ones(store: Path) -> dict[str, str]:
    """A store with a sub-task in each state that there is; the state of each."""
    watch = push(config_id="locum-pushed")
    async with Journal.open(f"sqlite:///{store}") as journal:
        for command in (
            brief("sent"),
            brief("working"),
            working("working"),
            brief("asking"),
            asks("asking", watch=FOLLOW),
            brief("pushed"),
            asks("pushed", watch=watch),
            brief("replied"),
            asks("replied", watch=FOLLOW),
            reply("replied"),
            brief("ended"),
            asks("ended", watch=push(config_id="locum-ended")),
            completed("ended"),
        ):
            await journal.handle(command)
    return {
        "sent": "SUBMITTED",
        "working": "WORKING",
        "asking": "INPUT_REQUIRED",
        "pushed": "INPUT_REQUIRED",
        "replied": "WORKING",
        "ended": "COMPLETED",
    }


async def test_an_agent_that_is_no_longer_configured(store: Path) -> None:
    """I1: recovery does not trip over it: what it had stays as it is, and can be cancelled."""
    states = await open_ones(store)
    async with life(store, {}) as harness:
        # A push config that nobody can be asked to delete is given up.
        await recorded(harness, "ended", "PushRevoked")
        rows = {row.id: row for row in await harness.rows("p1")}
        assert {key: row.state for key, row in rows.items()} == states
        assert harness.agents() == []
        await harness.reply("asking", "the red ones")
        for key in ("sent", "working", "asking", "pushed", "replied"):
            row = await harness.cancel(key, reason="its agent is gone")
            assert row.state == "CANCELED"
            assert "cancel.unconfirmed" in row.anomalies
        await harness.complete("p1")
    assert faults(store) == {}


async def test_an_agent_that_comes_back_into_the_configuration(store: Path) -> None:
    """I1: a start without it changes nothing that a start with it could not take up."""
    await open_ones(store)
    async with life(store, {}) as harness:
        await harness.rows("p1")
    async with RawAgent() as agent:
        for key in ("working", "asking", "pushed", "replied"):
            agent.put(T("COMPLETED", id=f"t-{key}", context="c1", artifacts=[A("a", f"of {key}")]))
        agent.on("ListTasks", {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0})
        async with life(store, {"inventory": agent.url}) as harness:
            for key in ("working", "asking", "pushed", "replied"):
                assert (await until(harness, key, "COMPLETED")).text == f"of {key}"
            await until(harness, "sent", "FAILED")
    assert faults(store) == {}


async def test_the_public_url_is_no_longer_configured(store: Path) -> None:
    """D1: a push watch of before is followed when there is no base URL any more."""
    await open_ones(store)
    async with RawAgent() as agent:
        agent.put(T("INPUT_REQUIRED", "Which hall?", id="t-pushed"))
        async with life(store, {"inventory": agent.url}) as harness:
            await agent.until(
                lambda: any(s.task_id == "t-pushed" for s in agent.calls("SubscribeToTask")), 10
            )
            assert (await harness.sub_task("pushed")).watch == "follow"
            assert not agent.calls("CreateTaskPushNotificationConfig")
            await harness.cancel("pushed")
            await recorded(harness, "pushed", "PushRevoked")
            assert await kinds(harness, "pushed") == [
                *("Created", "Linked", "Parked", "Parked", "PushRevoked", "Resolved")
            ]


# How much there is


async def test_many_are_taken_up_a_few_at_a_time(store: Path) -> None:
    """J4: an agent is not asked about more at a time than it may be; everything else goes on."""
    count = 300
    async with Journal.open(f"sqlite:///{store}") as journal:
        for make in (brief, lambda key: asks(key, watch=push(config_id=f"locum-{key}"))):
            commands = [make(f"s{number}") for number in range(count)]
            await asyncio.gather(*map(journal.handle, commands))
        await journal.handle(brief("other", agent_id="other"))
        await journal.handle(working("other"))
    gate = asyncio.Event()
    most = 0

    async def listing(seen: Seen, reply: Reply) -> None:
        nonlocal most
        most = max(most, agent.open_exchanges)
        await reply.play([gate, {"configs": []}])

    async with RawAgent() as agent, RawAgent() as other:
        agent.on("ListTaskPushNotificationConfigs", listing)
        other.put(T("WORKING", id="t-other"))
        agents = {"inventory": {"url": agent.url, "max_calls": 4}, "other": other.url}
        async with life(store, agents) as harness:
            await agent.seen("ListTaskPushNotificationConfigs", count=4)
            loops = [t for t in asyncio.all_tasks() if t.get_name().startswith("locum-s")]
            assert len(loops) <= 4 + 4 + 2, "they are not begun all at once"
            # While they wait, another agent's work goes on, and so does new work.
            await other.seen("SubscribeToTask")
            row = await harness.spawn("p2", agent="other", goal="count")
            await harness.linked(row.id, timeout=5)
            assert (await harness.sub_task("s299")).state == "INPUT_REQUIRED"
            # One whose turn has not come is there for whoever asks.
            cancelled = await harness.cancel("s298")
            assert cancelled.state == "CANCELED"
            gate.set()
        assert most <= 4
