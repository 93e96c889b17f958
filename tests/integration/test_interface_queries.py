"""Interfaces whose URL has a query, as gateways give out: it goes with every call, as it is written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.registry import Registry
from locum.core.errors import RemoteCallError
from tests.agents.frames import ERR, Binding
from tests.agents.raw import RawAgent
from tests.agents.seen import Seen

from .calling import call_all
from .registries import refused, registry, with_interface

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]
QUERY = "project=inventory&flag&a=%20b"
both = pytest.mark.parametrize("binding", BINDINGS)


@asynccontextmanager
async def entered(agent: RawAgent, query: str = QUERY, **more: object) -> AsyncIterator[Registry]:
    """A registry with the agent, whose interface's URL has the query."""
    agent.card = with_interface(agent.card, url=f"{agent.rpc_url}?{query}", tenant="acme")
    async with registry({"id": "a", "url": agent.url, **more}) as found:
        yield found


async def client_of(found: Registry) -> AgentClient:
    """The client of the agent."""
    client = (await found.ready("a")).client
    assert client is not None
    return client


def queries(calls: list[Seen]) -> list[str]:
    """The query of each call, as it came."""
    return [seen.target.partition("?")[2] for seen in calls]


@both
async def test_a_query_goes_with_every_call(binding: Binding) -> None:
    """A5: the URL's query stays as it is written, and stands behind the path of each call."""
    async with RawAgent(binding) as agent, entered(agent) as found:
        await call_all(await client_of(found))
        methods = [seen.method for seen in agent.calls()]
        assert len(set(methods)) == 8
        assert {seen.tenant for seen in agent.calls()} == {"acme"}
        for method, query in zip(methods, queries(agent.calls()), strict=True):
            own, _, asked = query.partition(QUERY)
            assert own == "", f"{method}: {query}"
            assert not asked or (binding == "HTTP+JSON" and asked.startswith("&")), method


async def test_what_a_call_asks_for_is_asked_for_all_the_same() -> None:
    """A5, K3: parameters of a call stand behind the URL's own, and an odd id stays one segment."""
    async with RawAgent("HTTP+JSON") as agent, entered(agent) as found:
        client = await client_of(found)
        await client.list_tasks(page_size=7)
        with pytest.raises(RemoteCallError, match="not found"):
            await client.get("t/1?x#y")
        listing, getting = (seen.target for seen in agent.calls())
        assert listing.startswith(f"/rest/acme/tasks?{QUERY}&")
        assert "pageSize=7" in listing
        assert getting == f"/rest/acme/tasks/t%2F1%3Fx%23y?{QUERY}"


@both
async def test_a_key_in_the_query_beside_the_own_one(binding: Binding) -> None:
    """A5, G8: a key that belongs into the query is put behind it, and only the key is a secret."""
    auth = {"type": "api_key", "name": "k", "in": "query", "value_env": "TOKEN"}
    async with RawAgent(binding) as agent, entered(agent, auth=auth) as found:
        client = await client_of(found)
        agent.on("GetTask", [ERR(-32602, "no inventory for t0k3n in project inventory")])
        with pytest.raises(
            RemoteCallError, match=r"no inventory for \*\*\*\* in project inventory"
        ):
            await client.get("t1")
        assert queries(agent.calls()) == [f"{QUERY}&k=t0k3n"]


@both
async def test_an_empty_query(binding: Binding) -> None:
    """A5: a question mark with nothing behind it changes nothing."""
    async with RawAgent(binding) as agent, entered(agent, "") as found:
        await (await client_of(found)).get("t1")
        assert [seen.method for seen in agent.calls()] == ["GetTask"]


async def test_a_fragment_over_rest() -> None:
    """A4: a URL with a fragment has no place for the path of a call: card.bad_url, and why."""
    async with RawAgent("HTTP+JSON") as agent:
        agent.card = with_interface(agent.card, url=f"{agent.rpc_url}#main")
        async with registry({"id": "a", "url": agent.url}) as found:
            code, reason = refused(found)
    assert code == "card.bad_url"
    assert "fragment" in reason


async def test_a_fragment_over_json_rpc() -> None:
    """A5: over JSON-RPC a fragment is in nobody's way; it is not sent."""
    async with RawAgent() as agent:
        agent.card = with_interface(agent.card, url=f"{agent.rpc_url}#main")
        async with registry({"id": "a", "url": agent.url}) as found:
            await (await client_of(found)).get("t1")
        assert [seen.target for seen in agent.calls()] == ["/rpc"]
