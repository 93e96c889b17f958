"""`GET /v1/sub-tasks/{id}/replay`: a sub-task as it was, over HTTP."""

import pytest

from .delegating import NOTE, ROW, asking, problem, spawn


async def test_a_sub_task_as_it_was() -> None:
    """H4: by version, by time, or as it is: row, what was told, and what was to be done next."""
    async with asking() as (face, _):
        row = await spawn(face)
        path = f"/v1/sub-tasks/{row['id']}"
        events = (await face.http.get(f"{path}/events")).json()["events"]
        now = (await face.http.get(f"{path}/replay")).json()
        assert set(now) == {"sub_task", "row", "notifications", "next_action"}
        assert now["row"] == row
        assert (set(now["row"]), set(now["notifications"][0])) == (ROW, NOTE)
        first = (await face.http.get(f"{path}/replay?version=1")).json()
        assert (first["row"]["state"], first["notifications"]) == ("SUBMITTED", [])
        assert first["next_action"]["action"] == "send"
        last = events[-1]["at"]
        assert (await face.http.get(f"{path}/replay?at={last}")).json()["row"] == row


@pytest.mark.parametrize(
    "query, status, code",
    [
        ("version=99", 404, "history.no_version"),
        ("at=2001-01-01T00:00:00Z", 404, "history.no_version"),
        ("at=soon", 400, "history.no_time"),
        ("version=0", 400, "request.invalid"),
        ("version=x", 400, "request.invalid"),
        ("version=1&at=2026-01-01T00:00:00Z", 400, "request.invalid"),
    ],
)
async def test_moments_that_are_none(query: str, status: int, code: str) -> None:
    """H4, J2: a version or a time that is none is told."""
    async with asking() as (face, _):
        row = await spawn(face)
        problem(await face.http.get(f"/v1/sub-tasks/{row['id']}/replay?{query}"), status, code)
        problem(await face.http.get("/v1/sub-tasks/nope/replay"), 404, "sub_task.not_found")
