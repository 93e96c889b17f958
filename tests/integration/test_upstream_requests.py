"""docs/upstream.md, requests and cards: what a2a-sdk's plain client gets wrong,
and locum's beside it.

When one of these fails for the plain client's part, a new SDK has mended it: strike it from the page.
Each docstring ends in the fault's name there.
"""

import contextlib
import logging
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.client.errors import A2AClientError, AgentCardResolutionError
from a2a.types.a2a_pb2 import GetTaskRequest
from a2a.utils.errors import A2AError
from google.protobuf.json_format import ParseDict

from locum.core.report import Part

from ..agents.frames import T
from ..agents.raw import RawAgent
from ..agents.sdk import plain_client, send_request
from .clients import brief
from .paired import both, pair
from .registries import is_accepted, registry


@pytest.mark.parametrize("task_id", ["a/b", "a?b", "a#b", "a%2Fb", "../t2"])
async def test_ids_in_urls(task_id: str) -> None:
    """K3: over HTTP+JSON the plain client writes ids into the URL as they are (ids-in-urls)."""
    async with pair("HTTP+JSON") as both_clients:
        both_clients.agent.put(T("WORKING", id=task_id))
        with contextlib.suppress(A2AError):
            await both_clients.plain_get(task_id)
        assert both_clients.agent.requests[-1].task_id != task_id
        heard = await both_clients.ours.get(task_id)
        assert heard.report.remote_task_id == task_id


@both
async def test_whole_numbers(binding: Any) -> None:
    """D12: a whole number in data leaves the plain client as a fraction (whole-numbers)."""
    async with pair(binding) as both_clients:
        request = send_request("go")
        part = request.message.parts.add()
        ParseDict({"data": {"chairs": 9}}, part)
        async for _ in both_clients.plain.send_message(request):
            break
        assert b'"chairs":9.0' in both_clients.agent.requests[-1].body.replace(b" ", b"")
        message = brief(parts=[Part(data={"chairs": 9})])
        async with aclosing(both_clients.ours.send(message)) as heard:
            await anext(heard)
        assert b'"chairs":9}' in both_clients.agent.requests[-1].body.replace(b" ", b"")


@both
async def test_the_order_of_data(binding: Any) -> None:
    """C7, case D4: the same message is other bytes each time, for the plain client orders data by
    chance (order).
    """
    data = {f"field {number:02}": number for number in range(30)}
    async with pair(binding) as both_clients:
        request = send_request("go")
        ParseDict({"data": data}, request.message.parts.add())
        async for _ in both_clients.plain.send_message(request):
            break
        assert list(_data_sent(both_clients.agent)) != list(data)
        message = brief(parts=[Part(data=data)])
        async with aclosing(both_clients.ours.send(message)) as heard:
            await anext(heard)
        assert list(_data_sent(both_clients.agent)) == list(data)


def _data_sent(agent: RawAgent) -> dict[str, Any]:
    (part,) = [part for part in agent.requests[-1].message["parts"] if "data" in part]
    data: dict[str, Any] = part["data"]
    return data


async def test_the_card_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """B4: the plain client logs every card that it fetches, whole, at INFO (card-log)."""
    caplog.set_level(logging.INFO)
    async with RawAgent("JSONRPC", description="x" * 5_000) as agent:
        async with plain_client(agent.url, "JSONRPC"):
            assert "x" * 5_000 in caplog.text
        caplog.clear()
        async with registry({"id": "a", "url": agent.url}) as entered:
            assert is_accepted(entered)
        assert "x" * 500 not in caplog.text


@pytest.mark.parametrize("field", ["skills", "capabilities"])
async def test_nulls_in_a_card(field: str) -> None:
    """A2: a null in a card, which ProtoJSON allows, has the plain client refuse it (card-nulls)."""
    old = {"supportsAuthenticatedExtendedCard": True} if field == "capabilities" else {}
    async with RawAgent("JSONRPC", **{field: None}, **old) as agent:
        with pytest.raises(AgentCardResolutionError):
            async with plain_client(agent.url, "JSONRPC"):
                pass
        async with registry({"id": "a", "url": agent.url}) as entered:
            assert is_accepted(entered)


async def test_an_old_interface_first() -> None:
    """A5: of a card that names A2A 0.3 first and 1.0 after it, the plain client takes 0.3
    (interface).
    """
    async with RawAgent("HTTP+JSON") as agent:
        old = {"url": f"{agent.url}/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
        agent.card["supportedInterfaces"].insert(0, old)
        async with httpx.AsyncClient(trust_env=False) as http:
            bindings = ["JSONRPC", "HTTP+JSON"]
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=bindings)
            plain = await create_client(agent.url, config)
            with pytest.raises(A2AClientError):
                await plain.get_task(GetTaskRequest(id="t1"))
        assert agent.requests[-1].path == "/old"
        async with registry({"id": "a", "url": agent.url}) as entered:
            client = await entered.client("a")
            assert (await client.get("t1")).report.state == "WORKING"
