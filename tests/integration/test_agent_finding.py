"""AgentClient.find: the task of a message whose answer was lost, or surely none, or nobody knows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from tests.agents.frames import ERR, HOLD, Frame, Json, M, T
from tests.agents.raw import RawAgent

SINCE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def task(number: int, *message_ids: str, **more: Any) -> Frame:
    """A task with these messages in its history."""
    history = [M("said", id=one) for one in message_ids]
    return T("WORKING", id=f"t{number}", history=history, **more).stamped()


def page(*tasks: Frame, after: str = "") -> Json:
    """A page of them."""
    return {"tasks": list(tasks), "nextPageToken": after, "totalSize": 0}


async def test_the_message_decides(agent: RawAgent, client: AgentClient) -> None:
    """I2: found by the recorded message id in the history, on whichever page it is."""
    agent.on(
        "ListTasks",
        page(task(1, "m-8"), task(2, "m-9"), after="p2"),
        page(task(3, "m-7", "m-1")),
    )
    heard = await client.find("m-1", since=SINCE)
    assert heard is not None
    assert heard.report.remote_task_id == "t3"
    assert "m-1" in heard.report.history_ids
    first, second = agent.calls()
    assert first.params["statusTimestampAfter"] == "2026-01-02T02:54:05Z"
    assert int(first.params["historyLength"]) > 0
    assert int(first.params["pageSize"]) <= 100
    assert second.params["pageToken"] == "p2"
    assert first.headers["x-participant-id"] == "locum"


async def test_clocks_may_differ(agent: RawAgent, client: AgentClient) -> None:
    """I2: an agent's clock may be minutes behind; its tasks are looked through all the same."""
    agent.on("ListTasks", page(task(1, "m-1")))
    await client.find("m-1", since=SINCE)
    after = datetime.fromisoformat(agent.calls()[0].params["statusTimestampAfter"])
    assert timedelta(minutes=5) <= SINCE - after <= timedelta(hours=1)


async def test_a_context_is_looked_through_whole(agent: RawAgent, client: AgentClient) -> None:
    """I2, C14: a brief with a context is looked for there, whatever any clock says."""
    agent.on("ListTasks", page(task(1, "m-1", context="c7")))
    assert await client.find("m-1", since=SINCE, context_id="c7")
    (seen,) = agent.calls()
    assert seen.params["contextId"] == "c7"
    assert "statusTimestampAfter" not in seen.params


async def test_what_is_not_there_is_none(agent: RawAgent, client: AgentClient) -> None:
    """I2: histories that were shown and do not have the message settle it."""
    agent.on("ListTasks", page(task(1, "m-8"), task(2, "m-9")))
    assert await client.find("m-1", since=SINCE) is None
    agent.on("ListTasks", page())
    assert await client.find("m-1", since=None) is None
    assert "statusTimestampAfter" not in agent.calls()[-1].params


async def test_a_task_that_moved_while_pages_were_read(
    agent: RawAgent, client: AgentClient
) -> None:
    """I2: news moves a task to the front, past the pages yet to come; the front is read again."""
    agent.on(
        "ListTasks",
        page(task(1, "m-8"), after="p2"),
        page(task(2, "m-9")),
        page(task(3, "m-1"), task(1, "m-8"), after="p2"),
    )
    heard = await client.find("m-1", since=SINCE)
    assert heard is not None
    assert heard.report.remote_task_id == "t3"


async def test_a_history_that_was_copied_is_no_match(agent: RawAgent, client: AgentClient) -> None:
    """I2: agents copy a context's messages into later tasks: the one that the message names is it."""
    copied = M("the brief", id="m-1", task="t1")
    agent.on(
        "ListTasks",
        page(
            T("WORKING", id="t2", history=[copied, M("more", id="m-2", task="t2")]).stamped(),
            T("COMPLETED", id="t1", history=[copied]).stamped(),
        ),
    )
    heard = await client.find("m-1", since=SINCE)
    assert heard is not None
    assert heard.report.remote_task_id == "t1"


async def test_tasks_listed_without_history_are_asked_for(
    agent: RawAgent, client: AgentClient
) -> None:
    """I2: an agent that leaves the history out of its lists may show it in GetTask."""
    agent.put(task(1, "m-8"))
    agent.put(task(2, "m-1"))
    agent.on("ListTasks", page(task(9), task(1), task(2)))
    heard = await client.find("m-1", since=SINCE)
    assert heard is not None
    assert heard.report.remote_task_id == "t2"
    assert [seen.task_id for seen in agent.calls("GetTask")] == ["t9", "t1", "t2"]


async def test_a_history_that_may_be_cut_is_read_whole(
    agent: RawAgent, client: AgentClient
) -> None:
    """I2: of a long history the list may show the end only."""
    asked_for: list[int] = []

    async def listed(seen: Any, reply: Any) -> None:
        asked_for.append(int(seen.params["historyLength"]))
        await reply.json(page(task(1, *(f"m-{n}" for n in range(2, 2 + asked_for[0])))))

    agent.on("ListTasks", listed)
    agent.put(task(1, "m-1", *(f"m-{n}" for n in range(2, 200))))
    heard = await client.find("m-1", since=SINCE)
    assert heard is not None
    assert heard.report.remote_task_id == "t1"
    assert "historyLength" not in agent.calls("GetTask")[0].params


@pytest.mark.parametrize(
    "tasks, gets",
    [
        pytest.param([task(1)], [T("WORKING")], id="no history anywhere"),
        pytest.param([task(n) for n in range(40)], [], id="too many to ask for"),
    ],
)
async def test_an_agent_that_hides_the_history_leaves_it_open(
    agent: RawAgent, client: AgentClient, tasks: list[Frame], gets: list[Frame]
) -> None:
    """I2: with nothing to go by it is neither found nor surely absent."""
    agent.on("ListTasks", page(*tasks))
    for one in gets or [task(number, "m-8") for number in range(40)]:
        agent.put(one)
    with pytest.raises(RemoteCallError) as caught:
        await client.find("m-1", since=SINCE)
    assert (caught.value.code, caught.value.kind) == ("remote.not_listable", "in_doubt")
    assert len(agent.calls("GetTask")) <= 20


async def test_pages_without_end_leave_it_open(agent: RawAgent, client: AgentClient) -> None:
    """I2, J3: the search is bounded; past that it is open."""
    count = 0

    async def listed(seen: Any, reply: Any) -> None:
        nonlocal count
        count += 1
        await reply.json(page(task(count, f"m-x{count}"), after=f"p{count}"))

    agent.on("ListTasks", listed)
    with pytest.raises(RemoteCallError) as caught:
        await client.find("m-1", since=SINCE)
    assert caught.value.code == "remote.not_listable"
    assert count <= 21


async def test_a_page_that_repeats_is_the_last(agent: RawAgent, client: AgentClient) -> None:
    """I2, J3: an agent that ignores page tokens is not asked for ever."""
    agent.on("ListTasks", page(task(1, "m-8"), after="p1"))
    assert await client.find("m-1", since=SINCE) is None
    assert len(agent.calls("ListTasks")) == 3


@pytest.mark.parametrize(
    "answer, code, kind",
    [
        (ERR(-32601, "no such method"), "remote.refused", "refused"),
        (ERR(-32004, "not here"), "remote.unsupported", "refused"),
        ((404, {}, ""), "remote.refused", "refused"),
        ((503, {"retry-after": "3"}, ""), "remote.busy", "transient"),
        (HOLD, "remote.timeout", "transient"),
    ],
)
async def test_an_agent_that_cannot_list_says_so(
    agent: RawAgent, client: AgentClient, answer: Any, code: str, kind: str
) -> None:
    """I2, K4: what the agent said to ListTasks is raised, with its kind."""
    agent.on("ListTasks", answer)
    with pytest.raises(RemoteCallError) as caught:
        await client.find("m-1", since=SINCE, timeout=0.5)
    assert (caught.value.code, caught.value.kind) == (code, kind)
    assert caught.value.method == "ListTasks"


async def test_a_message_in_no_history_is_no_match(agent: RawAgent, client: AgentClient) -> None:
    """I2: a task that only answers about the message, or bears its id otherwise, is not its task."""
    agent.put(task(1, "m-8"))
    odd = T("WORKING", history=[M("x", id="m-8")], metadata={"messageId": "m-1"}).stamped()
    odd["status"]["message"] = M("about m-1", id="m-1")
    agent.on("ListTasks", page(odd))
    assert await client.find("m-1", since=SINCE) is None
