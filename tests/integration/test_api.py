"""The HTTP API's routes about agents, events and parents, and paths that are not there."""

import pytest

from ..agents.frames import EV, A, T
from ..agents.raw import RawAgent
from .delegating import NOTE, SUB_TASKS, asking, problem, spawn, with_agent
from .front import front


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
        paths = ("/v1", "/v1/agents/x", "/v1/parents//sub-tasks", "/v2/agents", "/", "/schema/x")
        for path in paths:
            problem(await face.http.get(path), 404, "request.not_found")
        answer = await face.http.delete("/v1/agents")
        problem(answer, 405, "request.method_not_allowed")
        assert "GET" in answer.headers["allow"]
