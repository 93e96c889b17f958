"""Credentials over real sockets: where they go, certificates shown, nothing leaked."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.agents.raw import RawAgent

from .authority import Authority
from .credentialed import JSON, http_for


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent that says 200 to `/x`."""
    async with RawAgent() as raw:
        raw.on("/x", (200, JSON, "{}"))
        yield raw


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


@pytest.mark.parametrize(
    "written, sent",
    [
        ("?a=b%20c", "?a=b%20c&key=k3y+v%26lue"),
        ("?a=b/c+d&&flag", "?a=b/c+d&&flag&key=k3y+v%26lue"),
        ("?key=other&a&%6Bey=x", "?a&key=k3y+v%26lue"),
        ("?", "?key=k3y+v%26lue"),
        ("", "?key=k3y+v%26lue"),
    ],
)
async def test_a_query_key_leaves_the_query_as_it_is_written(
    agent: RawAgent, written: str, sent: str
) -> None:
    """A5: the URL is taken verbatim, though a key is added to its query; there is one such key."""
    auth = {"type": "api_key", "name": "key", "in": "query", "value_env": "KEY"}
    async with http_for(agent.url, auth=auth) as http:
        await http.get(f"{agent.url}/x{written}")
    assert [seen.target for seen in agent.calls("/x")] == [f"/x{sent}"]


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
