"""Cards that need no fetching, cards that grow stale, and the roster made of them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from locum.adapters.a2a.roster import EMPTY
from locum.core.errors import AgentRefusedError
from tests.agents.raw import RawAgent
from tests.agents.seen import CARD_PATH

from .registries import NOBODY, Clock, is_accepted, refused, registry, serves, with_interface


@pytest.fixture
async def agent() -> AsyncIterator[RawAgent]:
    """An agent with a good card."""
    async with RawAgent(name="Inventory") as raw:
        yield raw


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
        digest, client = entered.get("a").card_digest, entered.get("a").client
        assert client is not None
        with pytest.raises(AgentRefusedError, match="another origin") as caught:
            await entered.ready("a")
        assert caught.value.detail["reason_code"] == "card.foreign_host"
        assert refused(entered)[0] == "card.foreign_host"
        assert entered.roster() == EMPTY
        assert entered.get("a").card_digest == digest
        assert await entered.client("a") is client
        assert len(agent.calls("AgentCard")) == 2
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


async def test_a_cut_is_warned_of_for_each_new_card(
    agent: RawAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """B3, J3: each card's cut is warned of; of the cards that are gone nothing is kept."""
    card = agent.card | {"description": "d" * 501}
    cards = [card | {"version": str(number)} for number in range(20)]
    agent.on("AgentCard", *(serves(one, **{"cache-control": "no-cache"}) for one in cards))
    with caplog.at_level(logging.WARNING, "locum.agents"):
        async with registry({"id": "a", "url": agent.url}) as entered:
            for _ in cards[1:]:
                await entered.ready("a")
                entered.roster()
            assert len(entered._warned) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "agent a: description is too long and was cut in the roster"
    ] * len(cards)


async def test_no_agent_at_all() -> None:
    """B5: without agents the roster says so."""
    async with registry() as entered:
        assert (entered.ids(), entered.agents(), entered.roster()) == ([], [], EMPTY)
