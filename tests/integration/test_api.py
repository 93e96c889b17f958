"""The HTTP API, each route and refusal, over real HTTP, with a real agent behind it."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from ..agents.frames import EOF, ERR, EV, A, S, T, data_part, file_part, url_part
from ..agents.raw import RawAgent
from .front import Front, front

ROW = {
    *("id", "parent_id", "agent", "name", "goal", "state", "text", "remote_task_id"),
    *("context_id", "watch", "cause", "anomalies", "version", "created_at", "updated_at"),
    *("artifacts", "account"),
}
NOTE = {
    *("cursor", "sub_task_id", "parent_id", "agent", "kind", "state", "text", "at"),
    *("account", "refusal"),
}
SUB_TASKS = "/v1/parents/p/sub-tasks"


@contextlib.asynccontextmanager
async def with_agent(
    *steps: Any, task: Any = None, updates: str = "follow", **more: Any
) -> AsyncIterator[tuple[Front, RawAgent]]:
    """A front with one agent, `raw`, that answers a send with `steps`."""
    async with RawAgent(keep_alive=True) as agent:
        if steps:
            agent.on("SendStreamingMessage", [*steps, EOF])
        if task is not None:
            agent.task = task
        agents = [{"id": "raw", "url": agent.url, "updates": updates, "follow_interval": "1s"}]
        async with front({"agents": agents}, **more) as face:
            yield face, agent


@contextlib.asynccontextmanager
async def asking() -> AsyncIterator[tuple[Front, RawAgent]]:
    """A front with an agent that asks "Which?" at once."""
    task = T("INPUT_REQUIRED", "Which?")
    async with with_agent(EV(task), task=task) as both:
        yield both


async def spawn(face: Front, wait: str = "settled", **body: Any) -> dict[str, Any]:
    """Spawn at `raw`; the row of the answer."""
    answer = await face.http.post(
        f"{SUB_TASKS}?wait={wait}", json={"agent": "raw", "goal": "g", **body}
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, which must be one."""
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert {"type", "title", "status", "detail", "code"} == set(body)
    assert body["status"] == status
    return body


async def test_health_and_readiness() -> None:
    """API: `/healthz` and `/readyz` answer `{"status":"ok"}`."""
    async with front() as face:
        for path in ("/healthz", "/readyz"):
            answer = await face.http.get(path)
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        face.harness.stop_waiting()
        assert (await face.http.get("/healthz")).status_code == 200
        problem(await face.http.get("/readyz"), 503, "server.not_ready")


async def test_agents_and_roster() -> None:
    """A3: an accepted and a refused agent are listed, the one with what it can do, the other why."""
    async with RawAgent(name="Inventory") as agent:
        agents = [
            {"id": "good", "url": agent.url},
            {"id": "gone", "url": "http://127.0.0.1:1"},
        ]
        async with front({"agents": agents}) as face:
            listed = (await face.http.get("/v1/agents")).json()["agents"]
            by_id = {one["id"]: one for one in listed}
            keys = {"id", "name", "version", "state", "reason", "skills", "streaming", "push"}
            assert keys <= set(by_id["good"])
            assert keys <= set(by_id["gone"])
            assert (by_id["good"]["state"], by_id["good"]["name"]) == ("accepted", "Inventory")
            assert by_id["gone"]["state"] == "refused"
            assert by_id["gone"]["reason"]
            roster = await face.http.get("/v1/roster")
            assert roster.headers["content-type"].startswith("text/plain")
            assert roster.text == face.harness.roster()
            body = problem(
                await face.http.post(SUB_TASKS, json={"agent": "gone", "goal": "g"}),
                409,
                "agent.refused",
            )
            assert body["detail"]["reason"]


@pytest.mark.parametrize("agent", ["", "raw2", "RAW", "http://127.0.0.1", "raw\x00"])
async def test_an_unknown_agent(agent: str) -> None:
    """C1: 404 `agent.unknown` with the valid ids under `detail.valid`; nothing is recorded."""
    async with with_agent() as (face, raw):
        answer = await face.http.post(SUB_TASKS, json={"agent": agent, "goal": "g"})
        assert problem(answer, 404, "agent.unknown")["detail"]["valid"] == ["raw"]
        assert (await face.http.get(SUB_TASKS)).json() == {"sub_tasks": []}
        assert not raw.calls()


async def test_a_row() -> None:
    """API: a spawned sub-task's row has each field, and grows with what the agent says."""
    done = T("COMPLETED", artifacts=[A("a", "nine", name="tally")])
    async with with_agent(EV(T("WORKING")), EV(done), task=done) as (face, _):
        row = await spawn(face, "settled", name="chairs", goal="Count the chairs")
        assert set(row) == ROW
        assert (row["parent_id"], row["agent"], row["name"]) == ("p", "raw", "chairs")
        assert (row["goal"], row["state"], row["text"]) == ("Count the chairs", "COMPLETED", "nine")
        assert (row["remote_task_id"], row["context_id"], row["watch"]) == ("t1", "c1", None)
        assert row["created_at"].endswith("Z")
        assert len(row["created_at"]) == len("2026-01-31T12:00:00.000000Z")
        assert row["artifacts"] == [
            {
                "artifact_id": "a",
                "name": "tally",
                "description": "",
                "parts": [{"text": "nine", "media_type": "", "filename": ""}],
            }
        ]
        assert (await face.http.get(f"/v1/sub-tasks/{row['id']}")).json() == row
        assert (await face.http.get(SUB_TASKS)).json()["sub_tasks"][0]["id"] == row["id"]


async def test_waiting() -> None:
    """API: `wait` says until when the answer waits, `wait_timeout` for how long at most."""
    working = T("WORKING")
    async with with_agent(EV(working), asyncio.Event(), task=working) as (face, _):
        created = await spawn(face, "created")
        assert (created["state"], created["version"]) == ("SUBMITTED", 1)
        linked = await spawn(face, "linked")
        assert linked["remote_task_id"] == "t1"
        late = await spawn(face, "settled&wait_timeout=2")
        # The row as it is by then, not as it was recorded.
        assert (late["state"], late["remote_task_id"]) == ("WORKING", "t1")
        assert late["id"] not in (created["id"], linked["id"])
        for query in ("wait=soon", "wait_timeout=x", "wait_timeout=-1", "wait_timeout=301"):
            answer = await face.http.post(
                f"{SUB_TASKS}?{query}", json={"agent": "raw", "goal": "g"}
            )
            problem(answer, 400, "request.invalid")
        assert len((await face.http.get(SUB_TASKS)).json()["sub_tasks"]) == 3


BAD_BODIES: list[tuple[bytes, str]] = [
    (b"", "body"),
    (b"{", "JSON"),
    (b"[]", "the body"),
    (b"null", "the body"),
    (b'{"agent":"raw"}', "goal"),
    (b'{"agent":"raw","goal":""}', "goal"),
    (b'{"agent":"raw","goal":"  "}', "goal"),
    (b'{"agent":"raw","goal":7}', "goal"),
    (b'{"agent":"raw","goal":"g","gaol":1}', "gaol"),
    (b'{"agent":"raw","goal":"g","timeout":"5"}', "timeout"),
    (b'{"agent":"raw","goal":"g","timeout":0}', "timeout"),
    (b'{"agent":"raw","goal":"g","timeout":1e300}', "timeout"),
    (b'{"agent":"raw","goal":"g","timeout":NaN}', "JSON"),
    (b'{"agent":"raw","goal":"g","timeout":1e999}', "timeout"),
    (b'{"agent":"raw","goal":"g","acceptance_criteria":"x"}', "acceptance_criteria"),
    (b'{"agent":"raw","goal":"g","acceptance_criteria":[1]}', "acceptance_criteria[0]"),
    (b'{"agent":"raw","goal":"g","parts":[{}]}', "parts[0]"),
    (b'{"agent":"raw","goal":"g","parts":[{"text":"a","url":"b"}]}', "parts[0]"),
    (b'{"agent":"raw","goal":"g","parts":[{"raw":"%%"}]}', "parts[0]"),
    (b'{"agent":"raw","goal":"g","parts":[{"text":"a","mime":"b"}]}', "mime"),
    (b'{"agent":"raw","goal":"g","name":"' + b"n" * 201 + b'"}', "name"),
    (b'{"agent":"raw","goal":"g","idempotency_key":""}', "idempotency_key"),
    (b'{"agent":"raw","goal":"\\ud800"}', "JSON"),
    (b'{"agent":"raw","goal":"\xff"}', "JSON"),
    (b'{"agent":"raw","goal":"g","parts":[{"data":' + b"[" * 5000 + b"]" * 5000 + b"}]}", ""),
    (b"[" * 100_000, "the body"),
]


async def test_bodies_that_cannot_be_used() -> None:
    """J2: each is 400, names the field, and records nothing."""
    async with with_agent() as (face, _):
        for body, named in BAD_BODIES:
            answer = await face.http.post(SUB_TASKS, content=body)
            said = problem(answer, 400, "request.invalid")["title"]
            assert named in said, (body[:80], said)
        assert (await face.http.get(SUB_TASKS)).json() == {"sub_tasks": []}


@pytest.mark.parametrize(
    "parent", ["a/b", "a b", "ä€😀", "100%", "a%2Fb", "../x", "?q=1", "#", "p" * 200, "a//b/"]
)
async def test_parent_ids_of_all_kinds(parent: str) -> None:
    """API: an id comes through a path as it is, slashes and all."""
    done = T("COMPLETED", artifacts=[A("a", "x")])
    async with with_agent(EV(done), task=done) as (face, _):
        path = f"/v1/parents/{quote(parent, safe='')}"
        answer = await face.http.post(
            f"{path}/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
        )
        assert answer.json()["parent_id"] == parent
        rows = (await face.http.get(f"{path}/sub-tasks")).json()["sub_tasks"]
        assert [row["parent_id"] for row in rows] == [parent]
        notes = (await face.http.get(f"{path}/notifications")).json()["notifications"]
        assert [note["parent_id"] for note in notes] == [parent]
        assert len(await face.harness.rows(parent)) == 1


@pytest.mark.parametrize("parent", ["p" * 201, "a%0Ab", "a%00b", "a%7F"])
async def test_parent_ids_that_are_none(parent: str) -> None:
    """J2: an id that is too long, or has a control character in it, is refused everywhere."""
    async with front() as face:
        for method, rest in [("GET", "sub-tasks"), ("GET", "notifications"), ("POST", "complete")]:
            answer = await face.http.request(method, f"/v1/parents/{parent}/{rest}")
            problem(answer, 400, "request.invalid")


async def test_the_same_key_is_the_same_sub_task() -> None:
    """C10: an idempotency key seen before gives the first sub-task; nothing is sent again."""
    done = T("COMPLETED", artifacts=[A("a", "x")])
    async with with_agent(EV(done), task=done) as (face, agent):
        first = await spawn(face, idempotency_key="k")
        again = await spawn(face, idempotency_key="k")
        assert again["id"] == first["id"]
        assert len(agent.calls("SendStreamingMessage")) == 1


async def test_rows_are_filtered() -> None:
    """API: `state` and `unresolved` choose among a parent's rows."""
    done = T("COMPLETED", artifacts=[A("a", "x")])
    async with with_agent(EV(done), task=done) as (face, agent):
        ended = await spawn(face)
        agent.task = T("INPUT_REQUIRED", "Which?")
        agent.on("SendStreamingMessage", [EV(agent.task), EOF])
        parked = await spawn(face)

        async def ids(query: str) -> list[str]:
            answer = await face.http.get(f"{SUB_TASKS}?{query}")
            return [row["id"] for row in answer.json()["sub_tasks"]]

        assert await ids("") == [ended["id"], parked["id"]]
        assert await ids("unresolved=true") == [parked["id"]]
        assert await ids("unresolved=false") == [ended["id"]]
        assert await ids("state=COMPLETED") == [ended["id"]]
        assert await ids("state=INPUT_REQUIRED&unresolved=true") == [parked["id"]]
        assert await ids("state=FAILED") == []
        for query in ("state=DONE", "state=completed", "unresolved=perhaps"):
            problem(await face.http.get(f"{SUB_TASKS}?{query}"), 400, "request.invalid")


async def test_a_reply() -> None:
    """C12: a reply is 202; the wrong time, the wrong question and the wrong id each have a code."""
    async with asking() as (face, agent):
        row = await spawn(face)
        path = f"/v1/sub-tasks/{row['id']}/reply"
        for body in ({}, {"text": ""}, {"text": "x", "question": 0}, {"text": "x", "more": 1}):
            problem(await face.http.post(path, json=body), 400, "request.invalid")
        stale = await face.http.post(path, json={"text": "x", "question": row["version"] + 7})
        problem(stale, 409, "sub_task.stale_question")
        done = T("COMPLETED", artifacts=[A("a", "red")])
        agent.on("SendStreamingMessage", [EV(done), EOF])
        agent.task = done
        answer = await face.http.post(
            path,
            json={
                "text": "the red ones",
                "parts": [{"data": {"n": 1}}],
                "question": row["version"],
            },
            headers={"X-Actor": "planner", "X-Correlation-Id": "trace-7"},
        )
        assert answer.status_code == 202
        assert set(answer.json()) == ROW
        await face.harness.settled(row["id"], timeout=10)
        sent = agent.calls("SendStreamingMessage")[-1].params["message"]
        assert (sent["taskId"], sent["contextId"]) == ("t1", "c1")
        assert [part.get("text", part.get("data")) for part in sent["parts"]] == [
            "the red ones",
            {"n": 1},
        ]
        events = (await face.http.get(f"/v1/sub-tasks/{row['id']}/events")).json()["events"]
        [woken] = [one for one in events if one["type"] == "Woken" and one["cause"] == "reply"]
        assert (woken["actor"], woken["correlation_id"]) == ("planner", "trace-7")
        late = await face.http.post(path, json={"text": "x"})
        assert problem(late, 409, "sub_task.resolved")["detail"]["state"] == "COMPLETED"
        unknown = await face.http.post("/v1/sub-tasks/nope/reply", json={"text": "x"})
        problem(unknown, 404, "sub_task.not_found")


async def test_a_reply_to_nothing() -> None:
    """C12: while nothing is asked a reply is 409 `sub_task.not_parked`."""
    working = T("WORKING")
    async with with_agent(EV(working), asyncio.Event(), task=working) as (face, _):
        row = await spawn(face, "linked")
        answer = await face.http.post(f"/v1/sub-tasks/{row['id']}/reply", json={"text": "x"})
        problem(answer, 409, "sub_task.not_parked")


async def test_a_cancel() -> None:
    """F2: a cancel is 200 with the row; what has ended stays as it is; a body is not needed."""
    async with asking() as (face, agent):
        row = await spawn(face)
        path = f"/v1/sub-tasks/{row['id']}/cancel"
        answer = await face.http.post(path, json={"reason": "not needed"})
        assert (answer.status_code, answer.json()["state"]) == (200, "CANCELED")
        assert len(agent.calls("CancelTask")) == 1
        again = await face.http.post(path)
        assert (again.status_code, again.json()["state"]) == (200, "CANCELED")
        assert len(agent.calls("CancelTask")) == 1
        problem(await face.http.post("/v1/sub-tasks/nope/cancel"), 404, "sub_task.not_found")


async def test_events() -> None:
    """H1: each event tells its version, type, time, cause, actor and hashes, and they chain."""
    done = T("COMPLETED", artifacts=[A("a", "x")])
    async with with_agent(EV(done), task=done) as (face, _):
        answer = await face.http.post(
            f"{SUB_TASKS}?wait=settled",
            json={"agent": "raw", "goal": "g"},
            headers={"X-Actor": "Zoë".encode(), "X-Correlation-Id": "c-1"},  # type: ignore[dict-item] # httpx takes bytes
        )
        answer = await face.http.get(f"/v1/sub-tasks/{answer.json()['id']}/events")
        events = answer.json()["events"]
        assert [one["type"] for one in events] == ["Created", "Linked", "Resolved"]
        assert [one["version"] for one in events] == [1, 2, 3]
        assert {"at", "cause", "actor", "hash", "previous_hash"} <= set(events[0])
        assert (events[0]["actor"], events[0]["correlation_id"]) == ("Zoë", "c-1")
        assert [one["previous_hash"] for one in events[1:]] == [one["hash"] for one in events[:-1]]
        problem(await face.http.get("/v1/sub-tasks/nope/events"), 404, "sub_task.not_found")


async def test_an_actor_in_latin_1() -> None:
    """API: a header that is no UTF-8 is read as Latin-1, as HTTP has it."""
    async with asking() as (face, _):
        answer = await face.http.post(
            SUB_TASKS,
            json={"agent": "raw", "goal": "g"},
            headers=[("X-Actor", "Zo\xeb".encode("latin-1"))],  # type: ignore[list-item] # httpx takes bytes
        )
        path = f"/v1/sub-tasks/{answer.json()['id']}/events"
        assert (await face.http.get(path)).json()["events"][0]["actor"] == "Zoë"


async def test_an_actor_by_default() -> None:
    """API: without `X-Actor` the actor is `api`."""
    async with asking() as (face, _):
        row = await spawn(face)
        events = (await face.http.get(f"/v1/sub-tasks/{row['id']}/events")).json()["events"]
        assert events[0]["actor"] == "api"


async def test_parts_go_out_and_come_in() -> None:
    """D12, case R6: text, data, file bytes and URLs pass both ways, equal, with type and name."""
    raw = bytes(range(256))
    came = [
        data_part({"revision": 1, "ratio": 0.5, "n": None}),
        file_part(raw, filename="a.bin", media_type="application/x-a"),
        url_part("https://files.example/x", filename="x", media_type="text/x"),
    ]
    done = T("COMPLETED", artifacts=[{"artifactId": "a", "parts": came}])
    async with with_agent(EV(done), task=done) as (face, agent):
        sent = [
            {"text": "one", "media_type": "text/markdown"},
            {"data": [1, {"b": True}]},
            {"raw": base64.b64encode(raw).decode(), "filename": "b.bin"},
            {"url": "https://files.example/y", "media_type": "image/png"},
        ]
        row = await spawn(face, parts=sent)
        parts = agent.calls("SendStreamingMessage")[0].params["message"]["parts"]
        assert parts[1:5] == [
            {"text": "one", "mediaType": "text/markdown"},
            {"data": [1, {"b": True}]},
            {"raw": base64.b64encode(raw).decode(), "filename": "b.bin"},
            {"url": "https://files.example/y", "mediaType": "image/png"},
        ]
        assert row["artifacts"][0]["parts"] == [
            {
                "data": {"revision": 1, "ratio": 0.5, "n": None},
                "media_type": "",
                "filename": "",
            },
            {
                "raw": base64.b64encode(raw).decode(),
                "media_type": "application/x-a",
                "filename": "a.bin",
            },
            {"url": "https://files.example/x", "media_type": "text/x", "filename": "x"},
        ]


async def test_completing_and_cancelling_a_parent() -> None:
    """C8, F5: complete is 409 with what is unresolved, until the parent's cancel ended all of it."""
    async with asking() as (face, _):
        row = await spawn(face)
        refused = problem(await face.http.post("/v1/parents/p/complete"), 409, "parent.unresolved")
        assert refused["detail"]["unresolved"] == [row["id"]]
        canceled = await face.http.post("/v1/parents/p/cancel", json={"reason": "over"})
        assert canceled.status_code == 200
        assert [one["state"] for one in canceled.json()["sub_tasks"]] == ["CANCELED"]
        done = await face.http.post("/v1/parents/p/complete")
        assert (done.status_code, done.json()) == (200, {"completed": True})


async def test_notifications_by_page() -> None:
    """E3: pages follow each other by cursor; nothing is skipped or told twice."""
    async with asking() as (face, _):
        for _ in range(3):
            await spawn(face)
        path, seen, cursor = "/v1/parents/p/notifications", [], 0
        for _ in range(4):
            page = (await face.http.get(f"{path}?after={cursor}&limit=1")).json()
            assert set(page) == {"notifications", "cursor"}
            seen += page["notifications"]
            assert page["cursor"] >= cursor
            cursor = page["cursor"]
        assert [set(note) for note in seen] == [NOTE] * 3
        assert [note["cursor"] for note in seen] == sorted({note["cursor"] for note in seen})
        assert {(note["kind"], note["state"], note["text"]) for note in seen} == {
            ("question", "INPUT_REQUIRED", "Which?")
        }
        assert (await face.http.get(path)).json()["notifications"] == seen
        for query in ("after=-1", "after=x", "limit=0", "limit=1001"):
            problem(await face.http.get(f"{path}?{query}"), 400, "request.invalid")


async def test_paths_and_methods_that_are_not_there() -> None:
    """J2: an unknown path is 404, an unknown method 405 with `Allow`; both are problems."""
    async with front() as face:
        for path in ("/v1", "/v1/agents/x", "/v1/parents//sub-tasks", "/v2/agents", "/"):
            problem(await face.http.get(path), 404, "request.not_found")
        answer = await face.http.delete("/v1/agents")
        problem(answer, 405, "request.method_not_allowed")
        assert "GET" in answer.headers["allow"]


async def test_a_refused_brief_is_an_end_and_no_error() -> None:
    """C7: an agent that refuses the brief ends the sub-task; the spawn itself is 201."""
    async with with_agent() as (face, agent):
        agent.on("SendStreamingMessage", ERR(-32602, "no such work"))
        row = await spawn(face)
        assert row["state"] == "FAILED"
        assert "no such work" in row["text"]


async def test_an_update_reaches_the_row_before_the_end() -> None:
    """E1: what is heard while the task works is in the row at the next look."""
    async with with_agent() as (face, agent):
        row = await spawn(face, "linked")
        agent.tell(S("INPUT_REQUIRED", "Which?"))
        settled = await face.harness.settled(row["id"], timeout=10)
        answer = await face.http.get(f"/v1/sub-tasks/{row['id']}")
        assert (answer.json()["state"], answer.json()["text"]) == (settled.state, "Which?")
