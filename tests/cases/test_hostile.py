"""Agents that behave badly in ways that nobody would think of. Each broke something once."""

import asyncio
import contextlib
import itertools
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from locum.adapters import Harness
from locum.adapters.ordering import keyed_id
from locum.core.errors import NotParkedError, SubTaskNotFoundError
from locum.projections import Notification, note_to_json, row_to_json
from tests.agents.frames import EOF, EV, NOW, A, M, S, T, data_part, text_part
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import locum, settings_for, until
from tests.loops import Timers

LATER = "2099-01-01T00:00:00Z"
LATEST = "2099-01-02T00:00:00Z"


def _parks(agent: RawAgent) -> None:
    """The agent takes the brief and parks at once."""
    agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?", ts=LATER)), EOF])
    agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)


async def test_many_pushes_leave_one_backstop(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D8: pushes that change nothing leave one backstop timer behind, and none after the end.

    A timer that was left over rang at the desk of an ended sub-task, and ended every stand-in.
    """
    backstops = Timers(monkeypatch, 40)
    async with RawAgent(push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True, standin={"push_backstop": "40s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await backstops.one_more()
            token = agent.push_configs[-1]["token"]
            for _ in range(6):
                await agent.push(S("INPUT_REQUIRED", ts=LATER), token=token)
                await backstops.one_more()
                assert backstops.running() == 1
            assert len(agent.calls("GetTask")) == 7
            agent.task = T("COMPLETED", "done", ts=LATEST)
            await agent.push(S("COMPLETED", ts=LATEST), token=token)
            await until(harness, row.id, "COMPLETED")
            await agent.seen("DeleteTaskPushNotificationConfig")
            _parks(agent)
            again = await harness.spawn("p", agent="a", goal="count")
            await until(harness, again.id, "INPUT_REQUIRED")
            await backstops.one_more()
            assert backstops.running() == 1
    assert "failed" not in caplog.text
    assert "Exception" not in caplog.text


async def test_a_direct_answer_is_no_task_to_refer_to() -> None:
    """C14: what follows a direct message names its context, and no task, for there was none."""
    async with RawAgent() as agent:
        agent.on(
            "SendStreamingMessage", [EV(M("seven", context="c7")), EOF], [EV(T("WORKING")), EOF]
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "COMPLETED")
            await harness.spawn("p", agent="a", goal="and now?", follows=row.id)
            _, seen = await agent.seen("SendStreamingMessage", 2)
            assert seen.message["contextId"] == "c7"
            assert "referenceTaskIds" not in seen.message


@pytest.mark.parametrize("wait", ["100000", "Fri, 31 Dec 2999 23:59:59 GMT"])
async def test_a_busy_agent_that_wants_a_day(wait: str) -> None:
    """C7: a Retry-After beyond `send_timeout` does not hold a send up past it."""
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", (429, {"retry-after": wait}, b"busy"))
        async with locum({"a": agent.url}, standin={"send_timeout": "1s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED", timeout=5)
            assert "busy" in row.text


@pytest.mark.parametrize("wait", ["-1", "Thu, 01 Jan 1970 00:00:00 GMT", "nan", "soon"])
async def test_a_busy_agent_that_wants_nonsense(wait: str) -> None:
    """C7: a Retry-After that cannot be meant is as good as none."""
    async with RawAgent() as agent:
        agent.on(
            "SendStreamingMessage",
            (429, {"retry-after": wait}, b"busy"),
            [EV(T("COMPLETED", "done")), EOF],
        )
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "COMPLETED", timeout=5)
            assert len(agent.calls("SendStreamingMessage")) == 2


async def test_a_deadline_by_a_clock_that_is_slow() -> None:
    """C11: a deadline is kept when the clock goes slower than the event loop's."""
    start, begun = datetime.now(UTC), time.monotonic()

    def slow() -> datetime:
        return start + timedelta(seconds=(time.monotonic() - begun) * 0.9)

    async with RawAgent() as agent:
        _parks(agent)
        settings = settings_for({"a": {"url": agent.url, "updates": "off"}})
        async with Harness(settings, clock=slow) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=1)
            await until(harness, row.id, "FAILED", timeout=10)


async def test_replies_before_the_brief_has_left() -> None:
    """C12: a reply that comes too early is refused, and the brief goes out as if it had not come.

    It once passed for what had not left yet, so that the brief was looked for in vain, and failed.
    """
    stop = asyncio.Event()
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:

        async def reply_all_the_time(sub_task_id: str) -> None:
            while not stop.is_set():
                with contextlib.suppress(NotParkedError, SubTaskNotFoundError):
                    await harness.reply(sub_task_id, "red")

        keys = ("k1", "k2", "k3", "k4", "k5")
        async with asyncio.TaskGroup() as group:
            for key in keys * 4:
                group.create_task(reply_all_the_time(keyed_id("p", key)))
            for key in keys:
                await harness.spawn("p", agent="a", goal="count", idempotency_key=key)
            await agent.seen("SendStreamingMessage", len(keys), timeout=10)
            stop.set()
        for row in await harness.rows("p"):
            await until(harness, row.id, "WORKING")
        assert not agent.calls("ListTasks")
        assert len(agent.calls("SendStreamingMessage")) == len(keys)


async def test_ten_replies_at_once() -> None:
    """C12: of ten replies at once one is taken and sent without a look for it, the rest refused."""
    async with RawAgent() as agent:
        _parks(agent)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            agent.on("SendStreamingMessage", [EV(T("COMPLETED", "done", ts=LATEST)), EOF])
            replies = (harness.reply(row.id, f"red {n}") for n in range(10))
            said = await asyncio.gather(*replies, return_exceptions=True)
            assert sum(isinstance(one, NotParkedError) for one in said) == 9
            await until(harness, row.id, "COMPLETED")
            assert not agent.calls("ListTasks")
            assert len(agent.calls("SendStreamingMessage")) == 2


@pytest.mark.parametrize("ts", [None, NOW, LATER])
async def test_a_reply_while_gettask_is_answered(ts: str | None) -> None:
    """C12: what GetTask was asked before a reply was recorded is no new question after it.

    The agent gives its status message another id each time. The reply was never sent, and the
    question told twice.
    """
    async with RawAgent(push=True) as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "which?", ts=ts)), EOF])

        async def asks(seen: Seen, reply: Reply) -> None:
            await reply.json(T("INPUT_REQUIRED", "which?", ts=ts))

        agent.on("GetTask", asks)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await agent.seen("GetTask")
            agent.on("SendStreamingMessage", [EV(T("COMPLETED", "done", ts=LATEST)), EOF])
            await harness.reply(row.id, "red")
            await until(harness, row.id, "COMPLETED")
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "ended"]


@pytest.mark.parametrize("blank", ["  ", "\n\t", "\u200b"])
async def test_a_reason_of_blanks_is_none(blank: str) -> None:
    """E7: blanks are no reason; what an artifact says is, and with nothing at all that is said."""
    async with RawAgent() as agent:
        agent.on(
            "SendStreamingMessage",
            [EV(T("FAILED", blank)), EOF],
            [EV(T("FAILED", " ", artifacts=[A("a", "the disk is full")])), EOF],
        )
        async with locum({"a": agent.url}) as harness:
            for _ in range(2):
                row = await harness.spawn("p", agent="a", goal="count")
                await until(harness, row.id, "FAILED")
            (bare, told), _ = await harness.notes("p")
            assert bare.as_text().endswith("The agent gave no reason.")
            assert told.text == "the disk is full"


async def test_a_question_of_blanks_and_data() -> None:
    """D16: what is asked in data is told, also beside a text of nothing but blanks."""
    parts = [text_part("  "), data_part({"colour": ["red", "blue"]})]
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", parts)), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "INPUT_REQUIRED")
            assert row.text == '{"colour":["red","blue"]}'


async def test_readers_and_rebuilds_while_events_come(tmp_path: Path) -> None:
    """E3, E5: two readers miss nothing and hear nothing twice over restarts and rebuilds."""
    store = f"sqlite:///{tmp_path / 'locum.db'}"
    numbers = itertools.count()
    heard: tuple[list[Notification], list[Notification]] = ([], [])

    async def read(harness: Harness, into: list[Notification]) -> None:
        after = into[-1].cursor if into else 0
        into.extend([note async for note in harness.notifications("p", after=after)])

    async def takes(seen: Seen, reply: Reply) -> None:
        task = f"n{next(numbers)}"
        agent.put(T("INPUT_REQUIRED", f"q {task}", id=task))
        await reply.event(agent.tasks[task])
        agent.put(T("COMPLETED", f"done {task}", id=task))
        await reply.eof()

    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", takes)
        for _ in range(3):
            async with locum({"a": agent.url}, store=store) as harness:
                readers = [asyncio.create_task(read(harness, into)) for into in heard]
                for _ in range(15):
                    await harness.spawn("p", agent="a", goal="count")
                await harness._journal.rebuild()
            await asyncio.gather(*readers)
        async with locum({"a": agent.url}, store=store) as harness:
            for row in await harness.rows("p"):
                await until(harness, row.id, "COMPLETED", "FAILED")
            readers = [asyncio.create_task(read(harness, into)) for into in heard]
            before = await _views(harness)
            await harness._journal.rebuild()
            assert await _views(harness) == before
            notes, _ = await harness.notes("p", limit=1000)
        await asyncio.gather(*readers)
        assert heard[0] == heard[1] == notes


async def _views(harness: Harness) -> bytes:
    """All that a parent can see, as bytes."""
    rows = [row_to_json(row) for row in await harness.rows("p")]
    notes, _ = await harness.notes("p", limit=1000)
    return json.dumps([rows, [note_to_json(note) for note in notes]]).encode()


async def test_a_push_while_a_reply_waits_for_a_day() -> None:
    """D3: a push is heeded while a reply cannot be delivered; an end counts, the question waits."""
    async with RawAgent(push=True) as agent:
        _parks(agent)
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await until(harness, row.id, "INPUT_REQUIRED")
            await agent.seen("GetTask")
            agent.on("SendStreamingMessage", (429, {"retry-after": "86400"}, b"busy"))
            await harness.reply(row.id, "red")
            await agent.seen("SendStreamingMessage", 2)
            token, looks = agent.push_configs[-1]["token"], len(agent.calls("GetTask"))
            agent.task = T("INPUT_REQUIRED", "which?", ts=LATEST)
            await agent.push(agent.task, token=token)
            await agent.seen("GetTask", looks + 1)
            assert (await harness.sub_task(row.id)).state == "WORKING"
            agent.task = T("COMPLETED", "done", ts=LATEST)
            await agent.push(agent.task, token=token)
            row = await until(harness, row.id, "COMPLETED")
            assert row.text == "done"
            notes, _ = await harness.notes("p")
            assert [note.kind for note in notes] == ["question", "ended"]
