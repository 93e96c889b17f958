"""docs/upstream.md, streams: what a2a-sdk's plain client gets wrong, and locum's beside it.

When one of these fails for the plain client's part, a new SDK has mended it: strike it from the page.
Each docstring ends in the fault's name there.
"""

import asyncio
import contextlib
import gc
import json
import sys
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from a2a.client import create_client
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from google.protobuf.json_format import ParseError

from locum.adapters.a2a.calls.remote_agent import AgentClient

from ..agents.frames import EOF, EV, HOLD, M, S, T
from ..agents.raw import RawAgent
from ..agents.sdk import send_request
from .clients import brief, client_of
from .paired import SEND, both, pair


def _event(binding: Any, frame: Any) -> bytes:
    """A frame in one event, in UTF-8 and not in escapes."""
    value = {"jsonrpc": "2.0", "id": 1, "result": frame.wrapped()}
    value = value if binding == "JSONRPC" else frame.wrapped()
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


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
