"""Access tokens over real sockets: fetched, kept, renewed once, and endpoints that fail."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from locum.adapters.a2a.credentials.tokens import TokenClient, TokenSource
from locum.adapters.secret import Secret
from locum.core.errors import RemoteCallError
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .credentialed import JSON, SECRET, bearers, failed, http_for, oauth2, oidc, token


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent that says 200 to `/x`."""
    async with RawAgent() as raw:
        raw.on("/x", (200, JSON, "{}"))
        yield raw


@pytest.fixture
async def issuer() -> AsyncIterator[RawAgent]:
    """A server to be a token endpoint and an issuer."""
    async with RawAgent() as raw:
        raw.on("/token", token("one"), token("two"), token("three"))
        yield raw


async def test_a_token_is_fetched_by_client_credentials(agent: RawAgent, issuer: RawAgent) -> None:
    """A6, G8: the client's credentials go to the token endpoint, the token to the agent."""
    auth = oauth2(issuer, scopes=["read", "write"], audience="inventory")
    async with http_for(agent.url, auth=auth) as http:
        assert (await http.get(f"{agent.url}/x")).status_code == 200
    assert bearers(agent) == ["Bearer one"]
    (asked,) = issuer.calls("/token")
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
        "audience": ["inventory"],
    }
    scheme, pair = asked.headers["authorization"].split(" ")
    # RFC 6749 section 2.3.1: form-urlencoded before they are put together.
    assert (scheme, base64.b64decode(pair)) == ("Basic", b"locum+id:s3cr3t%2B%2F%3D")


async def test_many_calls_fetch_one_token(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: calls at once cause one request for a token, and later ones none."""
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        await asyncio.gather(*(http.get(f"{agent.url}/x") for _ in range(20)))
        await http.get(f"{agent.url}/x")
    assert bearers(agent) == ["Bearer one"] * 21
    assert len(issuer.calls("/token")) == 1


async def test_a_caller_that_gives_up_does_not_take_the_others_with_it(
    agent: RawAgent, issuer: RawAgent
) -> None:
    """A6: when the call that fetches the token is cancelled, the next one fetches it."""
    go_on = asyncio.Event()
    issuer.on("/token", [go_on, token("late")], token("mine"))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        first = asyncio.create_task(http.get(f"{agent.url}/x"))
        await issuer.seen("/token")
        second = asyncio.create_task(http.get(f"{agent.url}/x"))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).status_code == 200
        await asyncio.gather(first, return_exceptions=True)
    assert bearers(agent) == ["Bearer mine"]


async def test_a_token_endpoint_that_is_down_is_waited_for_once(issuer: RawAgent) -> None:
    """A6, J4: whoever waits for a fetch that fails gets its failure, and does not fetch in turn."""
    go_on = asyncio.Event()
    issuer.on("/token", [go_on, failed(503)], [go_on, token("one", expires_in=0)], token("two"))
    source = TokenSource(
        TokenClient(),
        token_url=f"{issuer.url}/token",
        client_id="c",
        client_secret=Secret(SECRET),
    )
    callers = [asyncio.create_task(source.token()) for _ in range(20)]
    await issuer.seen("/token")
    go_on.set()
    errors = await asyncio.gather(*callers, return_exceptions=True)
    assert len(issuer.calls("/token")) == 1
    assert len({id(error) for error in errors}) == len(errors)
    for error in errors:
        assert isinstance(error, RemoteCallError)
        assert (error.code, error.kind, error.status) == (
            "remote.token_unavailable",
            "transient",
            503,
        )
    # Who comes after that asks again, and a token that lasts no time still serves all who waited.
    found = await asyncio.gather(*(source.token() for _ in range(20)))
    assert {one.reveal() for one in found} == {"one"}
    assert len(issuer.calls("/token")) == 2
    assert (await source.token()).reveal() == "two"


def refuses(*tokens: str) -> Callable[[Seen, Reply], Any]:
    """An agent's handler that answers 401 to these tokens."""

    async def answer(seen: Seen, reply: Reply) -> None:
        word = seen.headers.get("authorization", "").removeprefix("Bearer ")
        await reply.respond(401 if word in tokens else 200, JSON, "{}")

    return answer


async def test_a_refused_token_is_renewed_once(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: after a 401 the token is renewed and the request goes out once more."""
    agent.on("/x", refuses("one"))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        assert (await http.post(f"{agent.url}/x", json={"a": 1})).status_code == 200
        assert (await http.get(f"{agent.url}/x")).status_code == 200
    assert bearers(agent) == ["Bearer one", "Bearer two", "Bearer two"]
    assert [seen.body for seen in agent.calls("/x")][:2] == [b'{"a":1}'] * 2


async def test_a_token_that_stays_refused_is_no_loop(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: a 401 for the renewed token, too, is the answer; nothing is tried a third time."""
    agent.on("/x", refuses("one", "two", "three"))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        assert (await http.get(f"{agent.url}/x")).status_code == 401
    assert bearers(agent) == ["Bearer one", "Bearer two"]


async def test_many_refused_calls_renew_the_token_once(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: calls that were refused with the same token at once cause one renewal."""
    agent.on("/x", refuses("one"))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        answers = await asyncio.gather(*(http.get(f"{agent.url}/x") for _ in range(10)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(issuer.calls("/token")) == 2


async def test_a_token_is_renewed_before_it_runs_out(issuer: RawAgent) -> None:
    """A6: a token is kept until shortly before it expires, by the clock that is handed in."""
    now = 1000.0
    source = TokenSource(
        TokenClient(),
        token_url=f"{issuer.url}/token",
        client_id="c",
        client_secret=Secret(SECRET),
        clock=lambda: now,
    )
    issuer.on("/token", token("one", expires_in="300"), token("two", expires_in=None))
    assert (await source.token()).reveal() == "one"
    now += 269.0
    assert (await source.token()).reveal() == "one"
    now += 2.0
    assert (await source.token()).reveal() == "two"
    now += 1e9
    assert (await source.token()).reveal() == "two"


async def test_a_life_that_is_no_float(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: an `expires_in` too large for a float is a token without an end, and no failure."""
    issuer.on("/token", token("one", expires_in=10**400))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        await http.get(f"{agent.url}/x")
        await http.get(f"{agent.url}/x")
    assert bearers(agent) == ["Bearer one"] * 2
    assert len(issuer.calls("/token")) == 1


async def test_an_endpoint_that_takes_the_secret_in_the_form(
    agent: RawAgent, issuer: RawAgent
) -> None:
    """A6: where Basic is refused the secret goes into the form, and does so from then on."""

    async def answer(seen: Seen, reply: Reply) -> None:
        form = parse_qs(seen.body.decode())
        if "authorization" in seen.headers or form.get("client_secret") != [SECRET]:
            await reply.play([failed(401, error="invalid_client")])
        else:
            await reply.play([token(f"t{len(issuer.calls('/token'))}")])

    issuer.on("/token", answer)
    agent.on("/x", refuses("t2"))
    async with http_for(agent.url, auth=oauth2(issuer)) as http:
        assert (await http.get(f"{agent.url}/x")).status_code == 200
    assert bearers(agent) == ["Bearer t2", "Bearer t3"]


@pytest.mark.parametrize(
    "answer, code, said",
    [
        (failed(400, error="invalid_scope"), "remote.token_refused", "HTTP 400 invalid_scope"),
        (failed(401, error=SECRET), "remote.token_refused", "HTTP 401."),
        (
            failed(400, error="invalid_grant", error_description=f"no {SECRET}"),
            "remote.token_refused",
            "invalid_grant",
        ),
        ((500, {}, f"<html>{SECRET}</html>"), "remote.token_unavailable", "HTTP 500"),
        ((429, {}, ""), "remote.token_unavailable", "HTTP 429"),
        ((200, {}, SECRET), "remote.token_refused", "no JSON object"),
        ((200, {}, f'["{SECRET}"]'), "remote.token_refused", "no JSON object"),
        ((200, JSON, "{}"), "remote.token_refused", "access_token"),
        ((200, JSON, '{"access_token": "a b\\n"}'), "remote.token_refused", "access_token"),
        (token("x", token_type="mac"), "remote.token_refused", "no Bearer token"),
        ((200, JSON, " " * 70_000), "remote.token_refused", "more than 65536 bytes"),
        (
            (307, {"location": "https://evil.example/token?x=1"}, ""),
            "remote.token_refused",
            "redirects to https://evil.example, which is not followed",
        ),
        ((302, {"location": "/else"}, ""), "remote.token_refused", "redirects"),
        ((200, JSON | {"content-encoding": "gzip"}, "x"), "remote.token_refused", "compressed"),
    ],
)
async def test_a_token_endpoint_that_fails(
    answer: tuple[int, dict[str, str], str],
    code: str,
    said: str,
    agent: RawAgent,
    issuer: RawAgent,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A6, G8, J3: each failure is one typed error that never holds the secret; nothing is sent."""
    issuer.on("/token", answer)
    with caplog.at_level(logging.DEBUG):
        async with http_for(agent.url, auth=oauth2(issuer)) as http:
            with pytest.raises(RemoteCallError) as caught:
                await http.get(f"{agent.url}/x")
    error = caught.value
    assert (error.code, error.kind) == (
        code,
        "transient" if code == "remote.token_unavailable" else "refused",
    )
    assert said in error.message
    for text in (str(error), repr(error), str(error.detail), caplog.text):
        assert SECRET not in text
        assert "s3cr3t" not in text
    assert agent.requests == []


async def test_a_token_endpoint_that_says_nothing(agent: RawAgent, issuer: RawAgent) -> None:
    """J3: a token endpoint has a time in which it must have answered, to its last byte."""

    async def drip(seen: Seen, reply: Reply) -> None:
        await reply.drip(b" " * 10_000, pause=0.05)

    issuer.on("/token", drip)
    async with http_for(agent.url, auth=oauth2(issuer), timeout=0.3) as http:
        with pytest.raises(RemoteCallError, match=r"did not answer within 0\.3 s") as caught:
            await http.get(f"{agent.url}/x")
    assert caught.value.kind == "transient"


async def test_a_token_endpoint_that_is_not_there(agent: RawAgent) -> None:
    """A6: nobody listening is transient: nothing reached the agent."""
    auth = oauth2(agent) | {"token_url": "http://127.0.0.1:1/token"}
    async with http_for(agent.url, auth=auth) as http:
        with pytest.raises(RemoteCallError, match="cannot be reached") as caught:
            await http.get(f"{agent.url}/x")
    assert caught.value.kind == "transient"


async def test_a_token_endpoint_in_plain_http(agent: RawAgent) -> None:
    """A4, A6: the client's secret does not go over plain HTTP off loopback."""
    auth = oauth2(agent) | {"token_url": "http://id.example/token"}
    async with http_for(agent.url, auth=auth) as http:
        with pytest.raises(RemoteCallError, match="plain HTTP off loopback") as caught:
            await http.get(f"{agent.url}/x")
    assert caught.value.kind == "refused"


# OpenID Connect


def discovery(issuer: RawAgent, /, **more: Any) -> tuple[int, dict[str, str], str]:
    """The discovery document of `issuer`."""
    body = {"issuer": issuer.url, "token_endpoint": f"{issuer.url}/token"} | more
    return 200, JSON, json.dumps(body)


WELL_KNOWN = "/.well-known/openid-configuration"


async def test_a_token_endpoint_found_at_the_issuer(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: with oidc the token endpoint is the one that the issuer names."""
    issuer.on(WELL_KNOWN, discovery(issuer))
    async with http_for(agent.url, auth=oidc(issuer, scopes=["openid"])) as http:
        assert (await http.get(f"{agent.url}/x")).status_code == 200
    assert bearers(agent) == ["Bearer one"]
    assert "authorization" not in issuer.calls(WELL_KNOWN)[0].headers


@pytest.mark.parametrize(
    "document, said",
    [
        ({"issuer": "https://evil.example"}, "another issuer"),
        ({"token_endpoint": None}, "no token_endpoint"),
        ({"token_endpoint": "/token"}, "unusable token_endpoint"),
        ({"token_endpoint": "https://evil.example/token"}, "allowed_hosts"),
    ],
)
async def test_an_issuer_that_is_not_believed(
    document: dict[str, Any], said: str, agent: RawAgent, issuer: RawAgent
) -> None:
    """A6: the issuer is checked, and its secret goes to no origin that was not configured."""
    issuer.on(WELL_KNOWN, discovery(issuer, **document))
    async with http_for(agent.url, auth=oidc(issuer)) as http:
        with pytest.raises(RemoteCallError, match=said) as caught:
            await http.get(f"{agent.url}/x")
    assert caught.value.code == "remote.token_refused"
    assert issuer.calls("/token") == []


async def test_an_allowed_token_endpoint_elsewhere(agent: RawAgent, issuer: RawAgent) -> None:
    """A6: a token endpoint on another origin may be allowed by the auth's own list."""
    async with RawAgent() as elsewhere:
        elsewhere.on("/token", token("far"))
        issuer.on(WELL_KNOWN, discovery(issuer, token_endpoint=f"{elsewhere.url}/token"))
        auth = oidc(issuer, allowed_hosts=[elsewhere.url])
        async with http_for(agent.url, auth=auth) as http:
            await http.get(f"{agent.url}/x")
    assert bearers(agent) == ["Bearer far"]
