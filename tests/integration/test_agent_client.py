"""AgentClient's calls: where they go, and what becomes of a whole answer about a task."""

from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.interface import Interface
from locum.core.errors import RemoteCallError
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from tests.agents.card import card_for
from tests.agents.frames import EOF, EV, A, Binding, Json, M, T
from tests.agents.process import LawfulAgent, lawful_agent
from tests.agents.raw import RawAgent

from .calling import PUSH, call_all
from .clients import brief, client_for, client_of


async def test_the_chosen_interface_is_the_one_called() -> None:
    """A5: of a card's interfaces the chosen one is called, at its URL as written, never another."""
    async with RawAgent("JSONRPC") as agent, RawAgent("JSONRPC") as other:
        card = card_for(other.url, ["JSONRPC", "HTTP+JSON"])
        answer: Any = (200, {}, '{"jsonrpc": "2.0", "id": 1, "result": {"id": "t1"}}')
        for url in (agent.rpc_url, agent.rpc_url + "/", agent.rpc_url + "?v=1"):
            agent.on(url.removeprefix(agent.url).partition("?")[0], answer)
            interface = Interface(url=url, binding="JSONRPC", protocol_version="1.1")
            async with client_for(card, interface) as client:
                await client.get("t1")
        assert [seen.target for seen in agent.requests] == ["/rpc", "/rpc/", "/rpc?v=1"]
        assert other.requests == []


@pytest.mark.parametrize(
    "tenant", ["acme", "a b", "acme#1", "who?", "a/b", "100%25", "50%", "ü", "..", "a:b"]
)
async def test_the_tenant_is_on_every_request(agent: RawAgent, tenant: str) -> None:
    """A5: the interface's tenant goes with each call and arrives as it is, also in a path."""
    async with client_of(agent, tenant=tenant) as client:
        await call_all(client)
    assert len(agent.calls()) == 8
    assert {seen.tenant for seen in agent.calls()} == {tenant}


@pytest.mark.parametrize("task_id", ["a/b", "../t1", "a b", "t?1", "t%2F1", "tä", "t#1", "."])
async def test_odd_task_ids_arrive(agent: RawAgent, client: AgentClient, task_id: str) -> None:
    """K3: task ids are percent-encoded into URLs and arrive as they are."""
    agent.put(T("WORKING", id=task_id))
    assert (await client.get(task_id)).report.remote_task_id == task_id
    async with aclosing(client.subscribe(task_id)) as stream:
        await anext(stream)
    config = await client.create_push(task_id, **{**PUSH, "config_id": "c/1 ?"})
    assert [one.id for one in await client.list_push(task_id)] == [config.id]
    await client.delete_push(task_id, config.id)
    await client.cancel(task_id)
    assert {seen.task_id for seen in agent.calls()} == {task_id}


async def test_get_says_how_a_task_is(agent: RawAgent, client: AgentClient) -> None:
    """D12: GetTask gives the whole task, and as much history as was asked for."""
    agent.task = T("COMPLETED", artifacts=[A("a", "done")], history=[M("x", id="m-1")])
    heard = await client.get("t1", history=7)
    assert heard.report.state is A2AState.COMPLETED
    assert heard.report.artifacts[0].parts == (Part(text="done"),)
    assert heard.report.history_ids == ("m-1",)
    assert heard.payload.DESCRIPTOR.name == "Task"
    assert int(agent.calls()[0].params["historyLength"]) == 7
    await client.get("t1")
    assert "historyLength" not in agent.calls()[1].params


async def test_cancel_says_how_the_task_is_then(agent: RawAgent, client: AgentClient) -> None:
    """F2: the answer to CancelTask is the task as it is then."""
    agent.put(T("WORKING"))
    assert (await client.cancel("t1")).report.state is A2AState.CANCELED


async def test_what_is_over_cannot_be_cancelled(agent: RawAgent, client: AgentClient) -> None:
    """F2, K4: the agent's refusal to cancel has a code of its own."""
    agent.put(T("COMPLETED"))
    with pytest.raises(RemoteCallError) as caught:
        await client.cancel("t1")
    assert (caught.value.code, caught.value.kind) == ("remote.not_cancelable", "refused")


@pytest.mark.parametrize("method", ["GetTask", "CancelTask"])
async def test_an_answer_about_another_task_is_an_error(
    agent: RawAgent, client: AgentClient, method: str
) -> None:
    """K3: it is no change of the task that was asked for."""
    agent.on(method, T("COMPLETED", id="t2"))
    with pytest.raises(RemoteCallError) as caught:
        await (client.get("t1") if method == "GetTask" else client.cancel("t1"))
    assert caught.value.code == "remote.wrong_task"
    assert caught.value.method == method


async def test_an_endless_id_is_not_quoted_whole(agent: RawAgent, client: AgentClient) -> None:
    """J3: what an agent says in the wrong place cannot make an error grow without bound."""
    long = "t\n" * 50_000
    agent.on("GetTask", T("COMPLETED", id=long))
    agent.on("CreateTaskPushNotificationConfig", {"id": "c", "taskId": long, "url": "http://u"})
    for call in (client.get("t1"), client.create_push("t1", **PUSH)):
        with pytest.raises(RemoteCallError) as caught:
            await call
        assert caught.value.code == "remote.wrong_task"
        assert len(caught.value.message) < 500


async def test_a_task_without_an_id_is_the_asked_one(agent: RawAgent, client: AgentClient) -> None:
    """K3, K2: a task that says its state is read as the one asked for; one that says nothing not."""
    agent.on("GetTask", T("WORKING", id=""), T("DREAMING", id=""), {"artifacts": []})
    heard = await client.get("t1")
    assert heard.report.remote_task_id == "t1"
    assert "task.id_missing" in heard.report.anomalies
    for _ in range(2):
        with pytest.raises(RemoteCallError) as caught:
            await client.get("t1")
        assert (caught.value.code, caught.value.kind) == ("remote.malformed", "in_doubt")


async def test_a_task_that_is_not_known(agent: RawAgent, client: AgentClient) -> None:
    """D10: only the agent's own word that it knows no such task is `remote.not_found`."""
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t9")
    assert (caught.value.code, caught.value.kind) == ("remote.not_found", "refused")
    agent.on("GetTask", (404, {"content-type": "text/html"}, "<h1>Not Found</h1>"))
    with pytest.raises(RemoteCallError) as caught:
        await client.get("t9")
    assert (caught.value.code, caught.value.status) == ("remote.refused", 404)


async def test_repairs_are_on_the_report_that_they_led_to(agent: RawAgent) -> None:
    """K2, H1: an oddity is named on the report of its own event, and counted once."""
    odd: list[tuple[str, str]] = []
    agent.on(
        "SendStreamingMessage",
        [EV(T("SUBMITTED")), EV(T("working")), EV(T("TASK_STATE_COMPLETED")), EOF],
    )
    async with client_of(agent, on_anomaly=lambda *what: odd.append(what)) as client:
        async with aclosing(client.send(brief())) as stream:
            reports = [one.report async for one in stream]
        agent.on("GetTask", T("cancelled"))
        got = (await client.get("t1")).report
    assert [report.anomalies for report in reports] == [(), ("json.state_alias",), ()]
    assert (got.state, got.anomalies) == (A2AState.CANCELED, ("json.state_alias",))
    assert odd == [("peer", "json.state_alias")] * 2


async def test_a_page_of_tasks(agent: RawAgent, client: AgentClient) -> None:
    """G4: one bounded, filtered page."""
    agent.on(
        "ListTasks",
        {"tasks": [T("WORKING", id="t5").stamped()], "nextPageToken": "more", "totalSize": 9},
    )
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    page = await client.list_tasks(
        context_id="c1",
        state=A2AState.INPUT_REQUIRED,
        since=since,
        page_size=3,
        page_token="p",
        history=4,
    )
    assert [one.report.remote_task_id for one in page.tasks] == ["t5"]
    assert (page.next_page_token, page.total) == ("more", 9)
    (seen,) = agent.calls()
    asked: Json = {name: str(value) for name, value in seen.params.items() if name != "tenant"}
    assert asked == {
        "contextId": "c1",
        "status": "TASK_STATE_INPUT_REQUIRED",
        "statusTimestampAfter": "2026-01-02T03:04:05Z",
        "pageSize": "3",
        "pageToken": "p",
        "historyLength": "4",
    }


async def test_a_real_agent_from_end_to_end() -> None:
    """A1: a2a-sdk's server understands every call, in both bindings."""
    async with lawful_agent() as agent:
        await go_through_all(agent, "JSONRPC", agent.url + "/rpc")
        await go_through_all(agent, "HTTP+JSON", agent.url + "/rest")
        await agent.wait_streams(0)


async def go_through_all(agent: LawfulAgent, binding: Binding, url: str) -> None:
    """A task from its brief to its end, and every call on the way."""
    interface = Interface(url=url, binding=binding)
    card = card_for(agent.url, [binding])
    started = datetime.now(UTC)
    message_id = f"m-{binding}"
    script = (
        '[[ artifact a "Hello, "; append a "world" last; ask "Which hall?"; complete "{reply}" ]]'
    )
    async with client_for(card, interface) as client:
        async with aclosing(client.send(brief(message_id, script))) as stream:
            reports = [one.report async for one in stream]
        assert reports[-1].state is A2AState.INPUT_REQUIRED
        assert reports[-1].text == "Which hall?"
        task_id, context_id = reports[-1].remote_task_id, reports[-1].context_id

        found = await client.find(message_id, since=started)
        assert found is not None
        assert found.report.remote_task_id == task_id
        assert await client.find("m-none", since=started) is None
        assert await client.find("m-none", since=started, context_id=context_id) is None

        push = {**PUSH, "url": "https://locum.example/a2a/push/s1"}
        await client.create_push(task_id, **push)
        assert [config.id for config in await client.list_push(task_id)] == ["cfg-1"]
        await client.delete_push(task_id, "cfg-1")
        assert await client.list_push(task_id) == ()

        reply = brief(f"{message_id}-2", "the big one")
        reply.task_id, reply.context_id = task_id, context_id
        async with aclosing(client.send(reply)) as stream:
            reports = [one.report async for one in stream]
        assert reports[-1].state is A2AState.COMPLETED
        got = (await client.get(task_id)).report
        assert got.state is A2AState.COMPLETED
        assert "".join(str(part.text) for part in got.artifacts[0].parts) == "Hello, world"
        with pytest.raises(RemoteCallError) as caught:
            await client.cancel(task_id)
        assert caught.value.code == "remote.not_cancelable"
        with pytest.raises(RemoteCallError) as caught:
            await client.get("no-such-task")
        assert caught.value.code == "remote.not_found"
        page = await client.list_tasks(context_id=context_id, state=A2AState.COMPLETED)
        assert [one.report.remote_task_id for one in page.tasks] == [task_id]
