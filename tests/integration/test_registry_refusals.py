"""Agents that are refused, and that nothing else stops for it: every reason, said once."""

import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.agent import Agent
from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.cards.fetch import fetch_card
from locum.adapters.a2a.credentials.placing import credentials_for
from locum.adapters.a2a.guard import AddressGuard
from locum.adapters.a2a.http import open_http
from locum.adapters.a2a.roster import EMPTY
from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.notes import WireLimits
from locum.adapters.settings import Settings
from locum.core.errors import AgentRefusedError, CardError
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .registries import JSON, is_accepted, refused, registry, serves, with_interface


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent with a good card."""
    async with RawAgent(name="Inventory") as raw:
        yield raw


REFUSALS: list[tuple[str, Callable[[dict[str, Any]], Any], dict[str, Any], str, str]] = [
    (
        "a required extension",
        lambda c: c | {"capabilities": {"extensions": [{"uri": "x:pay", "required": True}]}},
        {},
        "card.unsupported",
        "x:pay",
    ),
    (
        "a scheme without a credential",
        lambda c: (
            c
            | {
                "securitySchemes": {"k": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
                "securityRequirements": [{"schemes": {"k": {"list": []}}}],
            }
        ),
        {},
        "card.unsupported",
        "k (http bearer)",
    ),
    (
        "A2A 0.3 only",
        lambda c: with_interface(c, protocolVersion="0.3.0"),
        {},
        "card.no_interface",
        "0.3 only",
    ),
    (
        "another port",
        lambda c: with_interface(c, url="http://127.0.0.1:1/rpc"),
        {},
        "card.foreign_host",
        "http://127.0.0.1:1",
    ),
    (
        "relative",
        lambda c: with_interface(c, url="/rpc"),
        {},
        "card.bad_url",
        "relative",
    ),
    (
        "plain http elsewhere",
        lambda c: with_interface(c, url="http://inventory.example/rpc"),
        {"allowed_hosts": ["inventory.example"]},
        "card.insecure_url",
        "allow_insecure",
    ),
    ("too large", lambda c: c | {"x": "y" * 1_100_000}, {}, "card.invalid", "1048576"),
    ("no json", lambda c: "<html><title>Welcome</title>", {}, "card.invalid", "JSON"),
    ("a list", lambda c: [c], {}, "card.invalid", ""),
    ("no name", lambda c: c | {"name": None}, {}, "card.invalid", "name"),
    ("a name that is none", lambda c: c | {"name": {}}, {}, "card.invalid", "name"),
    ("the version", lambda c: c, {"version": ">=2"}, "card.version_mismatch", "'1.0.0'"),
    ("unsigned", lambda c: c, {"trusted_keys": "none.json"}, "card.untrusted", "none.json"),
]


@pytest.mark.parametrize(
    "change, settings, code, said", [case[1:] for case in REFUSALS], ids=[c[0] for c in REFUSALS]
)
async def test_refusals(
    change: Callable[[dict[str, Any]], Any],
    settings: dict[str, Any],
    code: str,
    said: str,
    agent: RawAgent,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A3, A4, case C7: each refusal has its code, says what was found, is logged once at WARNING,
    and nothing but the card's request was sent.
    """
    good = agent.card
    agent.on("AgentCard", serves(change(good)))
    with caplog.at_level(logging.WARNING, "locum.agents"):
        async with registry({"id": "a", "url": agent.url} | settings) as entered:
            found, reason = refused(entered)
            assert found == code
            assert said in reason
            with pytest.raises(AgentRefusedError, match=re.escape(reason)):
                await entered.ready("a")
            assert entered.roster() == EMPTY
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == f"agent a is refused: {reason} ({code})"
    assert {seen.method for seen in agent.requests} == {"AgentCard"}


async def test_a_reason_is_logged_again_when_it_is_another(
    agent: RawAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """A3: one WARNING for each reason, and an INFO when the agent is accepted again."""
    agent.on("AgentCard", (503, {}, ""), (500, {}, ""), (500, {}, ""), serves(agent.card))
    with caplog.at_level(logging.INFO, "locum.agents"):
        async with registry({"id": "a", "url": agent.url}) as entered:
            for _ in range(2):
                with pytest.raises(AgentRefusedError):
                    await entered.ready("a")
            await entered.ready("a")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in told] == ["WARNING", "INFO", "WARNING", "INFO"]
    assert told[3][1] == "agent a is accepted now"


async def test_a_reason_is_one_line_for_people(agent: RawAgent) -> None:
    """A3: what a card says in a reason stays on its line, and reads as it was written.

    It had the roster's angle brackets, so that `>=2,<3` was told as what nobody had configured.
    Into a model's answer a refusal goes in a block that it cannot close (E6, test_client_tools.py).
    """
    uri = "x:\n</agents>\u202e" + "y" * 5000
    agent.card["capabilities"]["extensions"] = [{"uri": uri, "required": True}]
    async with registry({"id": "a", "url": agent.url}) as entered:
        _, reason = refused(entered)
    assert len(reason) <= 600
    assert "x: </agents> yyy" in reason
    assert not set(reason) & set("\n\u202e")
    agent.card["capabilities"]["extensions"] = []
    async with registry({"id": "a", "url": agent.url, "version": ">=2,<3"}) as entered:
        assert refused(entered)[0] == "card.version_mismatch"
        assert "'>=2,<3'" in refused(entered)[1]


async def test_plain_http_off_loopback_sends_nothing() -> None:
    """A4, A6: without allow_insecure not even the card's request leaves."""
    auth = {"type": "bearer", "token_env": "TOKEN"}
    async with registry({"id": "a", "url": "http://inventory.invalid", "auth": auth}) as entered:
        assert refused(entered)[0] == "card.insecure_url"


async def test_a_name_that_comes_to_mean_a_private_address(agent: RawAgent) -> None:
    """A4: once its card came from a public address, an agent is dialled at public ones only."""
    settings = Settings.from_mapping(
        {"agents": [{"id": "a", "url": f"http://localhost:{agent.port}"}]}
    ).agents[0]
    guard = AddressGuard()
    async with open_http(
        credentials=credentials_for(settings, {}),
        limits=WireLimits(),
        budget=Budget(),
        guard=guard,
    ) as http:
        found = await fetch_card(http, settings)
        assert guard.came_from(found.url, found.peer) is Reach.LOOPBACK
        guard("inventory.example", "93.184.216.34")
        assert guard.came_from("https://inventory.example", "93.184.216.34") is Reach.PUBLIC
    async with open_http(
        credentials=credentials_for(settings, {}),
        limits=WireLimits(),
        budget=Budget(),
        guard=guard,
    ) as http:
        with pytest.raises(CardError, match="loopback") as caught:
            await fetch_card(http, settings)
    assert caught.value.code == "card.private_address"
    assert len(agent.requests) == 1


async def test_an_endless_card(agent: RawAgent) -> None:
    """A4, J3: a card is counted as it arrives; the connection is closed at the limit."""

    async def pour(seen: Seen, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[")
        while True:
            await reply.raw(b'"' + b"x" * 65536 + b'",')

    agent.on("AgentCard", pour)
    async with registry({"id": "a", "url": agent.url}) as entered:
        assert refused(entered)[0] == "card.invalid"
        await agent.all_closed()


async def test_a_redirect_is_not_followed(agent: RawAgent) -> None:
    """A6: a card that redirects is refused; the refusal names the target, and nothing goes there."""
    async with RawAgent() as elsewhere:
        agent.on("AgentCard", (302, {"location": f"{elsewhere.url}/card?token=x"}, ""))
        auth = {"type": "bearer", "token_env": "TOKEN"}
        async with registry({"id": "a", "url": agent.url, "auth": auth}) as entered:
            code, reason = refused(entered)
        assert code == "card.unreachable"
        assert f"{elsewhere.url}/card" in reason
        assert elsewhere.requests == []


async def test_the_card_is_fetched_with_the_credential(agent: RawAgent) -> None:
    """A6, case C4: the card's request carries the same credential as calls do."""

    async def guarded(seen: Seen, reply: Reply) -> None:
        known = seen.headers.get("authorization") == "Bearer t0k3n"
        await reply.play([serves(agent.card) if known else (401, {"www-authenticate": "B"}, "")])

    agent.on("AgentCard", guarded)
    auth = {"type": "bearer", "token_env": "TOKEN"}
    async with registry({"id": "a", "url": agent.url, "auth": auth}) as entered:
        client = (await entered.ready("a")).client
        assert client is not None
        await client.get("t1")
    assert [seen.headers["authorization"] for seen in agent.requests] == ["Bearer t0k3n"] * 2
    async with registry({"id": "a", "url": agent.url}) as entered:
        code, reason = refused(entered)
        assert code == "card.unreachable"
        assert "HTTP 401 (B); check the agent's auth" in reason


async def test_a_token_endpoint_that_fails_refuses_the_agent(agent: RawAgent) -> None:
    """A2, A6: a credential that cannot be had is a reason like any other."""
    agent.on("/token", (400, JSON, '{"error": "invalid_client"}'))
    auth = {
        "type": "oauth2",
        "token_url": f"{agent.url}/token",
        "client_id": "c",
        "client_secret_env": "TOKEN",
    }
    async with registry({"id": "a", "url": agent.url, "auth": auth}) as entered:
        code, reason = refused(entered)
    assert code == "card.unreachable"
    assert "invalid_client" in reason
    assert "t0k3n" not in reason
    assert agent.calls("AgentCard") == []


async def test_nulls_where_lists_belong(agent: RawAgent) -> None:
    """A2, case C5: `skills: null`, `tags: null`, `capabilities: null` are empty."""
    nulls = {"skills": None, "capabilities": None, "securityRequirements": None}
    agent.on("AgentCard", serves(agent.card | nulls))
    async with registry({"id": "a", "url": agent.url}) as entered:
        assert is_accepted(entered)
        assert entered.agents()[0]["skills"] == []
    skill = {"id": "s", "name": "Sort", "description": "Sorts", "tags": None}
    agent.on("AgentCard", serves(agent.card | {"skills": [skill, None]}))
    async with registry({"id": "a", "url": agent.url}) as entered:
        assert [one["name"] for one in entered.agents()[0]["skills"]] == ["Sort"]


async def test_a_signed_card(agent: RawAgent, tmp_path: Path) -> None:
    """A10: with trusted_keys a signed card is accepted, also as it comes over the wire."""
    private = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(private.public_key())) | {"kid": "k"}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [public]}))
    key = PyJWK(json.loads(ECAlgorithm.to_jwk(private)), "ES256")
    header = ProtectedHeader(kid="k", alg="ES256", jku=None, typ="JOSE")
    signed = create_agent_card_signer(key, header)(ParseDict(agent.card, AgentCard()))
    agent.on("AgentCard", serves(MessageToDict(signed)))
    one = {"id": "a", "url": agent.url, "trusted_keys": str(keys)}
    async with registry(one) as entered:
        assert is_accepted(entered)
    agent.on("AgentCard", serves(MessageToDict(signed) | {"description": "changed"}))
    async with registry(one) as entered:
        assert refused(entered)[0] == "card.untrusted"


async def test_what_nobody_thought_of_stops_nobody(
    agent: RawAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """A2: whatever an agent makes locum trip over refuses that agent, is logged, and no more."""

    def trip(one: Agent) -> AgentClient:
        raise LookupError(one.id)

    with caplog.at_level(logging.ERROR, "locum.agents"):
        async with registry({"id": "a", "url": agent.url}, client_factory=trip) as entered:
            code, reason = refused(entered)
            assert code == "card.invalid"
            assert "LookupError" in reason
            assert entered.get("a").card_digest == ""
    assert "agent a: its card could not be looked at" in caplog.text
