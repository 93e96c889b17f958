"""The check of an agent's answers about tasks: disagreeing, untimed, unknown, listed, cancelled."""

from typing import Any

import pytest

from locum.adapters.a2a.checkup.examination import Patience

from ..agents.frames import EOF, ERR, EV, HOLD, A, S, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import SEND, STAMP, SUBSCRIBE, about_t1, both, checked, codes


@both
@pytest.mark.parametrize(
    "task",
    [
        T("WORKING", ts=STAMP),
        T("COMPLETED", ts=STAMP),
        T("COMPLETED", ts=STAMP, artifacts=[A("a", "ten")]),
    ],
    ids=["another state", "no artifact", "another text"],
)
async def test_gettask_that_disagrees(binding: Any, task: Any) -> None:
    """K2: GetTask has the state and the artifacts that the stream has told."""
    async with RawAgent(binding) as agent:
        stream = [EV(T("WORKING")), EV(A("a", "ni")), EV(A("a", "ne", append=True))]
        agent.on(SEND, [*stream, EV(S("COMPLETED")), EOF])
        agent.task = task
        checkup = await checked(agent.url)
        assert ("task.disagrees", "GetTask") in codes(checkup)


@both
async def test_times_that_are_missing(binding: Any) -> None:
    """D14: without a single timestamp nobody can tell what is newer; some may be without."""
    async with RawAgent(binding) as agent:
        agent.task = T("WORKING", ts=None)
        agent.on(SEND, [EV(T("WORKING", ts=None)), HOLD])
        agent.on(SUBSCRIBE, [EV(T("WORKING", ts=None)), HOLD])
        agent.on("CancelTask", T("CANCELED", ts=None))
        agent.on("GetTask", T("WORKING", ts=None), T("CANCELED", ts=None))
        checkup = await checked(agent.url)
        assert ("timestamp.missing", SEND) in codes(checkup)
    async with RawAgent(binding) as agent:
        agent.on(SEND, [EV(T("WORKING", ts=None)), HOLD])
        assert (await checked(agent.url)).ok


@both
@pytest.mark.parametrize("answer", ["a task", "another code", "another status", "words"])
async def test_tasks_that_do_not_exist(binding: Any, answer: str) -> None:
    """K4: TaskNotFoundError, as the binding says it, for a task that does not exist."""

    async def unknown(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await agent.answer(seen, reply)
        elif answer == "a task":
            await reply.json(T("WORKING", id=seen.task_id))
        elif answer == "another code":
            await reply.error(-32603, "no such key")
        elif answer == "another status":
            await reply.error(-32001, "not found", status=410)
        else:
            await reply.respond(404, {"content-type": "text/html"}, "<h1>Not Found</h1>")

    async with RawAgent(binding) as agent:
        for method in ("GetTask", "CancelTask"):
            agent.on(method, unknown)
        checkup = await checked(agent.url)
        code = {
            "a task": "error.missing",
            "another code": "error.wrong_code",
            "another status": "error.http_status",
            "words": "error.wrong_code",
        }[answer]
        assert codes(checkup) == {(code, "GetTask"), (code, "CancelTask")}


@both
async def test_a_call_about_an_unknown_task_that_hangs(binding: Any) -> None:
    """K4: no answer is told as what it is, not as a wrong code."""

    async def unknown(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await agent.answer(seen, reply)
        await reply.hold()

    async with RawAgent(binding) as agent:
        agent.on("CancelTask", unknown)
        quick = Patience(step=0.5, listen=0.2, closing=0.2, clearing=1)
        checkup = await checked(agent.url, patience=quick)
        assert codes(checkup) == {("remote.timeout", "CancelTask")}


@both
async def test_what_is_odd_about_a_list(binding: Any) -> None:
    """K2: a list has the tasks of the context that was asked for, without artifacts, counted."""
    other = T("WORKING", id="t9", context="c9", ts=STAMP, artifacts=[A("a", "x")])
    async with RawAgent(binding) as agent:
        agent.on("ListTasks", {"tasks": [other], "nextPageToken": "", "pageSize": 10})
        assert codes(await checked(agent.url)) == {
            ("list.incomplete", "ListTasks"),
            ("list.unfiltered", "ListTasks"),
            ("list.artifacts", "ListTasks"),
            ("list.total", "ListTasks"),
        }
        agent.on("ListTasks", ERR(-32004, "no lists here"))
        agent.put(T("WORKING"))
        assert codes(await checked(agent.url)) >= {("remote.unsupported", "ListTasks")}


@both
async def test_a_task_that_is_not_cancelled(binding: Any) -> None:
    """F2: an agent may refuse to cancel; then it is said that the task was left behind."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", about_t1(agent, ERR(-32002, "not now")))
        checkup = await checked(agent.url)
        assert checkup.ok
        assert checkup.left_behind == ["task t1: the agent does not cancel it"]
        assert len(agent.calls("CancelTask")) == 2
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", about_t1(agent, T("WORKING")))
        checkup = await checked(agent.url)
        assert checkup.ok
        assert checkup.left_behind == ["task t1: it was cancelled and is still WORKING"]
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", about_t1(agent, T("CANCELED")))
        assert codes(await checked(agent.url)) == {("task.disagrees", "GetTask")}


@both
async def test_a_task_that_is_over_and_cancelled_all_the_same(binding: Any) -> None:
    """F2: a task that is over cannot be cancelled."""
    async with RawAgent(binding) as agent:
        done = T("COMPLETED")
        agent.task = done
        agent.on(SEND, [EV(done), EOF])
        agent.on("CancelTask", about_t1(agent, done))
        assert codes(await checked(agent.url)) == {("error.missing", "CancelTask")}
