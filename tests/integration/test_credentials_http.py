"""Credentials over real sockets: tokens fetched and renewed, certificates shown, nothing leaked."""

import asyncio
import base64
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from locum.adapters.a2a.budget import Budget
from locum.adapters.a2a.credential_kinds import CustomCredentials
from locum.adapters.a2a.credentials import credentials_for
from locum.adapters.a2a.http import open_http
from locum.adapters.a2a.notes import WireLimits
from locum.adapters.a2a.tls import tls_context_for
from locum.adapters.a2a.tokens import TokenClient, TokenSource
from locum.adapters.secret import Secret
from locum.adapters.settings import Settings
from locum.core.errors import RemoteCallError
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .authority import Authority

SECRET = "s3cr3t+/="
JSON = {"content-type": "application/json"}


def token(word: str, **more: Any) -> tuple[int, dict[str, str], str]:
    """A token endpoint's answer."""
    body = {"access_token": word, "token_type": "Bearer", "expires_in": 3600} | more
    return 200, JSON, json.dumps(body)


def failed(status: int, **body: Any) -> tuple[int, dict[str, str], str]:
    """A token endpoint's refusal."""
    return status, JSON, json.dumps(body)


def bearers(agent: RawAgent, path: str = "/x") -> list[str]:
    """The tokens that the agent saw."""
    return [seen.headers.get("authorization", "none") for seen in agent.calls(path)]


def oauth2(issuer: RawAgent, **more: Any) -> dict[str, Any]:
    """An oauth2 auth at `issuer`."""
    return {
        "type": "oauth2",
        "token_url": f"{issuer.url}/token",
        "client_id": "locum id",
        "client_secret_env": "SECRET",
    } | more


def oidc(issuer: RawAgent, **more: Any) -> dict[str, Any]:
    """An oidc auth at `issuer`."""
    return {
        "type": "oidc",
        "issuer": issuer.url,
        "client_id": "locum",
        "client_secret_env": "SECRET",
    } | more


@asynccontextmanager
async def http_for(
    url: str, *, custom: CustomCredentials | None = None, timeout: float = 5.0, **agent: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP client of an agent at `url`, as the registry opens it."""
    tables = {"agents": [{"id": "a", "url": url} | agent]}
    settings = Settings.from_mapping(tables).agents[0]
    environ = {"SECRET": SECRET, "KEY": "k3y v&lue"}
    credentials = credentials_for(settings, environ, custom=custom, token_timeout=timeout)
    async with open_http(
        credentials=credentials,
        limits=WireLimits(),
        budget=Budget(),
        tls=tls_context_for(settings),
    ) as http:
        yield http


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


# Tokens


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


# Where they go


async def test_a_query_key_arrives_and_is_not_logged(
    agent: RawAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """G8: a key in the query reaches the agent, and no log line at DEBUG has it."""
    auth = {"type": "api_key", "name": "key", "in": "query", "value_env": "KEY"}
    with caplog.at_level(logging.DEBUG):
        async with http_for(agent.url, auth=auth) as http:
            response = await http.get(f"{agent.url}/x?a=1")
            with pytest.raises(httpx.HTTPError) as caught:
                await http.get(f"{agent.url}/gone", timeout=httpx.Timeout(5, read=0.0))
    assert agent.calls("/x")[0].query == {"a": "1", "key": "k3y v&lue"}
    for text in (caplog.text, str(response.url), repr(caught.value), str(caught.value.request.url)):
        assert "k3y" not in text


async def test_no_credential_and_no_request_where_a_redirect_leads(agent: RawAgent) -> None:
    """A6: redirects are never followed; the refusal names the target."""
    async with RawAgent() as elsewhere:
        agent.on("/x", (307, {"location": f"{elsewhere.url}/steal?c=1"}, ""))
        auth = {"type": "api_key", "name": "X-Key", "value_env": "KEY"}
        async with http_for(agent.url, auth=auth) as http:
            with pytest.raises(httpx.HTTPError, match=f"{elsewhere.url}/steal"):
                await http.get(f"{agent.url}/x")
        assert elsewhere.requests == []


async def test_every_request_says_its_version_and_keeps_no_cookie(agent: RawAgent) -> None:
    """A1: every request carries A2A-Version; what an agent sets as a cookie is not sent back."""
    agent.on("/x", (200, {"set-cookie": "a=b; Path=/"}, "{}"))
    async with http_for(agent.url) as http:
        await http.get(f"{agent.url}/x")
        await http.get(f"{agent.url}/x")
    assert [seen.headers.get("a2a-version") for seen in agent.calls("/x")] == ["1.0", "1.0"]
    assert "cookie" not in agent.calls("/x")[1].headers


class Vault:
    """Custom credentials: one value after the other, the last for ever."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    async def resolve(self, audience: str, scopes: Sequence[str]) -> Mapping[str, str]:
        """The next one."""
        return {"X-Vault": self.words.pop(0) if len(self.words) > 1 else self.words[0]}


@pytest.mark.parametrize("words, sent", [(("one", "two"), ["one", "two"]), (("one",), ["one"])])
async def test_custom_credentials_are_renewed_once(
    words: Sequence[str], sent: list[str], agent: RawAgent
) -> None:
    """A6, G8: after a 401 they are asked once more; the same answer is not sent again."""
    agent.on("/x", (401, {}, ""))
    async with http_for(agent.url, custom=Vault(*words)) as http:
        assert (await http.get(f"{agent.url}/x")).status_code == 401
    assert [seen.headers["x-vault"] for seen in agent.calls("/x")] == sent


# Certificates


@asynccontextmanager
async def tls_server(context: ssl.SSLContext) -> AsyncIterator[tuple[str, list[str]]]:
    """A TLS server that says 200 and notes its clients' names; its URL and the names."""
    names: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            shown = writer.get_extra_info("peercert") or {}
            subject = dict(pair for entry in shown.get("subject", ()) for pair in entry)
            names.append(subject.get("commonName", "nobody"))
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
            await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass  # A client that did not get in, or left.
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", names


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    """A3, A6: with mtls the agent sees our certificate and is held against ca_file."""
    authority = Authority(tmp_path)
    ours = authority.pair("locum")
    auth = {
        "type": "mtls",
        "cert_file": ours.cert_file,
        "key_file": ours.key_file,
        "ca_file": authority.ca_file,
    }
    async with tls_server(authority.server_context(wants_client=True)) as (url, names):
        async with http_for(url, auth=auth) as http:
            assert (await http.get(f"{url}/x")).status_code == 200
        assert names == ["locum"]


async def test_without_the_certificate_nobody_gets_in(tmp_path: Path) -> None:
    """A3: the server that wants a certificate refuses who has none."""
    authority = Authority(tmp_path)
    async with tls_server(authority.server_context(wants_client=True)) as (url, names):
        async with http_for(url, ca_file=authority.ca_file) as http:
            with pytest.raises(httpx.HTTPError):
                await http.get(f"{url}/x")
        assert names == []


async def test_an_agent_that_nobody_vouches_for(tmp_path: Path) -> None:
    """A6: an agent's certificate is verified, against the usual authorities and ca_file."""
    authority = Authority(tmp_path)
    async with tls_server(authority.server_context()) as (url, names):
        async with http_for(url) as http:
            with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
                await http.get(f"{url}/x")
        async with http_for(url, ca_file=authority.ca_file) as http:
            assert (await http.get(f"{url}/x")).status_code == 200
        assert names == ["nobody"]
