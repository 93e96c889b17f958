"""Calls that are no streams, over real sockets: results mended, errors kept, URLs spelled right."""

from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    TaskPushNotificationConfig,
    TaskState,
)

from locum.core.errors import RemoteCallError

from ..agents.frames import COMMENT, EOF, ERR, EV, HOLD, A, Binding, M, S, T
from ..agents.raw import RawAgent
from ..agents.sdk import send_request
from .saying import FLAT_TASK, saying
from .wired import call, wired

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


@pytest.mark.parametrize(
    "said,anomalies",
    [
        (T("WORKING"), []),
        ({"task": T("WORKING")}, ["json.task_wrapper"]),
        ({**T("WORKING", ts=None), "history": None}, ["json.null_list"]),
        (S("WORKING"), ["json.no_frame", "json.task_wrapper"]),
        ({"statusUpdate": S("WORKING")}, ["json.task_wrapper"]),
    ],
)
async def test_a_task_in_any_wrapping(binding: Binding, said: Any, anomalies: list[str]) -> None:
    """K2: a Task answered inside of a wrapper is unwrapped; the id of the answer does not matter."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", saying(said))
        task = await peer.get()
        assert (task.id, task.status.state) == ("t1", TaskState.TASK_STATE_WORKING)
        assert peer.notes.anomalies == anomalies


async def test_a_task_of_0_3(binding: Binding) -> None:
    """K2: aliases, unreadable times and null lists in a GetTask answer."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", saying(FLAT_TASK))
        task = await peer.get()
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert not task.status.HasField("timestamp")
        assert set(peer.notes.anomalies) == {"json.state_alias", "json.timestamp", "json.null_list"}


@pytest.mark.parametrize(
    "said,which,anomaly",
    [
        ({"task": T("WORKING")}, "task", None),
        (T("WORKING"), "task", "json.no_frame"),
        (FLAT_TASK, "task", "json.kind_frame"),
        (M("hello"), "message", "json.no_frame"),
        ({"message": M("hello")}, "message", None),
        ({"statusUpdate": S("WORKING")}, "task", None),
    ],
)
async def test_what_a_send_is_answered_with(
    binding: Binding, said: Any, which: str, anomaly: str | None
) -> None:
    """K2: SendMessage wants `{"task": …}` or `{"message": …}`; a bare one is put into it."""
    async with RawAgent(binding) as agent, wired(agent, streaming=False) as peer:
        agent.on("SendMessage", saying(said))
        with call("SendMessage") as notes:
            (heard,) = [one async for one in peer.client.send_message(send_request("go"))]
        assert heard.WhichOneof("payload") == which
        assert (anomaly is None) or anomaly in notes.anomalies


async def test_a_stream_for_a_plain_send(binding: Binding) -> None:
    """K2: of a stream the first event is the answer, and the rest is not waited for."""
    async with RawAgent(binding) as agent, wired(agent, streaming=False) as peer:
        agent.on("SendMessage", [COMMENT(), EV(T("WORKING").wrapped()), HOLD])
        with call("SendMessage") as notes:
            (heard,) = [one async for one in peer.client.send_message(send_request("go"))]
        assert heard.task.id == "t1"
        assert "http.stream_for_call" in notes.anomalies
        await agent.all_closed()


async def test_a_stream_for_get_task(binding: Binding) -> None:
    """K2: GetTask answered by events, an error among them too."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on(
            "GetTask", [EV(T("COMPLETED").wrapped()), EOF], [EV(ERR(-32001), name="error"), HOLD]
        )
        assert (await peer.get()).id == "t1"
        with pytest.raises(RemoteCallError) as raised:
            await peer.get()
        assert raised.value.code == "remote.not_found"


async def test_lists_of_tasks(binding: Binding) -> None:
    """K2: a page with odd tasks, a bare list, and nothing at all."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        page = {"tasks": [FLAT_TASK, None, T("WORKING")], "pageSize": "many", "nextPageToken": "n"}
        agent.on("ListTasks", saying(page), saying([FLAT_TASK]), saying({"tasks": None}))
        heard = []
        for _ in range(3):
            with call("ListTasks"):
                heard.append(await peer.client.list_tasks(ListTasksRequest()))
        assert [len(one.tasks) for one in heard] == [2, 1, 0]
        assert heard[0].next_page_token == "n"


@pytest.mark.parametrize(
    "answer", [(204, {}, ""), (200, {}, ""), (200, {}, "{}"), (200, {}, '{"jsonrpc":"2.0","id":1}')]
)
async def test_a_config_deleted_with_no_words(binding: Binding, answer: Any) -> None:
    """K2: 204, an empty body or no result is a success for the deletion of a push config."""
    request = DeleteTaskPushNotificationConfigRequest(task_id="t1", id="p1")
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("DeleteTaskPushNotificationConfig", [answer])
        with call("DeleteTaskPushNotificationConfig", task_id="t1", config_id="p1") as notes:
            await peer.client.delete_task_push_notification_config(request)
        lawful = binding == "HTTP+JSON" and answer[2] == "{}"
        assert lawful or notes.anomalies


async def test_a_config_that_cannot_be_deleted(binding: Binding) -> None:
    """K4: an error stays one, whatever else may be left out."""
    request = DeleteTaskPushNotificationConfigRequest(task_id="t1", id="p1")
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("DeleteTaskPushNotificationConfig", [ERR(-32001, "no such config")])
        deleting = call("DeleteTaskPushNotificationConfig", task_id="t1", config_id="p1")
        with pytest.raises(RemoteCallError, match="no such config"), deleting:
            await peer.client.delete_task_push_notification_config(request)


async def test_push_configs_of_0_3(binding: Binding) -> None:
    """K2: configs inside of another object, in a bare list, or acknowledged with nothing."""
    inner = {
        "id": "p1",
        "url": "https://x/y",
        "token": "t",
        "authentication": {"schemes": ["Bearer"]},
    }
    old = {"taskId": "t1", "pushNotificationConfig": inner}
    config = TaskPushNotificationConfig(task_id="t1", id="p1", url="https://x/y", token="secret")
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("CreateTaskPushNotificationConfig", saying(old), saying(None), [(204, {}, "")])
        for _ in range(3):
            with call("CreateTaskPushNotificationConfig", task_id="t1") as notes:
                made = await peer.client.create_task_push_notification_config(config)
            assert (made.id, made.task_id, made.url) == ("p1", "t1", "https://x/y")
            assert notes.anomalies
        agent.on(
            "ListTaskPushNotificationConfigs",
            saying([old]),
            saying({"configs": [old]}),
            saying(None),
        )
        counts = []
        for _ in range(3):
            with call("ListTaskPushNotificationConfigs", task_id="t1"):
                listed = await peer.client.list_task_push_notification_configs(
                    ListTaskPushNotificationConfigsRequest(task_id="t1")
                )
            counts.append([one.id for one in listed.configs])
        assert counts == [["p1"], ["p1"], []]


async def test_an_artifact_only_answer_tells_of_its_task(binding: Binding) -> None:
    """K2: an artifact update where a task belongs is a task with that artifact."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", saying(A("a1", "text")))
        task = await peer.get()
        assert (task.id, task.artifacts[0].parts[0].text) == ("t1", "text")
