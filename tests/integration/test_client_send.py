"""The explicit client's single operations: send, get, cancel, list, and the result that each gives."""

import asyncio
import json
from typing import Any

import pytest
from a2a.types.a2a_pb2 import Message, Role, Task

from locum.adapters import A2AClient, A2AResult
from locum.core.errors import ClientTimeoutError, RemoteCallError, RequestError
from tests.agents.frames import ERR, HOLD, WAIT, A, M, T, data_part, file_part, url_part
from tests.agents.process import lawful_agent
from tests.agents.raw import RawAgent

from .explicit import BINDINGS, client_at

both = pytest.mark.parametrize("binding", BINDINGS)


# G2


@both
async def test_a_task_is_asked_about_until_it_has_settled(binding: Any) -> None:
    """G2: a task that is not settled is polled, that task only, until it has."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("SUBMITTED"))
        agent.on("GetTask", T("WORKING"), T("WORKING"), T("COMPLETED", artifacts=[A("a", "done")]))
        result = await client_at(agent).send("go")
        assert (result.state, result.text) == ("COMPLETED", "done")
        methods = [seen.method for seen in agent.calls()]
        assert methods == ["SendMessage", "GetTask", "GetTask", "GetTask"]
        assert {seen.task_id for seen in agent.calls("GetTask")} == {"t1"}
        configuration = agent.calls("SendMessage")[0].params.get("configuration") or {}
        assert not configuration.get("returnImmediately")


@both
@pytest.mark.parametrize("state", ["INPUT_REQUIRED", "AUTH_REQUIRED", "FAILED", "REJECTED"])
async def test_each_settled_state_ends_the_wait(binding: Any, state: str) -> None:
    """G2: what is parked or has failed is settled too."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.task = T(state, "because")
        result = await client_at(agent).send("go")
        assert (result.state, result.text) == (state, "because")
        assert result.input_required == (state == "INPUT_REQUIRED")
        assert result.auth_required == (state == "AUTH_REQUIRED")
        assert result.failed == (state in ("FAILED", "REJECTED"))
        assert not result.completed


@both
async def test_the_first_answer_is_enough(binding: Any) -> None:
    """G2: `wait=False` returns the first answer; `return_immediately` is the agent's business."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING", "looking"))
        client = client_at(agent)
        result = await client.send("go", wait=False, return_immediately=True)
        assert (result.state, result.text, result.settled) == ("WORKING", "looking", False)
        assert agent.calls("SendMessage")[0].params["configuration"]["returnImmediately"] is True
        assert agent.calls("GetTask") == []


@both
async def test_no_settled_state_in_time(binding: Any) -> None:
    """G2: past `timeout` it is a ClientTimeoutError, which names the task; also a TimeoutError."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        with pytest.raises(TimeoutError) as caught:
            await client_at(agent).send("go", timeout=0.4)
        assert isinstance(caught.value, ClientTimeoutError)
        assert caught.value.code == "client.timeout"
        assert caught.value.detail == {"timeout": 0.4, "task_id": "t1", "context_id": "c1"}


async def test_the_clients_own_timeout_counts_where_none_is_given() -> None:
    """G2: `timeout` of the client is for the operations that are given none; None is no end."""
    async with RawAgent() as agent:
        agent.on("GetTask", HOLD)
        client = client_at(agent, timeout=0.2)
        with pytest.raises(ClientTimeoutError):
            await client.get_task("t1")
        asking = asyncio.create_task(client.get_task("t1", timeout=None))
        await agent.seen("GetTask", count=2)
        done, _ = await asyncio.wait({asking}, timeout=0.5)
        assert not done
        asking.cancel()
        await asyncio.wait({asking})


@both
async def test_an_agent_that_is_away_for_a_while(binding: Any) -> None:
    """G2: polling goes on while the agent is busy or away, and honours Retry-After."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.on(
            "GetTask",
            (503, {}, "busy"),
            (429, {"retry-after": "1"}, ""),
            T("COMPLETED", artifacts=[A("a", "done")]),
        )
        assert (await client_at(agent).send("go")).text == "done"
        _, second, third = agent.calls("GetTask")
        # Not how fast it is: to have waited for what the agent asked for is the rule.
        assert third.at - second.at >= 1


@both
async def test_a_refusal_while_polling_names_the_task(binding: Any) -> None:
    """G2, K4: what the agent refuses ends the wait; the error says which task it is about."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.on("GetTask", ERR(-32001, "never heard of it"))
        with pytest.raises(RemoteCallError) as caught:
            await client_at(agent).send("go")
        assert caught.value.code == "remote.not_found"
        assert caught.value.detail["task_id"] == "t1"
        assert agent.calls("CancelTask") == []


@both
async def test_a_reply_names_its_task_and_context(binding: Any) -> None:
    """G2: with a task id the message answers that task, and the agent may move on to another (C13)."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING", id="t2"))
        agent.put(T("COMPLETED", id="t2", artifacts=[A("a", "done")]))
        client = client_at(agent)
        result = await client.send("the hall", task_id="t1", context_id="c1")
        (sent,) = agent.calls("SendMessage")
        assert (sent.message["taskId"], sent.message["contextId"]) == ("t1", "c1")
        assert (result.task_id, result.text) == ("t2", "done")


@both
async def test_a_message_of_ones_own(binding: Any) -> None:
    """G2: an a2a Message goes out as it is, what it leaves open filled in; it is not changed."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", M("ok"))
        client = client_at(agent)
        message = Message(reference_task_ids=["t0"])
        message.parts.add(text="two parts")
        message.parts.add(url="https://example.com/x")
        before = Message()
        before.CopyFrom(message)
        await client.send(message, context_id="c7")
        await client.send(Message(message_id="m-1", role=Role.ROLE_USER, parts=message.parts))
        first, second = (seen.message for seen in agent.calls("SendMessage"))
        assert message == before
        assert first["referenceTaskIds"] == ["t0"]
        assert (first["role"], first["contextId"]) == ("ROLE_USER", "c7")
        assert first["messageId"]
        assert second["messageId"] == "m-1"
        assert [part.get("url") for part in first["parts"]] == [None, "https://example.com/x"]


@pytest.mark.parametrize("message", ["", "  ", "\ud800", Message(), 5, None], ids=repr)
async def test_what_cannot_be_sent(message: Any) -> None:
    """G2: a message that says nothing, or cannot be sent, is refused before anything is."""
    async with RawAgent() as agent:
        with pytest.raises(RequestError):
            await client_at(agent).send(message)
        assert agent.requests == []


@both
async def test_a_task_without_an_id(binding: Any) -> None:
    """G2: a task at work that has no id cannot be asked about; that is said, and nothing guessed."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING", id=""))
        with pytest.raises(RemoteCallError) as caught:
            await client_at(agent).send("go")
        assert (caught.value.code, caught.value.kind) == ("remote.malformed", "in_doubt")


# G4


@both
async def test_one_task_by_its_id(binding: Any) -> None:
    """G4: `get_task` asks for one named task, `cancel_task` ends one."""
    async with RawAgent(binding) as agent:
        agent.put(T("WORKING", "looking", id="a/b?c"))
        client = client_at(agent)
        result = await client.get_task("a/b?c", history=3)
        assert (result.task_id, result.status_text) == ("a/b?c", "looking")
        assert str(agent.calls("GetTask")[0].params["historyLength"]) == "3"
        result = await client.cancel_task("a/b?c")
        assert (result.state, result.failed) == ("CANCELED", True)
        with pytest.raises(RemoteCallError) as caught:
            await client.cancel_task("a/b?c")
        assert caught.value.code == "remote.not_cancelable"
        assert [seen.method for seen in agent.calls()] == ["GetTask", "CancelTask", "CancelTask"]


@both
async def test_another_task_than_the_one_asked_for(binding: Any) -> None:
    """G4, K3: an answer about another task is an error."""
    async with RawAgent(binding) as agent:
        agent.on("GetTask", T("COMPLETED", id="t9"))
        with pytest.raises(RemoteCallError) as caught:
            await client_at(agent).get_task("t1")
        assert caught.value.code == "remote.wrong_task"


@both
async def test_one_page_of_tasks(binding: Any) -> None:
    """G4: `list_tasks` reads one page, filtered as asked; the rest is the caller's to ask for."""
    tasks = [T("WORKING", id=f"t{n}", context="c1" if n % 2 else "c2") for n in range(8)]
    page = {"tasks": tasks, "nextPageToken": "more", "pageSize": 8, "totalSize": 80}
    async with RawAgent(binding) as agent:
        agent.on("ListTasks", page)
        client = client_at(agent)
        page_of = await client.list_tasks(
            context_id="c1", state="WORKING", page_size=3, page_token="first"
        )
        assert [one.task_id for one in page_of.tasks] == ["t1", "t3", "t5"]
        assert (list(page_of), len(page_of)) == (list(page_of.tasks), 3)
        assert (page_of.next_page_token, page_of.total, page_of.left_out) == ("more", 80, 5)
        (asked,) = agent.calls()
        params = {name: str(asked.params[name]) for name in ("contextId", "status", "pageSize")}
        assert params == {"contextId": "c1", "status": "TASK_STATE_WORKING", "pageSize": "3"}
        assert asked.params["pageToken"] == "first"


@pytest.mark.parametrize(
    "given",
    [{"page_size": 0}, {"page_size": 101}, {"page_size": True}, {"state": "BUSY"}],
    ids=str,
)
async def test_a_page_that_cannot_be_asked_for(given: dict[str, Any]) -> None:
    """G4: a page is bounded, and a state is one of A2A's."""
    async with RawAgent() as agent:
        with pytest.raises(RequestError):
            await client_at(agent).list_tasks(**given)
        assert agent.requests == []


async def test_nothing_is_listed_behind_ones_back() -> None:
    """G4: no operation lists tasks but list_tasks, however a send turns out."""
    async with RawAgent() as agent:
        client = client_at(agent)
        for answer in (T("COMPLETED"), ERR(-32603), (500, {}, ""), M("hi")):
            agent.on("SendMessage", answer)
            try:
                await client.send("go")
            except RemoteCallError:
                pass
        assert {seen.method for seen in agent.calls()} == {"SendMessage"}


# G9


@both
async def test_a_result_has_all_that_was_said(binding: Any) -> None:
    """G9: text, data, artifacts, state, ids, as_dict(), and the official objects beside them."""
    task = T(
        "COMPLETED",
        "ready",
        artifacts=[
            A("a", "Hello", name="greeting"),
            A("b", [data_part({"n": 1, "ratio": 0.5}), data_part([1, 2])]),
            A("c", [file_part(b"\x00\x01", filename="x.bin", media_type="application/x")]),
        ],
    )
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", task)
        result = await client_at(agent).send("go")
        assert isinstance(result, A2AResult)
        assert (result.text, result.status_text) == ("Hello", "ready")
        assert result.data == [{"n": 1, "ratio": 0.5}, [1, 2]]
        assert [one.artifact_id for one in result.artifacts] == ["a", "b", "c"]
        assert isinstance(result.task, Task)
        assert result.task.artifacts[2].parts[0].raw == b"\x00\x01"
        assert (result.message, result.update) == (None, None)
        told = result.as_dict()
        assert json.loads(json.dumps(told)) == told
        assert told["state"] == "COMPLETED"
        assert (told["task_id"], told["context_id"]) == ("t1", "c1")
        assert told["artifacts"][2]["parts"] == [
            {"raw": "AAE=", "media_type": "application/x", "filename": "x.bin"}
        ]
        assert (told["completed"], told["failed"]) == (True, False)


@both
async def test_a_direct_answer_as_a_result(binding: Any) -> None:
    """G9: of a direct Message the parts are the result, and the object is at `message`."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", M(data_part({"n": 1})))
        result = await client_at(agent).send("hi")
        assert (result.text, result.data, result.completed) == ("", [{"n": 1}], True)
        assert isinstance(result.message, Message)
        assert (result.task, result.as_dict()["data"]) == (None, [{"n": 1}])


@both
async def test_a_question_in_data(binding: Any) -> None:
    """G9: a question that has no text is its data, as compact JSON and as values."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("INPUT_REQUIRED", data_part({"confirm": "rm"})))
        result = await client_at(agent).send("go")
        assert (result.text, result.data) == ('{"confirm":"rm"}', [{"confirm": "rm"}])


@both
async def test_a_question_that_is_an_artifact(binding: Any) -> None:
    """G9, case Q10: a question without any words of its own is what the artifacts say."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("INPUT_REQUIRED", artifacts=[A("q", "Which hall?")]))
        assert (await client_at(agent).send("go")).text == "Which hall?"


async def test_an_answer_that_only_looks_parked() -> None:
    """G9: INPUT_REQUIRED with the sub-state `awaiting-next-message` is an answer (D13)."""
    key = "io.github.madarauchiha-314.tiny-harness/status"
    task = T(
        "INPUT_REQUIRED",
        "ready",
        artifacts=[A("a", "42")],
        metadata={key: {"sub_state": "awaiting-next-message"}},
    )
    async with RawAgent() as agent:
        agent.on("SendMessage", task)
        result = await client_at(agent).send("go")
        assert (result.text, result.completed, result.input_required) == ("42", True, False)


async def test_a_state_that_nobody_knows() -> None:
    """G9: a state that A2A does not know is none; it is neither progress nor an end."""
    async with RawAgent() as agent:
        agent.on("SendMessage", T("TASK_STATE_PONDERING"))
        agent.on("GetTask", T("TASK_STATE_PONDERING"), T("COMPLETED", artifacts=[A("a", "done")]))
        client = client_at(agent)
        assert (await client.send("go", wait=False)).state is None
        assert (await client.send("go")).text == "done"


async def test_a_failure_gives_its_reason() -> None:
    """G9: the text of what has failed is the reason, wherever the agent put it (E7)."""
    async with RawAgent() as agent:
        client = client_at(agent)
        agent.on("SendMessage", T("FAILED", artifacts=[A("a", "no chairs left")]))
        assert (await client.send("go")).text == "no chairs left"
        agent.on("SendMessage", T("REJECTED", url_part("https://example.com/why")))
        result = await client.send("go")
        assert (result.text, result.failed) == ("https://example.com/why", True)


# With an agent that is a2a-sdk's own


async def test_with_a_lawful_agent() -> None:
    """G2, G4, G9: the operations against a2a-sdk's own server, over both of its bindings."""
    async with lawful_agent() as agent:
        client = A2AClient(f"{agent.url}/.well-known/agent-card.json", poll_interval=0.05)
        asked = await client.send('[[ work; ask "Which hall?"; artifact a "{reply}"; complete ]]')
        assert (asked.text, asked.input_required) == ("Which hall?", True)
        done = await client.send("the red one", task_id=asked.task_id, context_id=asked.context_id)
        assert (done.text, done.task_id) == ("the red one", asked.task_id)
        hangs = await client.send("[[ work; hang ]]", wait=False, return_immediately=True)
        listed = await client.list_tasks(context_id=hangs.context_id)
        assert [one.task_id for one in listed.tasks] == [hangs.task_id]
        assert (await client.cancel_task(hangs.task_id)).state == "CANCELED"
        assert (await client.get_task(hangs.task_id)).failed
        answered = await client.send('[[ message "hello" ]]')
        assert (answered.text, answered.task) == ("hello", None)


async def test_a_blocking_send_takes_as_long_as_it_may() -> None:
    """G2: an agent that holds SendMessage until it is done is waited for up to `timeout`."""
    async with RawAgent() as agent:
        agent.on("SendMessage", [WAIT(0.3), T("COMPLETED", artifacts=[A("a", "done")])])
        assert (await client_at(agent).send("go", timeout=None)).text == "done"
        with pytest.raises(ClientTimeoutError):
            await client_at(agent).send("go", timeout=0.1)
        await agent.all_closed(timeout=1)
        assert agent.calls("CancelTask") == []


async def test_what_gettask_says_counts_whatever_its_clock_says() -> None:
    """G2: the answer to a question that was just asked is no old news, even if its time is older."""
    async with RawAgent() as agent:
        agent.on("SendMessage", T("WORKING", ts="2026-01-01T00:00:02Z"))
        agent.task = T("INPUT_REQUIRED", "which?", ts="2026-01-01T00:00:01Z")
        assert (await client_at(agent).send("go")).text == "which?"
