"""The agent `self` as the harness serves it: its card, its work, its limits and its end (A9)."""

import asyncio

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue

from .foreman import BINDINGS, CARD, Foreman, asked, request, state
from .front import front, raw_answer


async def test_the_card_is_served_with_an_etag() -> None:
    """A9: the card is at its well-known path, for everybody, and can be validated by its ETag."""
    async with front({"card": CARD}, executor=Foreman(), token="s3cret") as face:
        del face.http.headers["Authorization"]
        first = await face.http.get("/.well-known/agent-card.json")
        assert first.status_code == 200
        assert first.json()["supportedInterfaces"][0]["url"] == f"{face.url}/a2a"
        known = {"If-None-Match": first.headers["etag"]}
        again = await face.http.get("/.well-known/agent-card.json", headers=known)
        assert again.status_code == 304


async def test_the_harness_hands_work_to_itself() -> None:
    """A9: `self` is an agent like any other, reached over HTTP, pushes included; no card fetched."""
    async with front({"card": CARD}, executor=Foreman(), token="s3cret") as face:
        [listed] = (await face.http.get("/v1/agents")).json()["agents"]
        assert (listed["id"], listed["state"], listed["name"]) == ("self", "accepted", "Foreman")
        path = "/v1/parents/p/sub-tasks?wait=settled"
        spawned = await face.http.post(path, json={"agent": "self", "goal": "do it"})
        assert spawned.json()["state"] == "COMPLETED"
        [done] = spawned.json()["artifacts"]
        assert done["parts"][0]["text"].startswith("did ")
        assert "do it" in done["parts"][0]["text"]


async def test_self_asks_and_is_answered() -> None:
    """A9: a question of `self` is watched by push through the harness's own push route."""

    class Asker(Foreman):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            assert context.message is not None
            context.message.parts[0].text = "ask" if context.current_task is None else "slow"
            await super().execute(context, event_queue)

    executor = Asker()
    async with front({"card": CARD}, executor=executor) as face:
        path = "/v1/parents/p/sub-tasks?wait=settled"
        row = (await face.http.post(path, json={"agent": "self", "goal": "g"})).json()
        assert (row["state"], row["text"]) == ("INPUT_REQUIRED", "Which?")
        one = f"/v1/sub-tasks/{row['id']}"
        executor.at_work.clear()
        replied = await face.http.post(f"{one}/reply", json={"text": "the red ones"})
        assert replied.status_code == 202
        await asyncio.wait_for(executor.at_work.wait(), 10)
        executor.go_on.set()
        done = await face.harness.settled(row["id"], timeout=20)
        assert done.state == "COMPLETED"
        events = (await face.http.get(f"{one}/events")).json()["events"]
        [parked] = [event for event in events if event["type"] == "Parked"]
        assert parked["watch"]["mode"] == "push"


async def test_without_a_card_there_is_no_self() -> None:
    """A9: without `[card]` the A2A routes are not there, and say so as every path does."""
    async with front() as face:
        for path in ("/.well-known/agent-card.json", "/a2a", "/a2a/rest/tasks"):
            answer = await face.http.get(path)
            assert (answer.status_code, answer.json()["code"]) == (404, "request.not_found")


async def test_a_large_request_is_refused() -> None:
    """J3: the A2A routes take no body past `limits.body_limit`."""
    tables = {"card": CARD, "limits": {"body_limit": "10KiB"}}
    async with front(tables, executor=Foreman()) as face:
        answer = await face.http.post("/a2a", content=b"x" * 20_000)
        assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")


async def test_a_page_elsewhere_does_not_drive_self() -> None:
    """J1: a browser page on another origin cannot drive `self` either."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await face.http.post("/a2a", json={}, headers={"Origin": "http://evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.foreign_origin")
        answer = await face.http.post("/a2a", json={}, headers={"Host": "evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (403, "request.foreign_host")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stream_ends_when_the_server_does(binding: str) -> None:
    """F4: a stream of `self` ends in good order, at once, when the server stops."""
    executor = Foreman()
    async with (
        front({"card": CARD}, executor=executor) as face,
        asked(face.url, executor, binding) as self_,
    ):
        heard: list[str] = []
        async with asyncio.timeout(5):
            async for one in self_.client.send_message(request("slow")):
                heard.append(state(one))
                if heard[-1] == "WORKING":
                    face.app.stop()
        assert heard == ["SUBMITTED", "WORKING"]
        refused = await face.http.get("/.well-known/agent-card.json")
        assert (refused.status_code, refused.json()["code"]) == (503, "server.stopping")


async def test_a_head_of_any_kind_comes_to_the_sdk() -> None:
    """A9: what is no A2A request is answered by the SDK, in the words of its binding."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await raw_answer(
            face.url,
            b"POST /a2a HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
            b"content-length: 1\r\n\r\n{",
        )
        assert b'"code":-32700' in answer
