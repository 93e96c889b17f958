"""The explicit client's life: when it talks, in which event loop, to whom, and what it leaves open."""

import asyncio
import gc
import json
import socket
from typing import Any

import pytest

from locum.adapters import A2AClient
from locum.core.errors import (
    CardError,
    ClientError,
    ConfigError,
    LocumError,
    RequestError,
    UnsupportedExtensionError,
)
from tests.agents.frames import ERR, HOLD, A, M, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .explicit import BINDINGS, client_at, in_thread

DONE = T("COMPLETED", artifacts=[A("a", "done")])


async def test_nothing_is_sent_when_it_is_made() -> None:
    """G1: constructing a client sends nothing; the first operation fetches the card, once."""
    async with RawAgent() as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)
        assert (agent.requests, client.card) == ([], None)
        assert (await client.send("go")).text == "done"
        assert (await client.send("go")).text == "done"
        assert [seen.method for seen in agent.requests] == [
            "AgentCard",
            "SendMessage",
            "SendMessage",
        ]
        assert {seen.headers["a2a-version"] for seen in agent.requests} == {"1.0"}


async def test_connect_fetches_the_card_once() -> None:
    """G1: `connect()` fetches and validates; what comes later, and at once beside it, does not."""
    async with RawAgent() as agent:
        client = client_at(agent)
        cards = await asyncio.gather(*(client.connect() for _ in range(5)))
        await client.connect()
        assert {card.name for card in cards} == {"Raw"}
        assert client.card is not None
        assert [seen.method for seen in agent.requests] == ["AgentCard"]


async def test_a_refusal_is_not_remembered() -> None:
    """G1: a card that was refused is looked at again by the next operation."""
    async with RawAgent() as agent:
        agent.on("AgentCard", (503, {}, "busy"), (200, {}, json.dumps(agent.card)))
        client = client_at(agent)
        with pytest.raises(CardError) as caught:
            await client.connect()
        assert caught.value.code == "card.unreachable"
        assert (await client.connect()).name == "Raw"


async def test_one_event_loop_after_the_other() -> None:
    """G1: a client works in several event loops one after the other; the card is still fetched once."""
    async with RawAgent(keep_alive=True) as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)

        def by_hand() -> str:
            # A loop that is simply closed: nothing may be left open in it.
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(client.send("go")).text
            finally:
                loop.close()

        async def entered() -> str:
            async with client:
                return (await client.send("go")).text + (await client.send("go")).text

        texts = [
            await in_thread(lambda: asyncio.run(client.send("go")).text),
            await in_thread(by_hand),
            await in_thread(lambda: asyncio.run(entered())),
            (await client.send("go")).text,
        ]
        assert texts == ["done", "done", "donedone", "done"]
        assert len(agent.calls("AgentCard")) == 1
        await agent.until(lambda: agent.open_connections == 0, 1, "all connections closed")
        gc.collect()  # Whatever was left unclosed would be warned of now.


async def test_a_loop_that_died_with_the_client_entered() -> None:
    """G1: a loop that ended while the client was entered there does not spoil the next one."""
    async with RawAgent() as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)

        def abandoned() -> None:
            loop = asyncio.new_event_loop()
            loop.run_until_complete(client.__aenter__())
            loop.close()

        await in_thread(abandoned)
        assert (await client.send("go")).text == "done"


async def test_two_event_loops_at_once() -> None:
    """G1: threads with loops of their own do not meet in one pool."""
    async with RawAgent() as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)
        texts = await asyncio.gather(
            *(in_thread(lambda: asyncio.run(client.send("go")).text) for _ in range(4))
        )
        assert texts == ["done"] * 4


async def test_connections_are_kept_inside_async_with_only() -> None:
    """G1: an operation closes its connections; entered, the client keeps them until it is left."""
    async with RawAgent(keep_alive=True) as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)
        await client.send("go")
        await agent.until(lambda: agent.open_connections == 0, 1, "closed after the operation")
        async with client:
            await client.send("go")
            await client.send("go")
            assert agent.open_connections == 1
        await agent.until(lambda: agent.open_connections == 0, 1, "closed at the end")


async def test_entered_in_two_loops_at_once() -> None:
    """G1: each loop that enters the client has, and leaves, connections of its own."""
    async with RawAgent(keep_alive=True) as agent:
        agent.on("SendMessage", DONE)
        client = client_at(agent)

        async def inside() -> None:
            async with client, client:
                await client.send("go")

        async with client:
            await client.send("go")
            await in_thread(lambda: asyncio.run(inside()))
            await agent.until(lambda: agent.open_connections == 1, 1, "the other loop's closed")
            await client.send("go")
        await agent.until(lambda: agent.open_connections == 0, 1, "all closed")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_only_bindings_that_are_spoken_are_dialled(binding: Any) -> None:
    """G6: gRPC and custom bindings are passed over, wherever they stand; nobody calls them."""
    with socket.create_server(("127.0.0.1", 0)) as grpc:
        grpc.setblocking(False)
        port = grpc.getsockname()[1]
        others = [
            {"url": f"http://127.0.0.1:{port}", "protocolBinding": name, "protocolVersion": "1.0"}
            for name in ("GRPC", "urn:custom")
        ]
        async with RawAgent(binding) as agent:
            own = agent.card["supportedInterfaces"]
            agent.card["supportedInterfaces"] = [others[0], *own, others[1]]
            agent.on("SendMessage", DONE)
            assert (await client_at(agent).send("go")).text == "done"

            agent.card["supportedInterfaces"] = others
            with pytest.raises(CardError) as caught:
                await client_at(agent).send("go")
            assert caught.value.code == "card.no_interface"
            assert len(agent.calls("SendMessage")) == 1
        with pytest.raises(BlockingIOError):
            grpc.accept()


async def test_plain_http_is_for_loopback_only() -> None:
    """G7: off loopback plain HTTP needs allow_insecure; nothing is sent without it."""
    for card in ("http://agent.invalid/card.json", "http://192.0.2.1/card.json"):
        with pytest.raises(CardError) as caught:
            await A2AClient(card).connect()
        assert caught.value.code == "card.insecure_url"
        with pytest.raises(CardError) as caught:
            await A2AClient(card, allow_insecure=True, timeout=2).send("go")
        assert caught.value.code != "card.insecure_url"


async def test_an_interface_in_plain_http_off_loopback() -> None:
    """G7: what holds for the card holds for the interface that it names."""
    async with RawAgent() as agent:
        agent.card["supportedInterfaces"][0]["url"] = "http://agent.invalid/rpc"
        with pytest.raises(CardError) as caught:
            await client_at(agent, allowed_hosts=["agent.invalid"]).send("go")
        assert caught.value.code == "card.insecure_url"


async def test_an_interface_on_another_origin() -> None:
    """G7: an interface stays on the card's origin, or in allowed_hosts."""
    async with RawAgent() as agent, RawAgent() as elsewhere:
        elsewhere.on("SendMessage", DONE)
        agent.card["supportedInterfaces"][0]["url"] = elsewhere.rpc_url
        with pytest.raises(CardError) as caught:
            await client_at(agent).send("go")
        assert caught.value.code == "card.foreign_host"
        assert elsewhere.requests == []

        allowed = [f"127.0.0.1:{elsewhere.port}"]
        assert (await client_at(agent, allowed_hosts=allowed).send("go")).text == "done"


async def test_the_card_is_looked_for_at_an_agents_url() -> None:
    """G1: with `url` instead of the card's, the card is looked for where A2 says."""
    async with RawAgent() as agent:
        agent.on("SendMessage", DONE)
        assert (await A2AClient(url=f"{agent.url}/some/path").send("go")).text == "done"


async def test_what_is_missing_for_the_card() -> None:
    """G8: a card that needs a credential which is not there is refused before anything is sent."""
    async with RawAgent() as agent:
        agent.card["securitySchemes"] = {"b": {"httpAuthSecurityScheme": {"scheme": "bearer"}}}
        agent.card["securityRequirements"] = [{"schemes": {"b": {"list": []}}}]
        with pytest.raises(UnsupportedExtensionError):
            await client_at(agent).send("go")
        unset = {"type": "bearer", "token_env": "NOBODY_SET_THIS"}
        with pytest.raises(UnsupportedExtensionError, match="NOBODY_SET_THIS"):
            await client_at(agent, credentials=unset, environ={}).send("go")
        assert len(agent.requests) == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"card_url": "agent.example/card.json"},
        {"card_url": "ftp://agent.example/card.json"},
        {"card_url": "https://user:word@agent.example/card.json"},
        {"card_url": "https://agent.example/card.json", "url": "https://agent.example"},
        {"card_url": "https://agent.example/card.json", "allowed_hosts": "agent.example"},
        {"card_url": "https://agent.example/card.json", "allowed_hosts": ["x/y"]},
        {"card_url": "https://agent.example/card.json", "timeout": 0},
        {"card_url": "https://agent.example/card.json", "timeout": "5"},
        {"card_url": "https://agent.example/card.json", "poll_interval": None},
        {"card_url": "https://agent.example/card.json", "credentials": {"type": "magic"}},
        {"card_url": "https://agent.example/card.json", "credentials": "s3cret-word"},
    ],
    ids=lambda given: ",".join(given) or "nothing",
)
def test_what_cannot_be_is_refused_at_once(given: dict[str, Any]) -> None:
    """G1: a client that could never work is not made; the refusal shows no secret."""
    with pytest.raises((ConfigError, RequestError)) as caught:
        A2AClient(**given)
    assert "word" not in str(caught.value)


async def test_a_client_says_who_it_is_for() -> None:
    """G8: a client's repr names the agent and its origin, and no more of its URL."""
    client = A2AClient("https://agent.example/card.json?key=s3cret", name="inventory")
    assert repr(client) == "<A2AClient 'inventory' at https://agent.example>"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_oddities_are_counted(binding: Any) -> None:
    """G9: what had to be mended is named in the result and counted by the client."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("completed", artifacts=[A("a", "done")]))
        client = client_at(agent)
        result = await client.send("go")
        assert (result.state, result.anomalies) == ("COMPLETED", ("json.state_alias",))
        assert client.anomalies == {"json.state_alias": 1}


async def test_a_card_that_does_not_come() -> None:
    """G2: a card that does not come in time is the caller's time-out, and the connection is closed."""
    async with RawAgent() as agent:
        agent.on("AgentCard", HOLD)
        with pytest.raises(ClientError) as caught:
            await client_at(agent).send("go", timeout=0.2)
        assert caught.value.code == "client.timeout"
        await agent.all_closed(timeout=1)


async def test_errors_are_locums_own() -> None:
    """K4: what the agent refuses is one typed error, with the agent's code and words."""
    async with RawAgent() as agent:
        agent.on("SendMessage", ERR(-32603, "no chairs"))
        with pytest.raises(LocumError) as caught:
            await client_at(agent).send("go")
        assert caught.value.code == "remote.refused"
        assert "no chairs" in caught.value.message


async def test_a_stream_that_is_left_alone_is_closed() -> None:
    """D11: who breaks out of a bare `async for` leaves no connection behind."""

    async def answer(_: Seen, reply: Reply) -> None:
        await reply.sse()
        await reply.event(T("WORKING"))
        await reply.hold()

    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", answer)
        async for result in client_at(agent).stream("go"):
            assert result.state == "WORKING"
            break
        await agent.all_closed(timeout=1)
        assert agent.calls("CancelTask") == []


async def test_a_direct_answer_needs_no_task() -> None:
    """G2: a direct Message comes back at once."""
    async with RawAgent() as agent:
        agent.on("SendMessage", M("hello"))
        result = await client_at(agent).send("hi")
        assert (result.text, result.completed, result.task_id) == ("hello", True, "")
        assert agent.calls("GetTask") == []
