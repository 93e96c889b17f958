"""Errors, redirects, URLs, cards and secrets of calls over real sockets."""

import json
from typing import Any

import httpx
import pytest
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    SubscribeToTaskRequest,
)

from locum.adapters.a2a.wire.notes import CALL
from locum.adapters.a2a.wire.transport import CallNotes
from locum.core.errors import RemoteCallError

from ..agents.frames import ERR, Binding, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .saying import FLAT_TASK, saying
from .wired import call, http_over_wire, wired

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_errors_under_any_status(binding: Binding, status: int) -> None:
    """K4: the agent's own error is kept under any HTTP status."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [ERR(-32001, "never heard of it", status=status)])
        with pytest.raises(RemoteCallError, match="never heard of it") as raised:
            await peer.get()
        error = raised.value
        assert (error.code, error.kind, error.status) == ("remote.not_found", "refused", status)
        assert error.agent_code == (-32001 if binding == "JSONRPC" else "TASK_NOT_FOUND")


@pytest.mark.parametrize(
    "status,body,code",
    [
        (200, "<html><b>Welcome</b></html>", "remote.malformed"),
        (200, "", "remote.malformed"),
        (200, "null", "remote.malformed"),
        (200, '"Welcome"', "remote.malformed"),
        (200, '{"jsonrpc":"2.0","id":1}', "remote.malformed"),
        (404, "Welcome", "remote.refused"),
        (404, "", "remote.refused"),
    ],
)
async def test_what_answers_nothing(binding: Binding, status: int, body: str, code: str) -> None:
    """K4, D10: no A2A is an error with its words kept, and a bare 404 is no lost task."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [(status, {}, body)])
        with pytest.raises(RemoteCallError) as raised:
            await peer.get()
        assert (raised.value.code, raised.value.status) == (code, status)
        assert "Welcome" not in body or "Welcome" in str(raised.value)


async def test_envelopes_of_the_other_binding(binding: Binding) -> None:
    """K2: a JSON-RPC envelope over HTTP+JSON is taken off; a missing one over JSON-RPC is made up."""
    bare = json.dumps(T("WORKING").stamped())
    envelope = '{"jsonrpc":"2.0","id":1,"result":' + bare + "}"
    other = bare if binding == "JSONRPC" else envelope
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [(200, {}, other)], [(200, {}, f"[{other}]")])
        for _ in range(2):
            assert (await peer.get()).id == "t1"
        assert peer.notes.anomalies


async def test_retry_after_is_kept_whatever_the_status(binding: Binding) -> None:
    """K4: an error under HTTP 200 may come with a `Retry-After` too."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [ERR(-32000, "busy", status=200, headers=(("retry-after", "7"),))])
        with pytest.raises(RemoteCallError, match="busy") as raised:
            await peer.get()
        assert raised.value.retry_after == 7.0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_refused(binding: Binding, status: int) -> None:
    """A6: a redirect is never followed; the refusal names the target, but no secret in it."""
    async with RawAgent(binding) as agent, RawAgent(binding) as other, wired(agent) as peer:
        location = {"location": f"{other.url}/elsewhere?token=s3cret"}
        agent.on("GetTask", [(status, location, "moved")])
        agent.on("SubscribeToTask", [(status, location, "moved")])
        for asking in (peer.get, peer.subscribe):
            with pytest.raises(RemoteCallError, match=f"{other.url}/elsewhere") as raised:
                await asking()
            assert (raised.value.code, raised.value.kind) == ("remote.redirected", "refused")
            assert "s3cret" not in str(raised.value)
        assert not other.requests


async def test_nothing_is_kept_for_the_next_request(binding: Binding) -> None:
    """G8: cookies that an agent sets are not sent back to it."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        body = json.dumps(T("WORKING").stamped())
        agent.on("GetTask", [(200, {"set-cookie": "sid=1; path=/"}, body)])
        await peer.get()
        await peer.get()
        assert "cookie" not in agent.calls()[1].headers


# URLs (K3)

ODD_IDS = [
    "a/b",
    "a b",
    "ä",
    "..",
    ".",
    "a?b=c",
    "a#b",
    "%2F",
    "a%20b",
    "../../x",
    "x:cancel",
    "a;b,c&d+e",
]


@pytest.mark.parametrize("task_id", ODD_IDS)
async def test_task_ids_are_percent_encoded(binding: Binding, task_id: str) -> None:
    """K3: whatever is in an id, the agent is asked for just that task."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            agent.on(method, saying(T("CANCELED", id=task_id)))
        assert (await peer.get(task_id)).id == task_id
        with call("CancelTask", task_id=task_id):
            await peer.client.cancel_task(CancelTaskRequest(id=task_id))
        await peer.stream(SubscribeToTaskRequest(id=task_id))
        request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=task_id)
        agent.on("DeleteTaskPushNotificationConfig", saying({}))
        with call("DeleteTaskPushNotificationConfig", task_id=task_id, config_id=task_id):
            await peer.client.delete_task_push_notification_config(request)
        methods = [seen.method for seen in agent.calls()]
        assert methods == [
            "GetTask",
            "CancelTask",
            "SubscribeToTask",
            "DeleteTaskPushNotificationConfig",
        ]
        assert [seen.task_id for seen in agent.calls()] == [task_id] * 4


async def test_a_query_stays_beside_an_odd_id() -> None:
    """K3: the call's own parameters are not lost to a `?` in the id."""
    async with RawAgent("HTTP+JSON") as agent, wired(agent) as peer:
        agent.on("DeleteTaskPushNotificationConfig", saying({}))
        request = DeleteTaskPushNotificationConfigRequest(task_id="a?b", id="p", tenant="acme")
        with call("DeleteTaskPushNotificationConfig", task_id="a?b", config_id="p"):
            await peer.client.delete_task_push_notification_config(request)
        assert agent.requests[0].path.endswith("/acme/tasks/a%3Fb/pushNotificationConfigs/p")


# What is no call of A2A's


async def test_cards_without_their_nulls() -> None:
    """K2, case C5: nulls in a card are as good as absent, also where the SDK would stumble over
    them.
    """
    async with RawAgent() as agent, http_over_wire() as http:
        agent.card |= {"skills": None, "iconUrl": None, "extra": {"params": {"kept": None}}}
        with call("AgentCard") as notes:
            card = (await http.get(f"{agent.url}/.well-known/agent-card.json")).json()
        assert "skills" not in card
        assert "iconUrl" not in card
        assert card["extra"] == {"params": {"kept": None}}
        assert notes.anomalies == ["json.null_list"]


async def test_cards_are_handed_on_as_they_are() -> None:
    """A4, A11: what is wrong with a card is said elsewhere; its caching headers come through."""
    async with RawAgent() as agent, http_over_wire() as http:
        agent.on("AgentCard", [(200, {"etag": '"1"', "cache-control": "max-age=5"}, "not JSON")])
        with call("AgentCard"):
            response = await http.get(f"{agent.url}/.well-known/agent-card.json")
        assert response.text == "not JSON"
        assert (response.headers["etag"], response.headers["cache-control"]) == ('"1"', "max-age=5")
        agent.on("AgentCard", [(304, {"etag": '"1"'}, "")])
        with call("AgentCard"):
            response = await http.get(f"{agent.url}/.well-known/agent-card.json")
        assert response.status_code == 304


async def test_requests_on_behalf_of_a_call_leave_its_notes_alone() -> None:
    """G8, K4: a token is fetched in the middle of a call, over the same connections."""

    class Renewing(httpx.Auth):
        requires_response_body = True

        def __init__(self, token_url: str) -> None:
            self._token_url = token_url

        def auth_flow(self, request: httpx.Request) -> Any:
            response = yield request
            assert response.status_code == 401
            token = yield httpx.Request("POST", self._token_url, data={"grant_type": "x"})
            request.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
            yield request

    async with RawAgent() as agent, wired(agent) as peer:
        agent.on(
            "/token", [(200, {"content-type": "application/json"}, '{"access_token":"tok-1"}')]
        )
        agent.on("GetTask", [(401, {"www-authenticate": "Bearer"}, "who?")], T("WORKING"))
        peer.http.auth = Renewing(f"{agent.url}/token")
        assert (await peer.get()).id == "t1"
        assert (peer.notes.status, peer.notes.error, peer.notes.challenge) == (200, None, "")
        assert not peer.notes.anomalies
        assert agent.calls("GetTask")[1].headers["authorization"] == "Bearer tok-1"


async def test_what_an_agent_quotes_is_masked(binding: Binding) -> None:
    """G8: a credential that an agent repeats in its error is not in ours, nor in the SDK's."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.error(-32600, f"bad header: {seen.headers['authorization']}")

    async with RawAgent(binding) as agent, wired(agent) as peer:
        peer.http.headers["Authorization"] = "Bearer s3cret-token"
        agent.on("GetTask", answer)
        with pytest.raises(RemoteCallError, match="bad header") as raised:
            await peer.get()
        link: BaseException | None = raised.value
        while link is not None:
            assert "s3cret" not in f"{link!r} {link}"
            link = link.__cause__ or link.__context__


async def test_logs_name_what_was_mended_and_nothing_else(
    binding: Binding, caplog: pytest.LogCaptureFixture
) -> None:
    """K2, G8: each repair is a DEBUG record of `locum.wire`, without a header or a body."""
    caplog.set_level("DEBUG")
    async with RawAgent(binding) as agent, wired(agent) as peer:
        peer.http.headers["Authorization"] = "Bearer s3cret-token"
        agent.on("GetTask", saying({**FLAT_TASK, "status": {"state": "completed"}}))
        await peer.get()
    records = [record.getMessage() for record in caplog.records if record.name == "locum.wire"]
    assert records == [
        "agent peer, GetTask: mended json.null_list",
        "agent peer, GetTask: mended json.state_alias",
    ] or set(records) == {
        "agent peer, GetTask: mended json.state_alias",
        "agent peer, GetTask: mended json.null_list",
    }
    assert "s3cret" not in caplog.text


async def test_without_notes_the_limits_hold_all_the_same() -> None:
    """J3: a request that is nobody's call is answered as it is."""
    async with RawAgent() as agent, http_over_wire() as http:
        agent.on("/x", [(200, {"content-type": "text/plain"}, "hello")])
        response = await http.get(f"{agent.url}/x")
        assert (response.text, response.headers["content-type"]) == ("hello", "text/plain")
        assert CALL.get() is None
        token = CALL.set(CallNotes("GetTask"))
        try:
            assert (await http.get(f"{agent.url}/x")).text == "hello"
        finally:
            CALL.reset(token)
