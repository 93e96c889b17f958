"""No credential of the explicit client is ever seen: every failure is provoked, everything is searched."""

import asyncio
import base64
import logging
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace

from locum.adapters import A2AClient, RemoteAgent
from locum.core.errors import LocumError
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, S, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .credentialed import token
from .explicit import BINDINGS, client_at
from .spans import SpanOfTest, TracerOfTest

SECRET = "s3cr3t-0f-the-client"
ENVIRON = {"THE_SECRET": SECRET}
JSON = {"content-type": "application/json"}


class Vault:
    """Credentials that somebody else looks after; in the end it fails with the secret in its words."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.headers: Mapping[str, str] | Exception = {"X-Vault": SECRET}

    async def resolve(self, audience: str, scopes: Sequence[str]) -> Mapping[str, str]:
        """The headers."""
        self.asked.append((audience, tuple(scopes)))
        if isinstance(self.headers, Exception):
            raise self.headers
        return self.headers


KINDS: dict[str, Any] = {
    "bearer": {"type": "bearer", "token_env": "THE_SECRET"},
    "basic": {"type": "basic", "username": "u", "password_env": "THE_SECRET"},
    "header": {"type": "api_key", "name": "X-Key", "value_env": "THE_SECRET"},
    "query": {"type": "api_key", "name": "key", "in": "query", "value_env": "THE_SECRET"},
    "cookie": {"type": "api_key", "name": "sid", "in": "cookie", "value_env": "THE_SECRET"},
    "oauth2": {"type": "oauth2", "client_id": "c", "client_secret_env": "THE_SECRET"},
    "vault": None,
}


class Evidence:
    """Everything that somebody may read afterwards."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def keep(self, thing: object) -> None:
        """An object, by all its faces; an error with its traceback and all that led to it."""
        self.texts += [str(thing), repr(thing)]
        if isinstance(thing, BaseException):
            self.texts += traceback.format_exception(thing)
        if isinstance(thing, LocumError):
            self.texts.append(repr(thing.detail))

    def search(self, *secrets: str) -> None:
        """Fail when one of the secrets is anywhere."""
        for secret in secrets:
            found = [text for text in self.texts if secret in text]
            assert not found, f"{secret!r} is in {found[0][:2000]}"


async def _quoting(seen: Seen, reply: Reply) -> None:
    """Answer 401 with everything that was sent, in every place where words can be put."""
    said = f"you sent {seen.target} {seen.headers}".replace("\r", " ").replace("\n", " ")
    challenge = f'Bearer realm="{seen.target}", error_description="{seen.headers}"'
    await reply.respond(401, {"www-authenticate": challenge, **JSON}, said)


async def _refusing(seen: Seen, reply: Reply) -> None:
    """An A2A error that quotes everything that was sent."""
    said = f"{seen.target} {seen.headers}"
    await reply.play([ERR(-32603, said, data=[{"headers": dict(seen.headers), "said": said}])])


async def _redirecting(seen: Seen, reply: Reply) -> None:
    await reply.respond(
        307, {"location": f"https://elsewhere.invalid/{seen.target}?k={SECRET}"}, ""
    )


FAILURES: dict[str, Any] = {
    "401 that quotes": _quoting,
    "error that quotes": _refusing,
    "redirect": _redirecting,
    "500": (500, {}, f"<html>{SECRET[:4]}</html>"),
    "busy": (503, {}, ""),
    "no JSON": (200, JSON, "no json"),
    "other JSON": (200, JSON, "[1, 2]"),
    "cut": [CUT],
    "reset": [RST],
    "silence": [HOLD],
    "no HTTP": [b"\x00\x01\x02", EOF],
    "wrong task": T("COMPLETED", id="t9"),
}


class Span(SpanOfTest):
    """A span that keeps all that is put into it."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Keep it."""
        self.said.append((key, value))

    def set_status(self, status: Any, description: str | None = None) -> None:
        """Keep it: a status, or its code alone."""
        self.said += [str(status), getattr(status, "description", None), description]

    def record_exception(self, exception: BaseException, *args: Any, **more: Any) -> None:
        """Keep it as an exporter would."""
        self.said += [args, more, *traceback.format_exception(exception)]


class Tracer(TracerOfTest):
    """Our tracer, and the one that the SDK gets when it asks for one."""

    def get_tracer(self, *args: Any, **more: Any) -> "Tracer":
        """This one."""
        return self

    def start_span(self, name: str, *args: Any, attributes: Any = None, **more: Any) -> trace.Span:
        """A span that is kept."""
        self.spans.append(Span(name, attributes or {}))
        return self.spans[-1]

    @contextmanager
    def start_as_current_span(self, name: str, *args: Any, **more: Any) -> Iterator[trace.Span]:
        """A span that is kept."""
        yield self.start_span(name, attributes=more.get("attributes"))


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    """Keeps the spans of every call, ours and the SDK's."""
    kept = Tracer()
    monkeypatch.setattr("locum.adapters.a2a.calls.tracing._TRACER", kept)
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", kept)
    return kept


@pytest.fixture
async def issuer() -> AsyncIterator[RawAgent]:
    """A token endpoint."""
    async with RawAgent() as raw:
        raw.on("/token", token(f"t0ken-{SECRET}"))
        yield raw


@pytest.mark.parametrize("kind, binding", list(zip(KINDS, BINDINGS * 4, strict=False)))
async def test_no_credential_is_ever_seen(
    kind: str,
    binding: Any,
    issuer: RawAgent,
    tracer: Tracer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """G8: not in a log line at DEBUG, an error, a repr, a traceback or a span, whatever goes wrong."""
    caplog.set_level(logging.DEBUG)
    evidence, vault = Evidence(), Vault()
    credentials = vault if kind == "vault" else dict(KINDS[kind])
    if kind == "oauth2":
        credentials["token_url"] = f"{issuer.url}/token"
    options: dict[str, Any] = {
        "credentials": credentials,
        "environ": ENVIRON,
        "tracing": True,
        "timeout": 0.3,
        "cancel_grace": 0.2,
    }
    async with RawAgent(binding) as agent:
        client = client_at(agent, **options)
        node = RemoteAgent("peer", "A peer", client._lines.settings.card_url, **options)
        await _provoke(agent, client, node, evidence)
        if kind == "vault":
            await _fail_the_vault(vault, client, evidence)
        sent = [f"{seen.target} {seen.headers}" for seen in agent.requests]
    evidence.texts.append(caplog.text)
    evidence.texts += [repr(record.__dict__) for record in caplog.records]
    evidence.texts += [repr(span.said) for span in tracer.spans]
    hidden = [SECRET]
    if kind == "basic":
        hidden.append(base64.b64encode(f"u:{SECRET}".encode()).decode())
    assert tracer.spans
    assert len(sent) > 20
    assert all(any(secret in request for secret in hidden) for request in sent), "it never left"
    evidence.search(*hidden)


async def _provoke(
    agent: RawAgent, client: A2AClient, node: RemoteAgent, evidence: Evidence
) -> None:
    for thing in (client, client._lines.settings, node, node.as_tool()):
        evidence.keep(thing)
    for script in (_quoting, (302, {"location": f"/x?k={SECRET[:3]}"}, ""), (200, JSON, "no")):
        agent.on("AgentCard", script)
        await _trouble(client.connect(), evidence)
    agent.on("AgentCard")
    evidence.keep(await client.connect())
    for script in FAILURES.values():
        for method in ("SendMessage", "SendStreamingMessage", "GetTask", "SubscribeToTask"):
            agent.on(method, script)
        for method in ("CancelTask", "ListTasks"):
            agent.on(method, script)
        work = (
            *(client.send("go"), _read(client.stream("go")), _read(client.subscribe("t1"))),
            *(client.get_task("t1"), client.cancel_task("t1"), client.list_tasks()),
            *(node({"input": "go"}), node.as_tool()(message="go")),
        )
        await asyncio.gather(*(_trouble(one, evidence) for one in work))
    # A stream that breaks, one that is given up, and one with an error on it.
    agent.on("CancelTask", HOLD)
    agent.on("GetTask", ERR(-32603))
    for ending in (CUT, RST, HOLD, EV(ERR(-32603)), b"data: {nonsense\n\n"):
        agent.on("SendStreamingMessage", [EV(S("WORKING")), ending])
        await _trouble(_read(client.stream("go")), evidence)
    # And all is well.
    agent.on("SendMessage", T("COMPLETED", artifacts=[A("a", "done")]))
    result = await client.send("go")
    evidence.keep(result)
    evidence.keep(result.as_dict())
    await agent.stop_listening()
    await _trouble(client.send("go"), evidence)


async def _fail_the_vault(vault: Vault, client: A2AClient, evidence: Evidence) -> None:
    for headers in (RuntimeError(f"no {SECRET}"), {"X-Vault": f"{SECRET}\n"}, {SECRET + ":": "x"}):
        vault.headers = headers
        await _trouble(client.send("go"), evidence)


async def _read(updates: Any) -> None:
    async with updates:
        async for _ in updates:
            pass


async def _trouble(work: Any, evidence: Evidence) -> None:
    """Do what is bound to fail, and keep how it did; it fails with nothing but a LocumError."""
    try:
        async with asyncio.timeout(10):
            evidence.keep(await work)
    except LocumError as error:
        evidence.keep(error)


async def test_credentials_are_resolved_for_an_audience_and_scopes() -> None:
    """G8: the object is asked for headers for the origin, with the scopes that the card asks for."""
    vault = Vault()
    async with RawAgent() as agent:
        agent.card["securitySchemes"] = {
            "o": {"oauth2SecurityScheme": {"flows": {}}},
        }
        agent.card["securityRequirements"] = [{"schemes": {"o": {"list": ["read", "write"]}}}]
        agent.on("SendMessage", T("COMPLETED"))
        await client_at(agent, credentials=vault).send("go")
        assert vault.asked == [(agent.url, ()), (agent.url, ("read", "write"))]
        assert [seen.headers["x-vault"] for seen in agent.requests] == [SECRET, SECRET]


async def test_a_credential_goes_to_allowed_origins_only() -> None:
    """G8, G7: the card's origin and allowed_hosts get it; an origin that a redirect names does not."""
    async with RawAgent() as agent, RawAgent() as other, RawAgent() as thief:
        other.on("SendMessage", (302, {"location": thief.rpc_url}, ""))
        agent.card["supportedInterfaces"][0]["url"] = other.rpc_url
        client = client_at(
            agent,
            allowed_hosts=[f"127.0.0.1:{other.port}"],
            credentials=[KINDS["bearer"], KINDS["header"]],
            environ=ENVIRON,
        )
        with pytest.raises(LocumError):
            await client.send("go")
        for peer in (agent, other):
            (seen,) = peer.requests
            assert seen.headers["authorization"] == f"Bearer {SECRET}"
            assert seen.headers["x-key"] == SECRET
        assert thief.requests == []
