"""docs/upstream.md, answers and errors: what a2a-sdk's plain client gets wrong,
and locum's beside it.

When one of these fails for the plain client's part, a new SDK has mended it: strike it from the page.
Each docstring ends in the fault's name there.
"""

import json
from contextlib import aclosing
from typing import Any

import pytest
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import A2AError, MethodNotFoundError, TaskNotFoundError
from google.protobuf.json_format import ParseError

from locum.core.errors import RemoteCallError

from ..agents.frames import EOF, ERR, EV, T
from .paired import SEND, STAMP, both, pair


@both
@pytest.mark.parametrize(
    "task",
    [
        T("WORKING", ts="2026-01-02T03:04:05"),
        T("WORKING", ts=STAMP, artifacts=[None]),  # type: ignore[list-item]  # as an agent has it
        T("WORKING", ts=STAMP, metadata=["none"]),
    ],
    ids=["a time without a zone", "a null in a list", "a list for an object"],
)
async def test_one_bad_field(binding: Any, task: Any) -> None:
    """K2: one field that protobuf cannot read costs the plain client the whole answer, and not even
    by an error of its own (one-bad-field).
    """
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", task)
        with pytest.raises(ParseError) as fault:
            await both_clients.plain_get()
        assert not isinstance(fault.value, A2AError)
        heard = await both_clients.ours.get("t1")
        assert heard.report.state == "WORKING"
        assert heard.report.anomalies


@both
async def test_another_task(binding: Any) -> None:
    """K3: the plain client hands on an answer about a task that nobody asked for (another-task)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", T("COMPLETED", id="t2"))
        assert (await both_clients.plain_get()).id == "t2"
        with pytest.raises(RemoteCallError) as fault:
            await both_clients.ours.get("t1")
        assert fault.value.code == "remote.wrong_task"


@both
async def test_an_answer_of_unknown_shape(binding: Any) -> None:
    """K2: what the plain client does not know comes out as an empty object (empty-objects)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", {"task": T("COMPLETED", ts=STAMP)})
        both_clients.agent.on(SEND, [EV(dict(T("COMPLETED", ts=STAMP))), EOF])
        assert await both_clients.plain_get() == Task()
        assert await both_clients.plain_send() == [StreamResponse()]
        assert (await both_clients.ours.get("t1")).report.state == "COMPLETED"
        (report,) = await both_clients.our_send()
        assert report.state == "COMPLETED"


@both
async def test_nothing_where_a_result_belongs(binding: Any) -> None:
    """K2: a deletion that is answered with 204 fails at the plain client (no-content)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("DeleteTaskPushNotificationConfig", (204, {}, b""))
        request = DeleteTaskPushNotificationConfigRequest(task_id="t1", id="p1")
        with pytest.raises(A2AClientError):
            await both_clients.plain.delete_task_push_notification_config(request)
        await both_clients.ours.delete_push("t1", "p1")


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_an_error_under_another_status(status: int) -> None:
    """K4: under any status but 200 the plain client drops JSON-RPC's error (error-body)."""
    async with pair("JSONRPC") as both_clients:
        both_clients.agent.on("GetTask", ERR(-32001, "no such chair", status=status))
        with pytest.raises(A2AClientError) as fault:
            await both_clients.plain_get()
        assert not isinstance(fault.value, TaskNotFoundError)
        assert "no such chair" not in str(fault.value)
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert typed.value.code == "remote.not_found"
        assert "no such chair" in typed.value.message


async def test_a_404_of_somebody_else() -> None:
    """K4: over HTTP+JSON any 404 is a method that does not exist, to the plain client (404)."""
    async with pair("HTTP+JSON") as both_clients:
        both_clients.agent.on("GetTask", (404, {"content-type": "text/html"}, b"<h1>No route</h1>"))
        with pytest.raises(MethodNotFoundError):
            await both_clients.plain_get()
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert (typed.value.code, typed.value.status) == ("remote.refused", 404)
        assert "No route" in typed.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 422, "message": "only red or blue"}},
        {"type": "about:blank", "title": "only red or blue"},
        {"detail": "only red or blue"},
    ],
    ids=["no details", "a problem document", "a framework's own"],
)
async def test_the_words_of_an_error(body: Any) -> None:
    """K4: over HTTP+JSON the plain client drops what an error says, unless it has a reason that it
    knows (error-words).
    """
    async with pair("HTTP+JSON") as both_clients:
        answer = (422, {"content-type": "application/json"}, json.dumps(body))
        both_clients.agent.on("GetTask", answer)
        with pytest.raises(A2AClientError) as fault:
            await both_clients.plain_get()
        assert "only red or blue" not in str(fault.value)
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert "only red or blue" in typed.value.message


async def test_a_subscription_without_streaming() -> None:
    """K4: without streaming the plain client raises what is no error of A2A's (not-implemented)."""
    async with pair("JSONRPC", streaming=False) as both_clients:
        with pytest.raises(NotImplementedError):
            async for _ in both_clients.plain.subscribe(SubscribeToTaskRequest(id="t1")):
                pass
        with pytest.raises(RemoteCallError) as typed:
            async with aclosing(both_clients.ours.subscribe("t1")) as heard:
                await anext(heard)
        assert typed.value.code == "remote.unsupported"
