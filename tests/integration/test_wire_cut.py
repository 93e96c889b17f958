"""Packed answers that are cut off before their end: nothing of them is passed off as whole."""

import gzip

import pytest
from a2a.types.a2a_pb2 import StreamResponse, SubscribeToTaskRequest

from locum.core.errors import RemoteCallError

from ..agents.frames import EV, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.sdk import send_request, states
from ..agents.seen import Seen
from .wired import Wired, call, wired

GZIP = {"content-encoding": "gzip"}
TRAILER = 8
"""Bytes at the end of a gzip member: with these alone missing, all that it holds can be read."""


def cut_off(body: bytes) -> bytes:
    """The body, packed, without its end."""
    return gzip.compress(body)[:-TRAILER]


async def heard(peer: Wired) -> tuple[list[str], RemoteCallError | None]:
    """The states that a subscription brings, and the error that it ends in."""
    came: list[StreamResponse] = []
    try:
        async for one in peer.listen(SubscribeToTaskRequest(id="t1")):
            came.append(one)  # noqa: PERF401 - what came before the error counts
    except RemoteCallError as error:
        return states(came), error
    return states(came), None


async def test_an_answer_that_is_cut_off_is_in_doubt() -> None:
    """K4: a packed answer without its end is one that was cut; the send may have been acted on.

    A call that only reads may go out again.
    """

    async def send(seen: Seen, reply: Reply) -> None:
        body = b'{"jsonrpc": "2.0", "id": 1, "result": {"task": {"id": "t1"}}}'
        await reply.respond(200, GZIP | {"content-type": "application/json"}, cut_off(body))

    async def get(seen: Seen, reply: Reply) -> None:
        body = b'{"jsonrpc": "2.0", "id": 1, "result": {"id": "t1"}}'
        await reply.respond(200, GZIP | {"content-type": "application/json"}, cut_off(body))

    async with RawAgent() as agent, wired(agent, streaming=False) as peer:
        agent.on("SendMessage", send)
        agent.on("GetTask", get)
        with (
            pytest.raises(RemoteCallError, match="cut off before its end") as sent,
            call("SendMessage"),
        ):
            [one async for one in peer.client.send_message(send_request("go"))]
        assert (sent.value.code, sent.value.kind) == ("remote.reset", "in_doubt")
        with pytest.raises(RemoteCallError, match="cut off before its end") as got:
            await peer.get()
        assert (got.value.code, got.value.kind) == ("remote.reset", "transient")


async def test_an_error_that_is_cut_off_keeps_its_status() -> None:
    """K4: of an error answer the status counts, however little of its words came."""

    async def busy(seen: Seen, reply: Reply) -> None:
        await reply.respond(503, GZIP | {"retry-after": "7"}, cut_off(b"come back later"))

    async with RawAgent() as agent, wired(agent) as peer:
        agent.on("GetTask", busy)
        with pytest.raises(RemoteCallError) as got:
            await peer.get()
        assert (got.value.code, got.value.status, got.value.retry_after) == ("remote.busy", 503, 7)


@pytest.mark.parametrize("is_over", [False, True], ids=["working", "ended"])
async def test_a_stream_that_is_cut_off(is_over: bool) -> None:
    """K4, K5: a packed stream without its end is a cut stream, unless its last event ended it."""
    told = ["WORKING", "COMPLETED"] if is_over else ["WORKING"]

    async def stream(seen: Seen, reply: Reply) -> None:
        await reply.sse(headers=GZIP)
        events = b"".join(reply.event_bytes(EV(T(one))) for one in told)
        await reply.send(cut_off(events))

    async with RawAgent() as agent, wired(agent) as peer:
        agent.on("SubscribeToTask", stream)
        came, error = await heard(peer)
        assert came == told
        if is_over:
            assert error is None
        else:
            assert error is not None
            assert (error.code, error.kind) == ("remote.reset", "transient")
            assert "cut off before its end" in error.message
