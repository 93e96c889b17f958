"""AgentClient's push configs: registered, listed, deleted, and the token in no error and no log."""

import hashlib
import logging
from typing import Any

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient, PushConfig
from locum.core.errors import RemoteCallError
from tests.agents.frames import ERR
from tests.agents.raw import RawAgent

from .calling import PUSH, TOKEN


async def test_a_push_config_comes_and_goes(agent: RawAgent, client: AgentClient) -> None:
    """D2, F1: registered under our id with the token in both places, listed, deleted."""
    assert await client.create_push("t1", **PUSH) == PushConfig("cfg-1", PUSH["url"])
    (config,) = agent.push_configs
    assert (config["token"], config["url"], config["taskId"]) == (TOKEN, PUSH["url"], "t1")
    assert config["authentication"] == {"scheme": "Bearer", "credentials": TOKEN}
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    assert await client.list_push("t1") == (PushConfig("cfg-1", PUSH["url"], digest),)
    await client.delete_push("t1", "cfg-1")
    assert agent.push_configs == []


@pytest.mark.parametrize("answer", [(204, {}, ""), (200, {}, ""), (200, {}, "{}")])
async def test_a_delete_may_be_answered_with_nothing(
    agent: RawAgent, client: AgentClient, answer: Any
) -> None:
    """K2: 204, an empty body and an empty answer are all success."""
    agent.on("DeleteTaskPushNotificationConfig", answer)
    await client.delete_push("t1", "cfg-1")


async def test_a_push_config_that_is_gone(agent: RawAgent, client: AgentClient) -> None:
    """F1: that there is no such config can be told from a failure."""
    agent.on("DeleteTaskPushNotificationConfig", ERR(-32001, "No such config"), ERR(-32603, "Oh"))
    with pytest.raises(RemoteCallError) as caught:
        await client.delete_push("t1", "cfg-1")
    assert caught.value.code == "remote.not_found"
    with pytest.raises(RemoteCallError) as caught:
        await client.delete_push("t1", "cfg-1")
    assert caught.value.code != "remote.not_found"


async def test_an_agent_may_name_a_config_itself(agent: RawAgent, client: AgentClient) -> None:
    """D2: the id that the agent keeps the config under is the one that counts."""
    agent.on(
        "CreateTaskPushNotificationConfig", {"id": "theirs", "taskId": "t1", "url": "http://u"}
    )
    assert (await client.create_push("t1", **PUSH)).id == "theirs"
    agent.on(
        "CreateTaskPushNotificationConfig", {"id": "theirs", "taskId": "t2", "url": "http://u"}
    )
    with pytest.raises(RemoteCallError) as caught:
        await client.create_push("t1", **PUSH)
    assert caught.value.code == "remote.wrong_task"


async def test_an_agent_without_push(agent: RawAgent, client: AgentClient) -> None:
    """D2, case P9: the refusal of a registration is typed."""
    agent.on("CreateTaskPushNotificationConfig", ERR(-32003))
    with pytest.raises(RemoteCallError) as caught:
        await client.create_push("t1", **PUSH)
    assert (caught.value.code, caught.value.kind) == ("remote.push_unsupported", "refused")


async def test_configs_are_listed_page_by_page(agent: RawAgent, client: AgentClient) -> None:
    """I1, case P4: all pages are read, other tasks' configs passed over, and a page that repeats
    ends it.
    """
    one = {"id": "a", "taskId": "t1", "url": "http://u"}
    agent.on(
        "ListTaskPushNotificationConfigs",
        {"configs": [one, {**one, "taskId": "t2"}], "nextPageToken": "p2"},
        {"configs": [{**one, "id": "b", "taskId": ""}], "nextPageToken": "p2"},
    )
    assert [config.id for config in await client.list_push("t1")] == ["a", "b"]
    assert [seen.params.get("pageToken", "") for seen in agent.calls()] == ["", "p2"]


async def test_the_push_token_is_in_no_error_and_no_log(
    agent: RawAgent, client: AgentClient, caplog: pytest.LogCaptureFixture
) -> None:
    """D2, G8, case P10: an agent that quotes the token puts it into no error, cause or log line."""
    caplog.set_level(logging.DEBUG)
    quote = f"I will not take {TOKEN}"
    data = [{"@type": "x", "field": TOKEN, "more": {TOKEN: [TOKEN]}}]
    agent.on(
        "CreateTaskPushNotificationConfig",
        ERR(-32602, quote, data=data),
        ERR(-32602, quote, data=data, status=400),
        (500, {"content-type": "text/plain"}, quote),
        (200, {"content-type": "application/json"}, f'{{"oops {TOKEN}'),
    )
    for _ in range(4):
        with pytest.raises(RemoteCallError) as caught:
            await client.create_push("t1", **PUSH)
        error = caught.value
        assert TOKEN not in f"{error!r} {error} {error.detail}"
        assert error.__cause__ is None
        assert error.__suppress_context__
    assert TOKEN not in caplog.text
