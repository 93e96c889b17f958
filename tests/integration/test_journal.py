"""The journal on real SQLite files: what is recorded, what is not, and what callers are told."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from locum.adapters.store import Journal, Recorded
from locum.core.chain import encode, verify_links
from locum.core.errors import NotParkedError, SubTaskNotFoundError, SubTaskResolvedError
from locum.core.events import Created, Event, Linked, Resolved
from locum.core.subtask import replay
from tests.lives import push
from tests.stores import asks, brief, cancel, completed, contents, logged, reply, revoke, working


async def test_what_is_recorded_is_the_events_own_bytes(url: str, path: Path) -> None:
    """H1, H3: the log holds each event's bytes and its topic; the chain over them holds."""
    async with Journal.open(url) as journal:
        created = await journal.handle(brief("s1"))
        linked = await journal.handle(working("s1"))
        ended = await journal.handle(completed("s1"))
        stored = await journal.stored("s1")
    events = (*created.events, *linked.events, *ended.events)
    assert [type(event) for event in events] == [Created, Linked, Resolved]
    assert logged(path) == [
        (position, "s1", position, event.TOPIC, encode(event))
        for position, event in enumerate(events, 1)
    ]
    assert stored == tuple(encode(event) for event in events)
    assert verify_links(stored) == []
    assert (created.position, linked.position, ended.position) == (1, 2, 3)


async def test_what_a_caller_gets(journal: Journal) -> None:
    """C2: the sub-task after the command, its events and where the last of them is."""
    await journal.handle(brief("s0"))
    recorded = await journal.handle(brief("s1"))
    assert recorded == Recorded(recorded.sub_task, recorded.events, 2)
    assert replay(recorded.events) == recorded.sub_task
    assert journal.position == 2
    assert await journal.load("s1") == recorded.sub_task
    assert await journal.events("s1") == recorded.events


async def test_a_command_that_decides_nothing_records_nothing(journal: Journal) -> None:
    """D14: what is known already is answered with the sub-task as it is."""
    await journal.handle(brief("s1"))
    known = await journal.handle(working("s1"))
    again = await journal.handle(working("s1"))
    assert again == Recorded(known.sub_task, (), 2)
    assert len(await journal.events("s1")) == 2


async def test_the_same_idempotency_key_gives_the_first(journal: Journal) -> None:
    """C10: an id that is there already is answered, not recorded again; a fresh one is made."""
    first = await journal.handle(brief("s1", idempotency_key="k"))
    again = await journal.handle(brief("s1", idempotency_key="k", goal="another"))
    assert again == Recorded(first.sub_task, (), 1)


async def test_a_refused_command_is_its_callers_alone(journal: Journal) -> None:
    """C12, I4: the error goes to who asked; nothing is recorded; the others are not touched."""
    await journal.handle(brief("s1"))
    outcomes = await asyncio.gather(
        journal.handle(brief("s2")),
        journal.handle(reply("s1")),
        journal.handle(working("nobody")),
        journal.handle(working("s1")),
        journal.handle(cancel("s2")),
        journal.handle(reply("s2")),
        return_exceptions=True,
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [
        Recorded,
        NotParkedError,
        SubTaskNotFoundError,
        Recorded,
        Recorded,
        SubTaskResolvedError,
    ]
    assert [event.version for event in await journal.events("s2")] == [1, 2]
    with pytest.raises(SubTaskNotFoundError):
        await journal.load("nobody")


async def test_events_are_told_once_the_views_show_them(url: str, path: Path) -> None:
    """E1: whoever is woken by events finds the rows that they lead to."""
    told: list[tuple[int, Event]] = []
    shown: list[bool] = []

    def on_events(events: Sequence[tuple[int, Event]]) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.extend(events)
        rows = {row[1]: row for row in contents(path)["sub_task_rows"]}
        shown.extend(event.sub_task_id in rows for _, event in events)

    async with Journal.open(url, on_events=on_events) as journal:
        await asyncio.gather(*(journal.handle(brief(f"s{number}")) for number in range(30)))
    assert [position for position, _ in told] == list(range(1, 31))
    assert all(shown)


@pytest.mark.parametrize("batch", [8, 256])
async def test_the_views_of_busy_callers(url: str, path: Path, batch: int) -> None:
    """E1: the views may be a moment behind busy callers, and get there without being asked."""
    seen = asyncio.Event()

    def on_events(events: Sequence[tuple[int, Event]]) -> None:
        if events[-1][0] == 40 * 3:
            seen.set()

    async def live(number: int) -> None:
        await journal.handle(brief(f"s{number}"))
        await journal.handle(working(f"s{number}"))
        await journal.handle(completed(f"s{number}"))

    async with Journal.open(url, on_events=on_events, batch=batch) as journal:
        await asyncio.gather(*(live(number) for number in range(40)))
        await seen.wait()
        assert {row.state for row in await journal.views.rows("p1")} == {"COMPLETED"}
    assert len(logged(path)) == 120


async def test_what_is_done_with_a_record(url: str) -> None:
    """I4: `then` is called before the caller goes on, and one that fails costs the others nothing."""
    done: list[str] = []

    def fails(recorded: Recorded) -> None:
        done.append(f"{recorded.sub_task.id} fails")
        raise ValueError("it has to")

    async def keep(journal: Journal, key: str) -> None:
        then = fails if key == "s1" else lambda recorded: done.append(recorded.sub_task.id)
        await journal.handle(brief(key), then=then)
        done.append(f"{key} goes on")

    async with Journal.open(url) as journal:
        await asyncio.gather(*(keep(journal, f"s{number}") for number in (1, 2)))
    assert done.index("s1 fails") < done.index("s1 goes on")
    assert done.index("s2") < done.index("s2 goes on")


async def test_the_log_can_be_paged(journal: Journal) -> None:
    """H1: all stored events in the order they were recorded, with what lies beside them."""
    for number in range(5):
        await journal.handle(brief(f"s{number}"))
    first = await journal.page(0, 3)
    rest = await journal.page(first[-1].position, 3)
    assert [(one.position, one.sub_task_id, one.version, one.topic) for one in (*first, *rest)] == [
        (number + 1, f"s{number}", 1, Created.TOPIC) for number in range(5)
    ]
    assert (await journal.stored("s4")) == (rest[-1].state,)


async def test_a_push_config_is_remembered_past_the_end(journal: Journal) -> None:
    """F1, I1: an ended sub-task with a config to delete stays among what is left to do."""
    await journal.handle(brief("s1"))
    await journal.handle(brief("s2", deadline="2026-02-01T00:00:00.000000Z"))
    await journal.handle(asks("s1", watch=push(config_id="c1")))
    recorded = await journal.handle(completed("s1"))
    await journal.views.wait(recorded.position)
    slots = {slot.id: slot async for slot in journal.views.open_slots()}
    assert list(slots) == ["s1", "s2"]
    assert (slots["s1"].state, slots["s1"].push, slots["s1"].watch) == ("COMPLETED", True, None)
    assert slots["s2"].deadline == "2026-02-01T00:00:00.000000Z"
    assert not slots["s2"].push
    recorded = await journal.handle(revoke("s1", "c1"))
    await journal.views.wait(recorded.position)
    assert [slot.id async for slot in journal.views.open_slots()] == ["s2"]
