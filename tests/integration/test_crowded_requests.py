"""Requests that are small in bytes and large in values, to `self` and to the API (J3, J4)."""

import asyncio
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue

from locum.core.lifecycle import A2AState
from locum.core.report import Part

from .foreman import CARD, Foreman
from .front import front

PATHS = ["/a2a", "/a2a/rest/message:send"]
VERSION = {"A2A-Version": "1.0"}


class Counting(Foreman):
    """Counts what it is asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.count += 1
        await super().execute(context, event_queue)


def _body(path: str, parts: bytes) -> bytes:
    message = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[%s]}}' % parts
    if path == "/a2a":
        return b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}' % message
    return message


@pytest.mark.parametrize("path", PATHS)
async def test_self_takes_only_so_many_values(path: str) -> None:
    """J4: `self` reads no request with many values, which costs its sender nothing."""
    executor = Counting()
    async with front({"card": CARD}, executor=executor) as face:
        for parts in (b",".join([b'{"data":[1]}'] * 5000), b'{"data":[%s]}' % (b"[]," * 5000)):
            body = _body(path, parts)
            answer = await face.http.post(path, content=body, headers=VERSION)
            assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")
            assert answer.json()["detail"] == {"limit": 2000}
            assert "JSON values" in answer.json()["title"]
        few = _body(path, b",".join([b'{"text":"x, [y"}'] * 400))
        assert (await face.http.post(path, content=few, headers=VERSION)).status_code == 200
        assert executor.count == 1


@pytest.mark.parametrize("path", PATHS)
async def test_self_takes_nothing_that_is_very_deep(path: str) -> None:
    """J3: what is nested deeper than the SDK could read it is refused before it is tried."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        for deep in (b"[" * 900 + b"1" + b"]" * 900, b'{"a":' * 900 + b"1" + b"}" * 900):
            body = _body(path, b'{"data":%s}' % deep)
            answer = await face.http.post(path, content=body, headers=VERSION)
            assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
            assert "100 levels" in answer.json()["title"]
        shallow = _body(path, b'{"data":%s}' % (b"[" * 40 + b"1" + b"]" * 40))
        assert (await face.http.post(path, content=shallow, headers=VERSION)).status_code == 200


async def test_self_measures_nothing_but_utf_8() -> None:
    """J4: in UTF-16, which Python's reader takes, a bracket could pass for a part of a text."""
    body = _body("/a2a", b'{"data":[1]}').decode().encode("utf-16")
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await face.http.post("/a2a", content=body, headers=VERSION)
        assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")


async def test_self_takes_only_so_much() -> None:
    """J4: `limits.self_body_limit` says how many bytes, where the API takes more."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        body = _body("/a2a", b'{"text":"%s"}' % (b"x" * 1024**2))
        answer = await face.http.post("/a2a", content=body, headers=VERSION)
        assert (answer.status_code, answer.json()["detail"]) == (413, {"limit": 1024**2})


async def test_the_bound_of_self_can_be_set() -> None:
    """J3: `limits.self_value_limit` says how many values; work for `self` keeps to it, too."""
    tables = {"card": CARD, "limits": {"self_value_limit": 4000}}
    async with front(tables, executor=Foreman()) as face:
        row = await face.harness.spawn("p", agent="self", goal="g", parts=[Part(data=[1] * 3000)])
        assert (await face.harness.settled(row.id, 20)).state is A2AState.COMPLETED
        row = await face.harness.spawn("p", agent="self", goal="g", parts=[Part(data=[1] * 5000)])
        failed = await face.harness.settled(row.id, 20)
        assert failed.state is A2AState.FAILED
        assert "more than 4000 JSON values" in failed.text


@pytest.mark.parametrize(
    "data,status,code",
    [
        (b"[%s1]" % (b"1," * 1000), 413, "request.too_large"),
        (b"[" * 60 + b"]" * 60, 400, "request.invalid"),
    ],
    ids=["crowded", "deep"],
)
@pytest.mark.parametrize(
    "path", ["/v1/parents/p/sub-tasks", "/v1/sub-tasks/x/reply", "/v1/sub-tasks/x/cancel"]
)
async def test_the_api_measures_too(path: str, data: bytes, status: int, code: str) -> None:
    """J3: `limits.value_limit` holds for the API, and nothing deep is read either."""
    async with front({"limits": {"value_limit": 1000}}) as face:
        body = b'{"agent":"a","goal":"g","parts":[{"data":%s}]}' % data
        answer = await face.http.post(path, content=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_requests_to_self_wait_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """J4: what one request to `self` has cost the others wait for, and only so many of them."""
    # The smallest step counts, and makes the next request wait for ever.
    monkeypatch.setattr("locum.adapters.loop_share._FREE", 0.0)
    monkeypatch.setattr("locum.adapters.loop_share._PART", 1e-9)
    monkeypatch.setattr("locum.adapters.web.own_agent._WAITING", 3)
    executor = Counting()
    async with front({"card": CARD}, executor=executor) as face:
        body = _body("/a2a", b'{"text":"hi"}')

        async def ask() -> Any:
            return await face.http.post("/a2a", content=body, headers=VERSION)

        assert (await ask()).status_code == 200
        waiting = [asyncio.create_task(ask()) for _ in range(3)]
        while face.app.self_waiting < 3:
            await asyncio.sleep(0.005)
        refused = await ask()
        assert (refused.status_code, refused.json()["code"]) == (503, "server.busy")
        assert refused.headers["retry-after"] == "1"
        assert (await face.http.get("/healthz")).status_code == 200
        # Whoever hangs up waits no longer, and is not worked for.
        waiting.pop().cancel()
        while face.app.self_waiting > 2:
            await asyncio.sleep(0.005)
        # Who waits is let go of when locum stops (F4).
        face.app.stop()
        answers = await asyncio.gather(*waiting)
        assert {answer.json()["code"] for answer in answers} == {"server.stopping"}
        assert executor.count == 1
