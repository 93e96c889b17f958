"""The registry over real sockets: cards fetched, agents ready for work and called."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.core.errors import AgentRefusedError, AgentUnknownError
from tests.agents.frames import T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import CARD_PATH, Seen

from .registries import NOBODY, is_accepted, refused, registry, serves


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent with a good card."""
    async with RawAgent(name="Inventory") as raw:
        yield raw


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
    """C1, case C9: an id that is not registered, the empty one too, lists those that can be used.

    Refused agents were among them, so that whoever took the advice was refused in turn.
    """
    async with (
        RawAgent() as one,
        registry({"id": "b", "url": one.url}, {"id": "a", "url": NOBODY}) as entered,
    ):
        assert entered.ids() == ["a", "b"]
        assert entered.find("nope") is None
        for unknown in ("", "A", "inventory", NOBODY):
            with pytest.raises(AgentUnknownError) as caught:
                await entered.ready(unknown)
            assert caught.value.detail["valid"] == ["b"]
            assert caught.value.detail["refused"] == {"a": entered.get("a").reason}
            assert "Use one of these ids: b. Refused, and of no use now: a." in str(caught.value)
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


async def test_a_slow_card_holds_up_no_start(agent: RawAgent) -> None:
    """A2: the start goes on without it; it is refused until it comes, and work for it waits."""
    async with RawAgent() as slow:
        go_on = asyncio.Event()

        async def answer(seen: Seen, reply: Reply) -> None:
            await go_on.wait()
            await reply.json(slow.card)

        slow.on("AgentCard", answer)
        tables: list[dict[str, Any]] = [
            {"id": "good", "url": agent.url},
            {"id": "slow", "url": slow.url},
        ]
        async with registry(*tables, patience=0.2) as entered:
            assert is_accepted(entered, "good")
            code, reason = refused(entered, "slow")
            assert (code, slow.open_exchanges) == ("card.unreachable", 1)
            assert reason == "Its card has not come within 0.2 s. It is still waited for."
            assert "slow" not in entered.roster()
            waiting = asyncio.create_task(entered.ready("slow"))
            go_on.set()
            await waiting
            assert is_accepted(entered, "slow")
            assert "slow" in entered.roster()
        assert len(slow.calls("AgentCard")) == 1


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
    """A2, case C2, case C3: below the URL's path first, then at its origin, with and without a
    slash.
    """
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
    """A2, case C3: an error is no "not found"."""
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
    """A5, case C2: the first usable interface is called at its URL verbatim, with its tenant."""
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
