"""What `self` keeps to itself, and how it refuses what A2A does not have (J2)."""

import logging
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.utils.errors import UnsupportedOperationError

from .foreman import CARD, Foreman
from .front import front

VERSION = {"A2A-Version": "1.0"}


class Failing(Foreman):
    """Fails when it is told to, before its first event or after it."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        said = context.get_user_input()
        if said == "refuse":
            raise UnsupportedOperationError(message="not on Sundays")
        if said == "late":
            await super().execute(context, event_queue)
        raise RuntimeError("secret-stack-text")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise RuntimeError("secret-stack-text")


def _send(text: str, *, streaming: bool = False) -> dict[str, Any]:
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}
    method = "SendStreamingMessage" if streaming else "SendMessage"
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("text", ["early", "late"])
async def test_why_an_executor_failed_is_logged_and_not_told(
    text: str, streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """J2: callers get one fixed sentence in both bindings; the log has the reason."""
    async with front({"card": CARD}, executor=Failing()) as face:
        body = _send(text, streaming=streaming)
        how = "stream" if streaming else "send"
        for path, sent in (("/a2a", body), (f"/a2a/rest/message:{how}", body["params"])):
            answer = await face.http.post(path, json=sent, headers=VERSION)
            assert "secret" not in answer.text
            assert text == "late" or "Its log has the reason" in answer.text
    records = [record for record in caplog.records if record.name == "locum.self"]
    assert len(records) == 2
    assert all("secret-stack-text" in str(record.exc_info) for record in records)
    assert {record.levelno for record in records} == {logging.ERROR}


async def test_what_an_executor_refuses_is_told() -> None:
    """J2: an error that A2A has a name for is meant for the caller."""
    async with front({"card": CARD}, executor=Failing()) as face:
        answer = await face.http.post("/a2a", json=_send("refuse"), headers=VERSION)
        assert answer.json()["error"]["message"] == "not on Sundays"


@pytest.mark.parametrize("path", ["/a2a/rest/nothing/here/at/all", "/a2a/rest/message:sing"])
async def test_an_unknown_path_of_self(path: str) -> None:
    """J2: what A2A has no path for is a problem document."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await face.http.get(path)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["code"]) == (404, "request.not_found")


async def test_a_method_that_self_does_not_take() -> None:
    """J2: another method is a problem document, too, and names those that are taken."""
    async with front({"card": CARD}, executor=Foreman()) as face:
        answer = await face.http.get("/a2a")
        assert (answer.status_code, answer.json()["code"]) == (405, "request.method_not_allowed")
        assert answer.headers["allow"] == "POST"


async def test_a_web_socket() -> None:
    """J2: an upgrade to a WebSocket is refused with a problem document."""
    async with front() as face:
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
        }
        answer = await face.http.get("/v1/agents", headers=headers)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
        assert "WebSocket" in answer.json()["title"]
