"""docs/upstream.md: what a2a-sdk's plain client gets wrong, and locum's beside it, on the same bytes.

When one of these fails for the plain client's part, a new SDK has mended it: strike it from the page.
Each docstring ends in the fault's name there.
"""

import asyncio
import contextlib
import gc
import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError, A2AClientTimeoutError, AgentCardResolutionError
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import A2AError, MethodNotFoundError, TaskNotFoundError
from google.protobuf.json_format import ParseDict, ParseError

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from locum.core.report import Part

from ..agents.frames import EOF, ERR, EV, HOLD, M, S, T
from ..agents.raw import RawAgent
from ..agents.sdk import plain_client, send_request
from .clients import brief, client_of
from .registries import is_accepted, registry

PAGE = Path(__file__).parents[2] / "docs" / "upstream.md"
SEND = "SendStreamingMessage"
STAMP = "2026-01-02T03:04:05Z"
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


class Pair:
    """The plain client and ours, for one agent."""

    def __init__(self, agent: RawAgent, plain: Client, ours: AgentClient) -> None:
        self.agent = agent
        self.plain = plain
        self.ours = ours

    async def plain_send(self) -> list[StreamResponse]:
        """What the plain client hears."""
        return [one async for one in self.plain.send_message(send_request("go"))]

    async def our_send(self) -> list[Any]:
        """What ours hears, as reports."""
        async with aclosing(self.ours.send(brief())) as heard:
            return [one.report async for one in heard]

    async def plain_get(self, task_id: str = "t1") -> Task:
        """GetTask by the plain client."""
        return await self.plain.get_task(GetTaskRequest(id=task_id))


@contextlib.asynccontextmanager
async def pair(binding: Any, **card: Any) -> AsyncIterator[Pair]:
    """Both clients and a raw agent."""
    async with (
        RawAgent(binding, **card) as agent,
        plain_client(agent.url, binding) as plain,
        client_of(agent) as ours,
    ):
        yield Pair(agent, plain, ours)


def _event(binding: Any, frame: Any) -> bytes:
    """A frame in one event, in UTF-8 and not in escapes."""
    value = {"jsonrpc": "2.0", "id": 1, "result": frame.wrapped()}
    value = value if binding == "JSONRPC" else frame.wrapped()
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


# Streams


@both
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
async def test_line_ends(binding: Any, mark: str) -> None:
    """K1: only CR and LF end a line; the plain client cuts JSON at others (line-ends)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on(SEND, [_event(binding, T("COMPLETED", f"a{mark}b")), EOF])
        with pytest.raises((A2AClientError, ParseError)):
            await both_clients.plain_send()
        (report,) = await both_clients.our_send()
        assert report.text == f"a{mark}b"


@both
async def test_byte_order_mark(binding: Any) -> None:
    """K1: behind a byte order mark the plain client loses the first event (bom)."""
    async with pair(binding) as both_clients:
        frames = [EV(T("WORKING")), EV(S("COMPLETED"))]
        both_clients.agent.on(SEND, [b"\xef\xbb\xbf", *frames, EOF])
        assert [one.WhichOneof("payload") for one in await both_clients.plain_send()] == [
            "status_update"
        ]
        assert [one.kind for one in await both_clients.our_send()] == ["task", "status"]


@both
@pytest.mark.parametrize("content_type", ["Text/Event-Stream", None])
async def test_content_type(binding: Any, content_type: str | None) -> None:
    """K1: media types have no case; the plain client takes such a stream for JSON (content-type)."""

    async def handler(seen: Any, reply: Any) -> None:
        await reply.sse(content_type=content_type)
        await reply.event(T("COMPLETED", "done"))

    async with pair(binding) as both_clients:
        both_clients.agent.on(SEND, handler)
        with pytest.raises((A2AClientError, ParseError)):
            await both_clients.plain_send()
        (report,) = await both_clients.our_send()
        assert report.text == "done"


@contextlib.contextmanager
def _dropped() -> Iterator[list[str]]:
    """The async generators begun meanwhile that are left to the garbage collector."""
    names: list[str] = []
    before = sys.get_asyncgen_hooks()

    def finalize(generator: Any) -> None:
        names.append(generator.__qualname__)
        if before.finalizer is not None:
            before.finalizer(generator)

    sys.set_asyncgen_hooks(finalizer=finalize)
    try:
        yield names
        gc.collect()
    finally:
        sys.set_asyncgen_hooks(*before)


@both
@pytest.mark.parametrize("how", ["message", "left"])
async def test_streams_are_not_closed(binding: Any, how: str) -> None:
    """D11: leaving a stream, the plain client leaves its generators to the collector (generators)."""
    frame = M("hello", context="c1") if how == "message" else T("WORKING")
    async with pair(binding) as both_clients:
        both_clients.agent.on(SEND, [EV(frame), HOLD])
        with _dropped() as names:
            stream = both_clients.plain.send_message(send_request("go"))
            async with aclosing(stream):  # type: ignore[type-var]  # it is a generator
                async for _ in stream:
                    break
            del stream
        assert names
        with _dropped() as names:
            async with aclosing(both_clients.ours.send(brief())) as heard:
                async for _ in heard:
                    break
        assert names == []
        await both_clients.agent.all_closed(timeout=1)


async def test_silence() -> None:
    """D8: the SDK's own HTTP client gives a stream up after five quiet seconds (silence)."""
    over = asyncio.Event()
    async with RawAgent("JSONRPC") as agent, client_of(agent) as ours:
        agent.on(SEND, [EV(T("WORKING")), over, EV(S("COMPLETED")), EOF])
        waiting = asyncio.create_task(_all_of(ours))
        await agent.seen(SEND)
        client = await create_client(agent.url)
        try:
            with pytest.raises(A2AClientTimeoutError):
                async for _ in client.send_message(send_request("go")):
                    pass
        finally:
            await client.close()
        over.set()
        assert [one.kind for one in await waiting] == ["task", "status"]


async def _all_of(client: AgentClient) -> list[Any]:
    async with aclosing(client.send(brief())) as heard:
        return [one.report async for one in heard]


# Answers


@both
@pytest.mark.parametrize(
    "task",
    [
        T("WORKING", ts="2026-01-02T03:04:05"),
        T("WORKING", ts=STAMP, artifacts=[None]),  # type: ignore[list-item]  # as an agent has it
        T("WORKING", ts=STAMP, metadata=["none"]),
    ],
    ids=["a time without a zone", "a null in a list", "a list for an object"],
)
async def test_one_bad_field(binding: Any, task: Any) -> None:
    """K2: one field that protobuf cannot read costs the plain client the whole answer, and not even
    by an error of its own (one-bad-field).
    """
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", task)
        with pytest.raises(ParseError) as fault:
            await both_clients.plain_get()
        assert not isinstance(fault.value, A2AError)
        heard = await both_clients.ours.get("t1")
        assert heard.report.state == "WORKING"
        assert heard.report.anomalies


@both
async def test_another_task(binding: Any) -> None:
    """K3: the plain client hands on an answer about a task that nobody asked for (another-task)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", T("COMPLETED", id="t2"))
        assert (await both_clients.plain_get()).id == "t2"
        with pytest.raises(RemoteCallError) as fault:
            await both_clients.ours.get("t1")
        assert fault.value.code == "remote.wrong_task"


@both
async def test_an_answer_of_unknown_shape(binding: Any) -> None:
    """K2: what the plain client does not know comes out as an empty object (empty-objects)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("GetTask", {"task": T("COMPLETED", ts=STAMP)})
        both_clients.agent.on(SEND, [EV(dict(T("COMPLETED", ts=STAMP))), EOF])
        assert await both_clients.plain_get() == Task()
        assert await both_clients.plain_send() == [StreamResponse()]
        assert (await both_clients.ours.get("t1")).report.state == "COMPLETED"
        (report,) = await both_clients.our_send()
        assert report.state == "COMPLETED"


@both
async def test_nothing_where_a_result_belongs(binding: Any) -> None:
    """K2: a deletion that is answered with 204 fails at the plain client (no-content)."""
    async with pair(binding) as both_clients:
        both_clients.agent.on("DeleteTaskPushNotificationConfig", (204, {}, b""))
        request = DeleteTaskPushNotificationConfigRequest(task_id="t1", id="p1")
        with pytest.raises(A2AClientError):
            await both_clients.plain.delete_task_push_notification_config(request)
        await both_clients.ours.delete_push("t1", "p1")


# Errors


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_an_error_under_another_status(status: int) -> None:
    """K4: under any status but 200 the plain client drops JSON-RPC's error (error-body)."""
    async with pair("JSONRPC") as both_clients:
        both_clients.agent.on("GetTask", ERR(-32001, "no such chair", status=status))
        with pytest.raises(A2AClientError) as fault:
            await both_clients.plain_get()
        assert not isinstance(fault.value, TaskNotFoundError)
        assert "no such chair" not in str(fault.value)
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert typed.value.code == "remote.not_found"
        assert "no such chair" in typed.value.message


async def test_a_404_of_somebody_else() -> None:
    """K4: over HTTP+JSON any 404 is a method that does not exist, to the plain client (404)."""
    async with pair("HTTP+JSON") as both_clients:
        both_clients.agent.on("GetTask", (404, {"content-type": "text/html"}, b"<h1>No route</h1>"))
        with pytest.raises(MethodNotFoundError):
            await both_clients.plain_get()
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert (typed.value.code, typed.value.status) == ("remote.refused", 404)
        assert "No route" in typed.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 422, "message": "only red or blue"}},
        {"type": "about:blank", "title": "only red or blue"},
        {"detail": "only red or blue"},
    ],
    ids=["no details", "a problem document", "a framework's own"],
)
async def test_the_words_of_an_error(body: Any) -> None:
    """K4: over HTTP+JSON the plain client drops what an error says, unless it has a reason that it
    knows (error-words).
    """
    async with pair("HTTP+JSON") as both_clients:
        answer = (422, {"content-type": "application/json"}, json.dumps(body))
        both_clients.agent.on("GetTask", answer)
        with pytest.raises(A2AClientError) as fault:
            await both_clients.plain_get()
        assert "only red or blue" not in str(fault.value)
        with pytest.raises(RemoteCallError) as typed:
            await both_clients.ours.get("t1")
        assert "only red or blue" in typed.value.message


async def test_a_subscription_without_streaming() -> None:
    """K4: without streaming the plain client raises what is no error of A2A's (not-implemented)."""
    async with pair("JSONRPC", streaming=False) as both_clients:
        with pytest.raises(NotImplementedError):
            async for _ in both_clients.plain.subscribe(SubscribeToTaskRequest(id="t1")):
                pass
        with pytest.raises(RemoteCallError) as typed:
            async with aclosing(both_clients.ours.subscribe("t1")) as heard:
                await anext(heard)
        assert typed.value.code == "remote.unsupported"


# Requests


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


# Cards


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


# The page


def test_every_fault_on_the_page_is_reproduced() -> None:
    """K4: what is told upstream is shown here, each by its name, and nothing else."""
    page = set(re.findall(r"^### `([a-z0-9-]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    here = Path(__file__).parent
    shown = set()
    for path in (Path(__file__), here / "test_upstream_server.py"):
        for docstring in re.findall(
            r'"""[A-K]\d.*?"""', path.read_text(encoding="utf-8"), re.DOTALL
        ):
            named = re.search(r"\(([a-z0-9-]+)\)\.", docstring)
            shown |= {named[1]} if named else set()
    assert shown == page
