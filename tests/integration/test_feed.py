"""The notification stream over real HTTP: cursors, keep-alives, and every way that it ends (E3)."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from ..agents.frames import EOF, EV, A, S, T
from ..agents.raw import RawAgent
from .front import Front, front

STREAM = "/v1/parents/p/notifications/stream"


class Event(dict[str, str]):
    """One server-sent event: its fields, and its comment if it is nothing else."""

    @property
    def note(self) -> dict[str, Any]:
        """The notification in it."""
        return dict(json.loads(self["data"]))


async def events(response: httpx.Response) -> AsyncGenerator[Event, None]:
    """The events of a stream as they come, comments too."""
    event = Event()
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(":")
            event[name] = value.removeprefix(" ")
        elif event:
            yield event
            event = Event()


@contextlib.asynccontextmanager
async def listening(
    face: Front, query: str = "", **headers: str
) -> AsyncIterator[AsyncGenerator[Event, None]]:
    """The events of the stream that a GET opens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with face.http.stream("GET", STREAM + query, headers=named, timeout=20) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        async with aclosing(events(response)) as heard:
            yield heard


async def notes(heard: AsyncGenerator[Event, None], count: int) -> list[Event]:
    """The next `count` events that are notifications."""
    found: list[Event] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            event = await anext(heard)
            if "data" in event:
                found.append(event)
    return found


@contextlib.asynccontextmanager
async def telling(**more: Any) -> AsyncIterator[tuple[Front, RawAgent]]:
    """A front whose agent ends each sub-task at once, which is one notification each."""
    async with RawAgent(keep_alive=True) as agent:
        done = T("COMPLETED", artifacts=[A("a", "line one\nline two\u2028\r\n")])
        agent.task = done
        agent.on("SendStreamingMessage", [EV(done), EOF])
        tables = {"agents": [{"id": "raw", "url": agent.url, "updates": "follow"}]}
        async with front(tables, **more) as face:
            yield face, agent


async def spawn(face: Front, parent: str = "p") -> str:
    """One more notification for the parent."""
    answer = await face.http.post(
        f"/v1/parents/{parent}/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
    )
    return str(answer.json()["id"])


async def test_what_was_and_what_comes() -> None:
    """E3: the stream tells what was told since the cursor, and then what comes, as it comes."""
    async with telling() as (face, _):
        first = await spawn(face)
        async with listening(face) as heard:
            [event] = await notes(heard, 1)
            assert event.note["sub_task_id"] == first
            second = await spawn(face)
            [later] = await notes(heard, 1)
            assert later.note["sub_task_id"] == second
        for one in (event, later):
            assert one["event"] == "notification"
            assert one["id"] == str(one.note["cursor"])
        page = (await face.http.get("/v1/parents/p/notifications")).json()
        assert [event.note, later.note] == page["notifications"]
        assert event.note["text"] == "line one\nline two\u2028\r\n"


async def test_another_parent_hears_nothing() -> None:
    """E3: a feed is one parent's."""
    async with telling() as (face, _), listening(face) as heard:
        await spawn(face, "q")
        mine = await spawn(face)
        [event] = await notes(heard, 1)
        assert event.note["sub_task_id"] == mine


async def test_going_on_from_a_cursor() -> None:
    """E3: `after` and `Last-Event-ID` go on from a cursor; the header, which is newer, wins."""
    async with telling() as (face, _):
        ids = [await spawn(face) for _ in range(3)]
        async with listening(face) as heard:
            cursors = [event["id"] for event in await notes(heard, 3)]
        async with listening(face, f"?after={cursors[0]}") as heard:
            assert [event.note["sub_task_id"] for event in await notes(heard, 2)] == ids[1:]
        async with listening(face, f"?after={cursors[0]}", Last_Event_ID=cursors[1]) as heard:
            assert [event.note["sub_task_id"] for event in await notes(heard, 1)] == ids[2:]
        async with listening(face, f"?after={cursors[2]}") as heard:
            fourth = await spawn(face)
            assert [event.note["sub_task_id"] for event in await notes(heard, 1)] == [fourth]


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "9" * 30, "١"])
async def test_a_cursor_that_is_none(cursor: str) -> None:
    """J2: what is no cursor is 400, before a stream is begun."""
    async with front() as face:
        answer = await face.http.get(STREAM, headers=[(b"Last-Event-ID", cursor.encode())])
        assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")


async def test_comments_keep_it_alive() -> None:
    """E3: a quiet stream says a comment now and then, at its beginning first of all."""
    async with front(keep_alive=0.05) as face:
        async with listening(face) as heard, asyncio.timeout(10):
            comments = [await anext(heard) for _ in range(3)]
        assert comments[0] == {"": "connected"}
        assert comments[1:] == [{"": "keep-alive"}] * 2


async def test_it_ends_when_the_server_does() -> None:
    """F4: open streams end at once, and in good order, when the server stops."""
    async with telling() as (face, _), listening(face) as heard:
        await anext(heard)
        face.app.stop()
        async with asyncio.timeout(2):
            assert [event async for event in heard] == []


async def test_it_ends_when_the_harness_does() -> None:
    """F4: so they do when the harness takes no more work, whoever serves it."""
    async with telling() as (face, _), listening(face) as heard:
        await anext(heard)
        face.harness.stop_waiting()
        async with asyncio.timeout(2):
            assert [event async for event in heard] == []


async def test_nothing_is_left_when_the_client_goes() -> None:
    """D11: a client that hangs up leaves no task and no reader of the feed behind."""
    async with telling() as (face, _):
        before = asyncio.all_tasks()
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(5):
                heard = await stack.enter_async_context(listening(face))
                await anext(heard)
            assert len(asyncio.all_tasks()) > len(before)
        async with asyncio.timeout(5):
            while asyncio.all_tasks() - before:
                await asyncio.sleep(0.01)
        await spawn(face)


async def test_a_client_that_does_not_read() -> None:
    """J3: a client that reads nothing holds up neither the feed of another one, nor the end."""
    async with telling() as (face, _):
        host, port = face.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        writer.write(f"GET {STREAM} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        await writer.drain()
        async with listening(face) as heard:
            await spawn(face)
            assert len(await notes(heard, 1)) == 1
        writer.close()
        await writer.wait_closed()


async def test_only_news_is_told() -> None:
    """E2: WORKING is never told; the question is, once, and then the end."""
    async with RawAgent(keep_alive=True) as agent:
        agents = [{"id": "raw", "url": agent.url, "updates": "follow", "follow_interval": "1s"}]
        async with front({"agents": agents}) as face, listening(face) as heard:
            answer = await face.http.post(
                "/v1/parents/p/sub-tasks?wait=linked", json={"agent": "raw", "goal": "g"}
            )
            assert answer.status_code == 201
            await agent.seen("SubscribeToTask")
            agent.tell(S("WORKING", "Looking"))
            agent.tell(S("INPUT_REQUIRED", "Which?"))
            [question] = await notes(heard, 1)
            agent.complete("the red ones")
            [end] = await notes(heard, 1)
            assert (question.note["kind"], question.note["text"]) == ("question", "Which?")
            assert (end.note["kind"], end.note["text"]) == ("ended", "the red ones")
