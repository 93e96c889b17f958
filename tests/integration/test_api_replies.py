"""The HTTP API's routes that reply and cancel, with their refusals, and who is said to act."""

import asyncio

from ..agents.frames import EOF, EV, A, T
from .delegating import ROW, SUB_TASKS, asking, problem, spawn, with_agent


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
