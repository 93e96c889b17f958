"""The head of a token endpoint's answer: whatever is in it, it is neither logged nor tripped over."""

import base64
import json
import logging
from urllib.parse import quote_plus

import pytest

from locum.adapters.a2a.wire.notes import CALL, CallNotes
from locum.core.errors import RemoteCallError
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .credentialed import JSON, SECRET, bearers, http_for, oauth2, token
from .registries import NOBODY

GOOD = json.dumps({"access_token": "t0k3n-one", "token_type": "Bearer"})
SPELLED = quote_plus(SECRET)
BASIC = base64.b64encode(f"locum+id:{SPELLED}".encode()).decode()


@pytest.mark.parametrize("status", ["200", "400", "307"])
async def test_what_an_endpoint_quotes_is_not_logged(
    status: str, caplog: pytest.LogCaptureFixture
) -> None:
    """G8: a secret in the reason phrase, in Location or in any header stands in no log line."""
    said = f"{SECRET} {SPELLED} {BASIC} t0k3n-one"

    async def answer(seen: Seen, reply: Reply) -> None:
        head = f"HTTP/1.1 {status} no {said}\r\nLocation: https://e.example/?{SPELLED}\r\n"
        rest = f"X-You-Sent: {said}\r\nContent-Length: {len(GOOD)}\r\nConnection: close\r\n\r\n"
        await reply.raw((head + rest + GOOD).encode())

    async with RawAgent() as agent:
        agent.on("/token", answer)
        agent.on("/x", (200, JSON, "{}"))
        with caplog.at_level(logging.DEBUG):
            async with http_for(agent.url, auth=oauth2(agent)) as http:
                if status == "200":
                    await http.get(f"{agent.url}/x")
                    assert bearers(agent) == ["Bearer t0k3n-one"]
                else:
                    with pytest.raises(RemoteCallError, match=f"HTTP {status}|redirects"):
                        await http.get(f"{agent.url}/x")
    assert "/token" in caplog.text
    for secret in (SECRET, SPELLED, BASIC, "t0k3n-one"):
        assert secret not in caplog.text


@pytest.mark.parametrize("value", ["Büro", "Büro".encode().decode("latin-1"), "a\x01b"])
async def test_headers_of_any_bytes(value: str) -> None:
    """A6: a header that is no ASCII keeps nobody from the token."""
    async with RawAgent() as agent:
        status, headers, body = token("one")
        agent.on("/token", (status, headers | {"x-team": value}, body))
        agent.on("/x", (200, JSON, "{}"))
        async with http_for(agent.url, auth=oauth2(agent)) as http:
            await http.get(f"{agent.url}/x")
        assert bearers(agent) == ["Bearer one"]


async def test_a_head_without_end() -> None:
    """J3: a token endpoint's head has a limit, too, and what is over it is one typed error."""
    async with RawAgent() as agent:
        agent.on("/token", (200, JSON | {"x-long": "x" * 100_000}, GOOD))
        async with http_for(agent.url, auth=oauth2(agent)) as http:
            with pytest.raises(RemoteCallError, match="too large a head") as caught:
                await http.get(f"{agent.url}/x")
    assert (caught.value.code, caught.value.kind) == ("remote.token_refused", "refused")


async def test_a_token_that_was_fetched_is_nothing_that_was_sent() -> None:
    """C7: the notes of a call are about the agent: a token for it leaves them as they are."""
    left: list[str] = []
    notes = CallNotes("SendMessage", on_sent=lambda: left.append("left"))
    async with RawAgent() as issuer:
        issuer.on("/token", token("one"))
        auth = oauth2(issuer)
        async with http_for(NOBODY, auth=auth) as http:
            held = CALL.set(notes)
            try:
                with pytest.raises(Exception, match="refused"):
                    await http.post(f"{NOBODY}/rpc", json={"jsonrpc": "2.0", "id": 1})
            finally:
                CALL.reset(held)
        assert len(issuer.calls("/token")) == 1
    assert (notes.sent, left) == (False, [])
