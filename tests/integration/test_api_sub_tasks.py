"""The HTTP API's routes that make and show sub-tasks, each with its refusals, over real HTTP."""

import asyncio
import base64
from urllib.parse import quote

import pytest

from ..agents.frames import EOF, ERR, EV, A, S, T, data_part, file_part, url_part
from .delegating import ROW, SUB_TASKS, problem, spawn, with_agent
from .front import front


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
