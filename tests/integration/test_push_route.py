"""The push route over real HTTP: who is heard, who is refused, and what nobody can find out (D5)."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from ..agents.frames import EOF, EV, A, S, T
from ..agents.pusher import PushAnswer
from ..agents.raw import RawAgent
from .front import Front, front, raw_answer

REFUSED = b'"code":"push.refused"'


@dataclass
class Parked:
    """A sub-task that waits for a push, its agent, and the door that it comes through."""

    face: Front
    agent: RawAgent
    id: str

    @property
    def token(self) -> str:
        """The token that was registered last."""
        return str(self.agent.push_configs[-1]["token"])

    @property
    def url(self) -> str:
        return str(self.agent.push_configs[-1]["url"])

    async def row(self) -> dict[str, Any]:
        return dict((await self.face.http.get(f"/v1/sub-tasks/{self.id}")).json())

    async def events(self) -> list[dict[str, Any]]:
        return list((await self.face.http.get(f"/v1/sub-tasks/{self.id}/events")).json()["events"])

    async def ended(self) -> dict[str, Any]:
        await self.face.harness.settled(self.id, timeout=10)
        async with asyncio.timeout(10):
            while (row := await self.row())["state"] == "INPUT_REQUIRED":
                await asyncio.sleep(0.01)
        return row


@contextlib.asynccontextmanager
async def parked(limits: dict[str, Any] | None = None) -> AsyncIterator[Parked]:
    """A sub-task parked with a question, its push registered and its first fetch over."""
    async with RawAgent(keep_alive=True) as agent:
        asks = T("INPUT_REQUIRED", "Which?")
        agent.on("SendStreamingMessage", [EV(asks), EOF])
        agent.task = asks
        tables = {"agents": [{"id": "raw", "url": agent.url}], "limits": limits or {}}
        async with front(tables) as face:
            answer = await face.http.post(
                "/v1/parents/p/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
            )
            assert answer.status_code == 201
            await agent.seen("CreateTaskPushNotificationConfig")
            await agent.seen("GetTask")
            await agent.all_closed()
            yield Parked(face, agent, answer.json()["id"])


@pytest.mark.parametrize(
    "frame",
    [
        T("COMPLETED"),
        S("COMPLETED"),
        A("a", "part of it"),
        {"message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "t1", "parts": []}},
        {"id": "t1", "contextId": "c1", "kind": "task", "status": {"state": "completed"}},
    ],
    ids=["task", "status", "artifact", "message", "bare"],
)
async def test_every_payload_wakes(frame: Any) -> None:
    """D3, case P1: each kind of payload leads to one GetTask, whose word is what counts."""
    async with parked() as it:
        fetched = len(it.agent.calls("GetTask"))
        it.agent.task = T("COMPLETED", artifacts=[A("a", "the red ones")])
        answer = await it.agent.push(frame)
        assert (answer.status, answer.body) == (204, b"")
        row = await it.ended()
        assert (row["state"], row["text"]) == ("COMPLETED", "the red ones")
        assert len(it.agent.calls("GetTask")) == fetched + 1
        resolved = [e for e in await it.events() if e["type"] == "Resolved"]
        assert [e["cause"] for e in resolved] == ["push"]
        is_bare = "kind" in frame
        assert (resolved[0]["anomalies"] != []) is is_bare


@pytest.mark.parametrize(
    "content_type", ["application/a2a+json", "application/json; charset=utf-8", None]
)
async def test_content_types(content_type: str | None) -> None:
    """D3, case P8: the content types that agents send are taken, none at all included."""
    async with parked() as it:
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        assert (await it.agent.push(S("COMPLETED"), content_type=content_type)).status == 204
        assert (await it.ended())["state"] == "COMPLETED"


@pytest.mark.parametrize(
    "token_in",
    [["X-A2A-Notification-Token"], ["A2A-Notification-Token"], ["Authorization"]],
    ids=lambda names: names[0],
)
async def test_each_header_carries_the_token(token_in: list[str]) -> None:
    """D3: the token is taken from any of the three headers."""
    async with parked() as it:
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        assert (await it.agent.push(token_in=token_in)).status == 204
        assert (await it.ended())["state"] == "COMPLETED"


async def test_nothing_of_the_body_is_applied() -> None:
    """D3: a push that says COMPLETED while GetTask does not changes nothing."""
    async with parked() as it:
        before = await it.row()
        fetched = len(it.agent.calls("GetTask"))
        lie = T("COMPLETED", artifacts=[A("a", "a lie")])
        assert (await it.agent.push(lie)).status == 204
        await it.agent.seen("GetTask", fetched + 2, timeout=10)
        assert await it.row() == before


async def test_refusals_are_all_alike() -> None:
    """D5: no, a wrong, or another's token, an unknown sub-task: one status, one body."""
    async with parked() as it:
        body = T("COMPLETED").wrapped()
        unknown = it.url.rpartition("/")[0] + "/st-0000"
        push, token = it.agent.push, it.token
        answers = [
            await push(body, token_in=()),
            await push(body, token="wrong"),
            await push(body, token=token.swapcase()),
            await push(body, url=unknown),
            await push(body, url=unknown, token_in=()),
            await push(b"", token="wrong"),
            await push(T("COMPLETED", id="t2").wrapped()),
            await push(
                body,
                headers=[("Authorization", "Bearer wrong")],
                token_in=["x-a2a-notification-token"],
            ),
            await push(
                body,
                headers=[("Authorization", "Basic eA==")],
                token_in=["x-a2a-notification-token"],
            ),
            await push(
                body, headers=[("X-A2A-Notification-Token", "wrong")], token_in=["authorization"]
            ),
            await push(body, headers=[("A2A-Notification-Token", "")], token_in=["authorization"]),
        ]
        assert {answer.status for answer in answers} == {401}
        assert len({answer.body for answer in answers}) == 1
        assert REFUSED in answers[0].body
        assert len({tuple(_fixed(answer)) for answer in answers}) == 1
        assert (await it.row())["state"] == "INPUT_REQUIRED"
        assert it.face.app.push_refusals["refused"] == len(answers)


async def test_an_ended_sub_task_refuses_its_own_token() -> None:
    """F1, case P7: after the end the right token is answered like a wrong one."""
    async with parked() as it:
        config = dict(it.agent.push_configs[-1])
        wrong = await it.agent.push(token="wrong")
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        assert (await it.agent.push()).status == 204
        await it.ended()
        late = await it.agent.push(config=config)
        assert (late.status, late.body) == (wrong.status, wrong.body)


async def test_what_cannot_be_read_is_said_to_the_right_token_only() -> None:
    """D5: unparseable is 400 for who bears the token, and 401 for everybody else."""
    async with parked() as it:
        right = await it.agent.push(b"{")
        assert (right.status, b"push.unreadable" in right.body) == (400, True)
        assert (await it.agent.push(b"{", token="wrong")).status == 401


async def test_large_bodies() -> None:
    """D5: over 64 KiB is 413, whether announced or counted as it arrives, whoever sends it."""
    async with parked() as it:
        head = f"POST /a2a/push/{it.id} HTTP/1.1\r\nhost: x\r\nx-a2a-notification-token: {it.token}\r\n"
        announced = head + "content-length: 70000\r\n\r\n"
        answer = await raw_answer(it.face.url, announced.encode() + b" " * 70_000)
        assert answer.startswith(b"HTTP/1.1 413 ")
        chunk = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        chunked = head.encode() + b"transfer-encoding: chunked\r\n\r\n" + chunk * 3
        answer = await raw_answer(it.face.url, chunked)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"application/problem+json" in answer
        padded = T("INPUT_REQUIRED").wrapped()
        padded["more"] = "x" * (64 * 1024 - 400)
        assert (await it.agent.push(padded)).status == 204
        assert (await it.agent.push(b" " * 70_000, token="wrong")).status == 413
        assert it.face.app.push_refusals["too_large"] == 3


async def test_a_drip_is_cut_off() -> None:
    """J3: a body that does not arrive in time is refused, and the connection is let go."""
    async with parked({"body_timeout": "0.3s"}) as it:
        head = f"POST /a2a/push/{it.id} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"
        answer = await raw_answer(it.face.url, head.encode() + b" ")
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_who_is_refused_too_often_is_told_to_wait() -> None:
    """D5: past 60 refusals a minute the answer is 429; a right token still passes."""
    async with parked() as it:
        statuses = [(await it.agent.push(token="wrong")).status for _ in range(61)]
        assert statuses == [401] * 60 + [429]
        limited = await it.agent.push(token="wrong")
        assert b"push.limited" in limited.body
        assert 0 < int(limited.headers["retry-after"]) <= 60
        assert (await it.agent.push(b" " * 70_000, token="wrong")).status == 429
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        assert (await it.agent.push()).status == 204
        assert (await it.ended())["state"] == "COMPLETED"
        assert it.face.app.push_refusals["limited"] == 3


async def test_refusals_store_nothing() -> None:
    """D5: a refused push leaves no event and wakes nobody."""
    async with parked() as it:
        before, fetched = await it.events(), len(it.agent.calls("GetTask"))
        for _ in range(5):
            await it.agent.push(token="wrong")
        await it.agent.push(T("COMPLETED", id="t2").wrapped())
        assert await it.events() == before
        assert len(it.agent.calls("GetTask")) == fetched


async def test_the_same_push_five_times_is_one_change() -> None:
    """D14, case P6: repeated pushes and an older one after them change a sub-task once."""
    async with parked() as it:
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        config = dict(it.agent.push_configs[-1])
        answers = await asyncio.gather(
            *(it.agent.push(S("COMPLETED"), config=config) for _ in range(5))
        )
        assert {answer.status for answer in answers} <= {204, 401}
        await it.ended()
        await it.agent.push(S("WORKING"), config=config)
        assert [e["type"] for e in await it.events() if e["type"] == "Resolved"] == ["Resolved"]


async def test_the_token_is_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """D2, case P10: the token is in no log at DEBUG, no row, no event, no notification and no
    refusal.
    """
    caplog.set_level(logging.DEBUG)
    async with parked() as it:
        token = it.token
        answers = [
            (await it.agent.push(b"{")).body.decode(),
            (await it.agent.push(T("COMPLETED", id="t2").wrapped())).body.decode(),
            (await it.face.http.get("/v1/parents/p/notifications")).text,
            (await it.face.http.get("/v1/agents")).text,
            str(await it.row()),
            str(await it.events()),
        ]
        it.agent.task = T("COMPLETED", artifacts=[A("a", "done")])
        await it.agent.push()
        answers += [str(await it.ended()), str(await it.events())]
    assert len(caplog.records) > 10
    assert token not in "".join([*answers, caplog.text])


async def test_the_route_takes_posts_only() -> None:
    """D5: another method is answered 405, with what is allowed."""
    async with parked() as it:
        answer = await it.face.http.get(f"/a2a/push/{it.id}")
        assert answer.status_code == 405
        assert "POST" in answer.headers["allow"]


def _fixed(answer: PushAnswer) -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in answer.headers.items() if name != "date")
