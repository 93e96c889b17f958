"""A parent's sub-tasks by page: bounded, in order, and none skipped or told twice."""

import pytest

from locum.core.errors import RequestError

from ..agents.frames import EOF, EV, A, T
from .delegating import problem, with_agent
from .front import Front

SUB_TASKS = "/v1/parents/p/sub-tasks"


async def pages(face: Front, query: str) -> list[list[str]]:
    """The ids on each page, by following `next`."""
    found: list[list[str]] = []
    after = ""
    while True:
        # One that is left out itself, for it has ended meanwhile, is still a place to go on from.
        page = (await face.http.get(f"{SUB_TASKS}?{query}{after}")).json()
        found.append([row["id"] for row in page["sub_tasks"]])
        if "next" not in page:
            return found
        assert page["next"] == found[-1][-1]
        after = f"&after={page['next']}"


async def settled(face: Front) -> str:
    """The id of a sub-task that the agent has answered."""
    row = await face.harness.spawn("p", agent="raw", goal="g")
    return (await face.harness.settled(row.id, timeout=10)).id


async def test_sub_tasks_by_page() -> None:
    """J3, API: no answer has more rows than `limit`; `next` leads on, and is not there at the end."""
    asks, done = T("INPUT_REQUIRED", "Which?"), T("COMPLETED", artifacts=[A("a", "x")])
    async with with_agent(updates="off") as (face, agent):
        told = [[EV(one), EOF] for one in (asks, done, asks, done, asks, asks)]
        agent.on("SendStreamingMessage", *told)
        ids = [await settled(face) for _ in range(5)]
        await face.harness.spawn("another", agent="raw", goal="g")
        assert await pages(face, "limit=2") == [ids[:2], ids[2:4], ids[4:]]
        assert await pages(face, "limit=5") == [ids]
        assert (await face.http.get(SUB_TASKS)).json().keys() == {"sub_tasks"}
        assert await pages(face, "limit=2&unresolved=true") == [[ids[0], ids[2]], [ids[4]]]
        # One that is left out itself, for it has ended meanwhile, is still a place to go on from.
        page = (await face.http.get(f"{SUB_TASKS}?unresolved=true&after={ids[1]}")).json()
        assert [row["id"] for row in page["sub_tasks"]] == [ids[2], ids[4]]
        assert [row.id for row in await face.harness.rows("p", after=ids[2], limit=1)] == [ids[3]]


async def test_pages_that_cannot_be() -> None:
    """J2, J3: a limit that is none, and a place that is not there, are told."""
    async with with_agent(EV(T("WORKING")), EOF) as (face, _):
        for query in ("limit=0", "limit=1001", "limit=x", "after=", f"after={'x' * 201}"):
            answer = await face.http.get(f"{SUB_TASKS}?{query}")
            path = query.partition("=")[0]
            assert problem(answer, 400, "request.invalid")["detail"]["errors"][0]["path"] == path
        problem(await face.http.get(f"{SUB_TASKS}?after=nope"), 404, "sub_task.not_found")
        with pytest.raises(RequestError, match="limit"):
            await face.harness.rows("p", limit=0)
        assert await face.harness.rows("p", after="\ud800") == []
