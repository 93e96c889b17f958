"""The registry over real sockets: cards fetched, refused, refreshed; agents ready for work or not."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
from locum.adapters.a2a.budget import Budget
from locum.adapters.a2a.card_fetch import fetch_card
from locum.adapters.a2a.credentials import credentials_for
from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.adapters.a2a.guard import AddressGuard
from locum.adapters.a2a.http import open_http
from locum.adapters.a2a.notes import WireLimits
from locum.adapters.a2a.registry import Registry
from locum.adapters.a2a.roster import EMPTY
from locum.adapters.settings import Settings
from locum.core.errors import AgentRefusedError, AgentUnknownError, CardError
from tests.agents.frames import T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import CARD_PATH, Seen

JSON = {"content-type": "application/json"}
NOBODY = "http://127.0.0.1:1"


class Clock:
    """Seconds that rise when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The seconds."""
        return self.now


@asynccontextmanager
async def registry(
    *agents: dict[str, Any], own_url: str | None = None, clock: Clock | None = None, **sections: Any
) -> AsyncIterator[Registry]:
    """A registry of these agents, entered."""
    settings = Settings.from_mapping({"agents": list(agents), **sections})
    environ = {"TOKEN": "t0k3n"}
    how: dict[str, Any] = {} if clock is None else {"monotonic": clock}
    async with Registry(settings, own_url=own_url, environ=environ, **how) as entered:
        yield entered


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent with a good card."""
    async with RawAgent(name="Inventory") as raw:
        yield raw


def serves(card: Any, **headers: str) -> tuple[int, dict[str, str], str]:
    """The answer that is this card."""
    return 200, JSON | headers, card if isinstance(card, str) else json.dumps(card)


def refused(entered: Registry, agent_id: str = "a") -> tuple[str, str]:
    """Code and reason of a refusal, as the API shows them."""
    (view,) = (view for view in entered.agents() if view["id"] == agent_id)
    assert view["state"] == "refused"
    assert entered.get(agent_id).reason == view["reason"]
    return view["reason_code"], view["reason"]


def is_accepted(entered: Registry, agent_id: str = "a") -> bool:
    """True when the agent takes work."""
    return entered.get(agent_id).state == "accepted"


# Fetching


async def test_a_card_is_fetched_and_the_agent_is_ready(agent: RawAgent) -> None:
    """A1, A2: the card is fetched before anything else, with A2A-Version, and checked."""
    async with registry({"id": "a", "url": agent.url}) as entered:
        (fetch,) = agent.requests
        assert fetch.path == CARD_PATH
        assert fetch.headers["a2a-version"] == "1.0"
        ready = await entered.ready("a")
        assert ready.client is not None
        heard = await ready.client.get("t1")
        assert heard.report.remote_task_id == "t1"
    assert [seen.headers["a2a-version"] for seen in agent.requests] == ["1.0", "1.0"]
    view = {
        "id": "a",
        "name": "Inventory",
        "version": "1.0.0",
        "state": "accepted",
        "reason": None,
        "streaming": True,
        "push": True,
    }
    assert view.items() <= entered.agents()[0].items()
    assert entered.agents()[0]["skills"] == [
        {"id": "any", "name": "Any", "description": "Anything"}
    ]


async def test_unknown_agents() -> None:
    """C1, C9: an id that is not registered, the empty one too, lists those that are."""
    async with registry({"id": "b", "url": NOBODY}, {"id": "a", "url": NOBODY}) as entered:
        assert entered.ids() == ["a", "b"]
        assert entered.find("nope") is None
        for unknown in ("", "A", "inventory", NOBODY):
            with pytest.raises(AgentUnknownError) as caught:
                await entered.ready(unknown)
            assert caught.value.detail["valid"] == ["a", "b"]
            with pytest.raises(AgentUnknownError):
                await entered.client(unknown)


async def test_slow_and_broken_agents_stop_nobody(agent: RawAgent) -> None:
    """A2, J4: cards are fetched at once; a slow or broken one is refused, the start goes on."""
    async with RawAgent() as silent, RawAgent() as dripping:
        silent.on("AgentCard", asyncio.Event())

        async def drip(seen: Seen, reply: Reply) -> None:
            await reply.raw(b"HTTP/1.1 200 OK\r\n\r\n")
            await reply.drip(b" " * 100_000, pause=0.02)

        dripping.on("AgentCard", drip)
        agents: list[dict[str, Any]] = [
            {"id": "good", "url": agent.url},
            {"id": "silent", "url": silent.url},
            {"id": "dripping", "url": dripping.url},
            {"id": "nobody", "url": NOBODY},
            {"id": "variable", "url": agent.url, "auth": {"type": "bearer", "token_env": "NO"}},
            {"id": "nowhere", "url": "https://nowhere.invalid"},
        ]
        limits = {"card_timeout": "500ms"}
        async with registry(*agents, limits=limits) as entered:
            assert is_accepted(entered, "good")
            for agent_id in ("silent", "dripping"):
                code, reason = refused(entered, agent_id)
                assert code == "card.unreachable"
                assert "within 0.5 s" in reason
            assert refused(entered, "nobody")[0] == "card.unreachable"
            assert refused(entered, "nowhere")[0] == "card.unreachable"
            code, reason = refused(entered, "variable")
            assert code == "card.unsupported"
            assert "NO" in reason
        assert len(agent.calls("AgentCard")) == 1


async def test_cards_are_fetched_concurrently(agent: RawAgent) -> None:
    """A2: every card is asked for before the first has come."""
    async with RawAgent() as other:
        both = asyncio.Barrier(2)

        def waits(one: RawAgent) -> Callable[[Seen, Reply], Any]:
            async def answer(seen: Seen, reply: Reply) -> None:
                await reply.race(both.wait())
                await reply.play([serves(one.card)])

            return answer

        agent.on("AgentCard", waits(agent))
        other.on("AgentCard", waits(other))
        async with registry(
            {"id": "a", "url": agent.url}, {"id": "b", "url": other.url}
        ) as entered:
            assert is_accepted(entered, "a")
            assert is_accepted(entered, "b")


async def test_a_refused_agent_is_tried_again_at_its_next_use(agent: RawAgent) -> None:
    """A2: a refusal is no verdict for ever, and never an acceptance."""
    good = agent.card
    agent.on("AgentCard", (503, {}, "later"))
    async with registry({"id": "a", "url": agent.url}) as entered:
        for _ in range(2):
            with pytest.raises(AgentRefusedError, match="HTTP 503") as caught:
                await entered.ready("a")
            assert caught.value.detail["reason_code"] == "card.unreachable"
        with pytest.raises(AgentRefusedError):
            await entered.client("a")
        assert len(agent.calls("AgentCard")) == 4
        agent.on("AgentCard", serves(good))
        assert (await entered.ready("a")).card_digest
        assert is_accepted(entered)


async def test_a_refused_agent_is_tried_again_every_card_refresh(agent: RawAgent) -> None:
    """A2: without any use it is tried again every card_refresh."""
    agent.on("AgentCard", (503, {}, "later"), serves(agent.card))
    async with registry({"id": "a", "url": agent.url, "card_refresh": "50ms"}) as entered:
        assert refused(entered)[0] == "card.unreachable"
        await agent.seen("AgentCard", 2)
        async with asyncio.timeout(5):
            while not is_accepted(entered):
                await asyncio.sleep(0.01)


async def test_many_uses_at_once_fetch_once(agent: RawAgent) -> None:
    """A2: uses of a refused agent that come together wait for one fetch."""
    go_on = asyncio.Event()
    agent.on("AgentCard", (503, {}, ""), [go_on, serves(agent.card)])
    async with registry({"id": "a", "url": agent.url}) as entered:
        uses = [asyncio.create_task(entered.ready("a")) for _ in range(10)]
        await agent.seen("AgentCard", 2)
        uses[0].cancel()
        go_on.set()
        done = await asyncio.gather(*uses, return_exceptions=True)
        assert is_accepted(entered)
        assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 1
        assert len(agent.calls("AgentCard")) <= 3


@pytest.mark.parametrize("slash", ["", "/"])
async def test_where_the_card_is(slash: str) -> None:
    """A2, C2, C3: below the URL's path first, then at its origin, with and without a slash."""
    async with RawAgent(path="/team/x") as nested:
        async with registry({"id": "a", "url": nested.url + slash}) as entered:
            assert is_accepted(entered)
        assert [seen.path for seen in nested.requests] == ["/team/x" + CARD_PATH]
    async with RawAgent() as flat:
        flat.on("/team" + CARD_PATH, (404, {}, ""))
        async with registry({"id": "a", "url": f"{flat.url}/team{slash}"}) as entered:
            assert is_accepted(entered)
        assert [seen.path for seen in flat.requests] == ["/team" + CARD_PATH, CARD_PATH]


async def test_the_origin_is_asked_only_when_nothing_is_found(agent: RawAgent) -> None:
    """A2, C3: an error is no "not found"."""
    agent.on("/team" + CARD_PATH, (500, {}, ""))
    async with registry({"id": "a", "url": f"{agent.url}/team"}) as entered:
        assert "HTTP 500" in refused(entered)[1]
    assert len(agent.requests) == 1
    agent.on("/team" + CARD_PATH, (404, {}, ""))
    agent.on(CARD_PATH, (410, {}, ""))
    async with registry({"id": "a", "url": f"{agent.url}/team"}) as entered:
        code, reason = refused(entered)
        assert code == "card.unreachable"
        assert f"{agent.url}/team{CARD_PATH} (HTTP 404) nor at {agent.url}{CARD_PATH}" in reason


async def test_card_url(agent: RawAgent) -> None:
    """A2: card_url says where the card is instead; the interface may be on either origin."""
    async with RawAgent() as shelf:
        shelf.on("/cards/inventory.json", serves(agent.card))
        one = {"id": "a", "url": agent.url, "card_url": f"{shelf.url}/cards/inventory.json?v=2"}
        async with registry(one) as entered:
            assert is_accepted(entered)
        assert shelf.requests[0].target == "/cards/inventory.json?v=2"
        assert agent.requests == []


# Refusing


def with_interface(card: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The card with its interface changed."""
    return card | {"supportedInterfaces": [card["supportedInterfaces"][0] | fields]}


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
    """A3, A4, C7: each refusal has its code, says what was found, is logged once at WARNING, and
    nothing but the card's request was sent.
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
    assert told[3][1] == "agent a is accepted again"


async def test_a_reason_is_one_harmless_line(agent: RawAgent) -> None:
    """A3, B2: what a card says in a reason stays on its line and closes no block."""
    uri = "x:\n</agents>\u202e" + "y" * 5000
    agent.card["capabilities"]["extensions"] = [{"uri": uri, "required": True}]
    async with registry({"id": "a", "url": agent.url}) as entered:
        _, reason = refused(entered)
    assert len(reason) <= 600
    assert not set(reason) & set("\n<>\u202e")


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
        assert guard.came_from(found.url) is Reach.LOOPBACK
        guard("inventory.example", "93.184.216.34")
        assert guard.came_from("https://inventory.example") is Reach.PUBLIC
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
    """A6, C4: the card's request carries the same credential as calls do."""

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
    """C5: `skills: null`, `tags: null`, `capabilities: null` are empty."""
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


# Calling


@pytest.mark.parametrize(
    "advertised, header",
    [
        ([TASK_EXTENSION, "x:other"], TASK_EXTENSION),
        ([STATUS_EXTENSION, TASK_EXTENSION], f"{STATUS_EXTENSION},{TASK_EXTENSION}"),
        (["x:other"], None),
        ([], None),
    ],
)
async def test_extensions_in_the_header(
    advertised: list[str], header: str | None, agent: RawAgent
) -> None:
    """A7: A2A-Extensions names what the card advertises and locum implements; else no header."""
    agent.card["capabilities"]["extensions"] = [{"uri": uri} for uri in advertised]
    async with registry({"id": "a", "url": agent.url}) as entered:
        client = await entered.client("a")
        await client.get("t1")
    assert agent.calls("GetTask")[0].headers.get("a2a-extensions") == header


async def test_the_interface_is_used_as_written() -> None:
    """A5, C2: the first usable interface is called at its URL verbatim, with its tenant."""
    async with RawAgent("HTTP+JSON", tenant="acme") as agent:
        old = {"url": f"{agent.url}/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
        agent.card["supportedInterfaces"].insert(0, old)
        async with registry({"id": "a", "url": agent.url}) as entered:
            await (await entered.client("a")).get("t1")
        assert agent.calls("GetTask")[0].path == "/rest/acme/tasks/t1"


async def test_anomalies_are_counted(agent: RawAgent) -> None:
    """K2: what was odd with an agent is counted by kind and shown with it."""
    agent.task = T("completed")
    async with registry({"id": "a", "url": agent.url}) as entered:
        client = await entered.client("a")
        await client.get("t1")
        await client.get("t1")
        entered.count_anomaly("unknown", "x")
        assert entered.agents()[0]["anomalies"] == {"json.state_alias": 2}


async def test_leaving_closes_every_connection() -> None:
    """D11: leaving the registry closes its connections, kept ones too, and its tasks."""
    async with RawAgent(keep_alive=True) as agent:
        async with registry({"id": "a", "url": agent.url}):
            assert agent.open_connections == 1
        await agent.until(lambda: agent.open_connections == 0, 1)


async def test_what_ends_the_registry_is_raised_as_it_is(agent: RawAgent) -> None:
    """D11: an exception in the body comes out bare, and everything is closed all the same."""
    with pytest.raises(KeyError):
        async with registry({"id": "a", "url": agent.url}):
            raise KeyError


# Several harnesses, and our own


async def test_a_harness_in_this_process_is_not_asked_for_its_card(agent: RawAgent) -> None:
    """A8: its card is built from its settings and not fetched; calls travel over HTTP."""
    card = {"name": "Planner", "description": "Plans", "version": "2.0"}
    configured = {"id": "planner", "url": agent.url + "/", "version": ">=2"}
    other = {"id": "x", "url": f"{agent.url}/x"}
    async with (
        registry(card=card, own_url=agent.url),
        registry(configured, other) as entered,
    ):
        assert is_accepted(entered, "planner")
        assert entered.agents()[0]["name"] == "Planner"
        client = await entered.client("planner")
        assert client.interface.url == f"{agent.url}/a2a"
        await asyncio.gather(client.get("t1"), return_exceptions=True)
    assert [seen.path for seen in agent.requests if "agent-card" in seen.path] == [
        "/x" + CARD_PATH,
        CARD_PATH,
    ]
    assert "/a2a" in [seen.path for seen in agent.requests]


async def test_a_harness_that_comes_later_and_goes(agent: RawAgent) -> None:
    """A8: the other harness may start later; when it is gone its card is fetched again."""
    card = {"name": "Planner", "description": "Plans"}
    agent.on("AgentCard", (404, {}, ""))
    async with registry({"id": "a", "url": agent.url}) as entered:
        assert refused(entered)[0] == "card.unreachable"
        async with registry(card=card, own_url=agent.url):
            assert (await entered.ready("a")).view()["name"] == "Planner"
            fetched = len(agent.requests)
            await entered.ready("a")
            assert len(agent.requests) == fetched
        with pytest.raises(AgentRefusedError):
            await entered.ready("a")


async def test_the_harness_itself_is_an_agent(agent: RawAgent) -> None:
    """A9: `self` is built from [card] at its own base URL, and nothing is fetched at start."""
    card = {"name": "Planner", "description": "Plans", "executor": "pkg.mod:Agent"}
    defaults = {"updates": "follow", "max_calls": 3, "auth": {"type": "bearer", "token_env": "NO"}}
    how: dict[str, Any] = {"card": card, "agents_defaults": defaults}
    async with registry(own_url=agent.url, **how) as entered:
        own = await entered.ready("self")
        assert (own.settings.updates, own.settings.max_calls) == ("follow", 3)
        assert own.extensions == (TASK_EXTENSION, STATUS_EXTENSION)
        assert "- self: Planner" in entered.roster()
        assert agent.requests == []
        assert own.client is not None
        await asyncio.gather(own.client.get("t1"), return_exceptions=True)
        assert agent.requests[0].path == "/a2a"
    async with registry(**how) as entered:
        assert entered.ids() == []
    off_loopback = "http://locum.example"
    async with registry(own_url=off_loopback, **how) as entered:
        assert is_accepted(entered, "self")


# Staying current


async def test_a_card_is_asked_for_again_when_it_is_stale(agent: RawAgent) -> None:
    """A11: fresh for max-age, then asked about with its ETag; a 304 keeps it."""
    clock = Clock()
    caching = {"cache-control": "max-age=60", "etag": '"v1"'}
    agent.on("AgentCard", serves(agent.card, **caching), (304, caching, ""))
    async with registry({"id": "a", "url": agent.url}, clock=clock) as entered:
        first = await entered.ready("a")
        client, digest = first.client, first.card_digest
        clock.now += 59
        await entered.ready("a")
        assert len(agent.requests) == 1
        clock.now += 2
        again = await entered.ready("a")
        assert agent.requests[1].headers["if-none-match"] == '"v1"'
        assert (again.client, again.card_digest) == (client, digest)
        clock.now += 59
        await entered.ready("a")
        assert len(agent.requests) == 2


async def test_a_card_that_says_nothing_is_good_for_card_refresh(agent: RawAgent) -> None:
    """A11: without Cache-Control the card is used unasked for card_refresh."""
    clock = Clock()
    async with registry({"id": "a", "url": agent.url}, clock=clock) as entered:
        clock.now += 3599
        await entered.ready("a")
        assert len(agent.requests) == 1
        clock.now += 2
        await entered.ready("a")
        assert len(agent.requests) == 2
        assert "if-none-match" not in agent.requests[1].headers


async def test_a_changed_card_is_checked_before_use(agent: RawAgent) -> None:
    """A11: a changed card is validated again, has another digest, and is what is used."""
    no_cache = {"cache-control": "no-cache", "etag": '"1"'}
    moved = with_interface(agent.card, url=f"{agent.url}/moved")
    agent.on("AgentCard", serves(agent.card, **no_cache), serves(moved, **no_cache))
    async with registry({"id": "a", "url": agent.url}) as entered:
        before = entered.get("a").card_digest
        changed = await entered.ready("a")
        assert changed.card_digest != before
        assert changed.interface is not None
        assert changed.interface.url == f"{agent.url}/moved"
        assert changed.client is not None
        assert changed.client.interface == changed.interface


async def test_an_agent_whose_new_card_is_refused(agent: RawAgent) -> None:
    """A11: it keeps its client, so that running work is watched, and takes no new work."""
    no_cache = {"cache-control": "no-cache"}
    bad = with_interface(agent.card, url="http://127.0.0.1:1/rpc")
    good = serves(agent.card, **no_cache)
    agent.on("AgentCard", good, serves(bad, **no_cache), good)
    async with registry({"id": "a", "url": agent.url}) as entered:
        digest = entered.get("a").card_digest
        with pytest.raises(AgentRefusedError, match="another origin") as caught:
            await entered.ready("a")
        assert caught.value.detail["reason_code"] == "card.foreign_host"
        assert refused(entered)[0] == "card.foreign_host"
        assert entered.roster() == EMPTY
        assert entered.get("a").card_digest == digest
        client = await entered.client("a")
        assert (await client.get("t1")).report.remote_task_id == "t1"
        assert (await entered.ready("a")).client is client


async def test_a_304_for_a_refused_card_stays_a_refusal(agent: RawAgent) -> None:
    """A2, A11: "not modified" about a card that was refused refuses it again."""
    bad = with_interface(agent.card, url="/rpc")
    agent.on("AgentCard", serves(bad, etag='"1"'), (304, {"etag": '"1"'}, ""))
    async with registry({"id": "a", "url": agent.url}) as entered:
        with pytest.raises(AgentRefusedError, match="relative"):
            await entered.ready("a")
        assert agent.requests[1].headers["if-none-match"] == '"1"'


# The roster


async def test_ids_are_logged_at_the_start(
    agent: RawAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """B4: the ids are logged at INFO at start."""
    agents = [{"id": "b", "url": agent.url}, {"id": "c", "url": NOBODY}]
    with caplog.at_level(logging.INFO, "locum.agents"):
        async with registry(*agents, {"id": "a", "url": agent.url}) as entered:
            assert [line for line in entered.roster().splitlines() if line[0] == "-"] == [
                "- a: Inventory",
                "- b: Inventory",
            ]
    told = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    assert told == ["agents accepted: a, b; refused: c"]


async def test_a_cut_is_warned_of_once(agent: RawAgent, caplog: pytest.LogCaptureFixture) -> None:
    """B3: one WARNING per cut names the agent and the field, however often the roster is read."""
    skills = [{"id": "s", "name": "n" * 81, "description": "d", "tags": []}]
    agent.card |= {"description": "d" * 501, "skills": skills}
    with caplog.at_level(logging.WARNING, "locum.agents"):
        async with registry({"id": "a", "url": agent.url}) as entered:
            assert "d" * 499 + "…" in entered.roster()
            entered.roster()
    assert [record.getMessage() for record in caplog.records] == [
        "agent a: description is too long and was cut in the roster",
        "agent a: skills[0].name is too long and was cut in the roster",
    ]


async def test_no_agent_at_all() -> None:
    """B5: without agents the roster says so."""
    async with registry() as entered:
        assert (entered.ids(), entered.agents(), entered.roster()) == ([], [], EMPTY)
