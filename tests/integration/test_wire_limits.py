"""No agent makes locum grow or wait without a bound, and none starves another (J3, J4)."""

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest
from a2a.client.client import ClientCallContext
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    SubscribeToTaskRequest,
)

from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.transport import WireLimits
from locum.core.errors import RemoteCallError

from ..agents.frames import COMMENT, EOF, EV, HOLD, A, Binding, S, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.sdk import send_request, states
from ..agents.seen import Seen
from .wired import call, http_over_wire, wired

KB = 1 << 10
MB = 1 << 20
SMALL = WireLimits(
    event_limit=64 * KB,
    card_limit=16 * KB,
    error_limit=8 * KB,
    header_limit=4 * KB,
    header_count=50,
    call_time=0.5,
)
BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


async def refused(awaited: Any, code: str) -> RemoteCallError:
    """The error of just this code that the call raises."""
    with pytest.raises(RemoteCallError) as raised:
        await awaited
    assert raised.value.code == code
    return raised.value


def packed(body: bytes, encoding: str) -> bytes:
    """The body, compressed."""
    match encoding:
        case "gzip":
            return gzip.compress(body)
        case "deflate":
            return zlib.compress(body)
        case _:
            raw = zlib.compressobj(wbits=-15)
            return raw.compress(body) + raw.flush()


def task_body(binding: Binding) -> bytes:
    """A GetTask answer."""
    task = T("WORKING", ts=None)
    body = {"jsonrpc": "2.0", "id": 1, "result": task} if binding == "JSONRPC" else task
    return json.dumps(body).encode()


async def endlessly(reply: Reply, piece: bytes) -> None:
    """Say the same until the client hangs up."""
    while True:
        await reply.send(piece)
        await asyncio.sleep(0)


@pytest.mark.parametrize("size,heard", [(200 * KB, True), (4 * MB, True), (64 * MB, False)])
async def test_events_of_every_size(binding: Binding, size: int, heard: bool) -> None:
    """J3, case S7: 200 KB and 4 MB are read; 64 MB is refused with a code and the stream closed."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.event(T("WORKING"))
        event = reply.event_bytes(EV(A("a", "TEXT")))
        head, _, tail = event.partition(b"TEXT")
        await reply.send(head)
        for _ in range(size // (64 * KB)):
            await reply.send(b"x" * (64 * KB))
        await reply.send(tail)

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        if heard:
            _, artifact = await peer.send()
            text = artifact.artifact_update.artifact.parts[0].text
            assert len(text) == size // (64 * KB) * 64 * KB
        else:
            error = await refused(peer.send(), "remote.too_large")
            assert error.kind == "in_doubt"
            await agent.all_closed()


@pytest.mark.parametrize(
    "piece", [b"x" * 999, b": comment" * 99, b"data: x\n" * 99, b"data\n" * 99, b" " * 999]
)
async def test_endless_lines_and_events(binding: Binding, piece: bytes) -> None:
    """J3: an endless line, comment, event, or nothing that is any of them."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.sse()
        await endlessly(reply, piece)

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("SubscribeToTask", answer)
        await refused(peer.subscribe(), "remote.too_large")
        await agent.all_closed()


@pytest.mark.parametrize("declared", [True, False])
async def test_a_huge_answer(binding: Binding, declared: bool) -> None:
    """J3: a JSON answer over the limit, with its length declared or not."""

    async def answer(seen: Seen, reply: Reply) -> None:
        if declared:
            await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n{")
            await reply.hold()
        await reply.sse(content_type="application/json")
        await endlessly(reply, b'{"a":' * 999)

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", answer)
        await refused(peer.get(), "remote.too_large")
        await agent.all_closed()
        agent.on("SendStreamingMessage", answer)
        # On a stream the declared length is not looked at, and the silence after `{` has its time.
        await refused(peer.send(), "remote.timeout" if declared else "remote.too_large")
        await agent.all_closed()


async def test_a_huge_error_is_cut_not_refused(binding: Binding) -> None:
    """J3, case S8: an endless error page is still a busy agent; its first words are kept."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.sse(status=503, content_type="text/html")
        await endlessly(reply, b"<p>Come back later</p>" * 99)

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", answer)
        agent.on("SubscribeToTask", answer)
        for asked in (peer.get(), peer.subscribe()):
            error = await refused(asked, "remote.busy")
            assert "Come back later" in str(error)
        await agent.all_closed()


async def test_a_huge_card() -> None:
    """J3, A4: a card has a limit of its own."""
    async with RawAgent() as agent, http_over_wire(limits=SMALL) as http:
        agent.card["description"] = "x" * (20 * KB)
        with pytest.raises(RemoteCallError) as raised, call("AgentCard"):
            await http.get(f"{agent.url}/.well-known/agent-card.json")
        assert raised.value.code == "remote.too_large"


@pytest.mark.parametrize(
    "head", [b"x-long: " + b"y" * 9000, b"x-long: " + b"y" * 900_000, b"a: b\r\n" * 99]
)
async def test_huge_heads(binding: Binding, head: bytes) -> None:
    """J3: a header without an end, and headers without number."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\n" + head + b"\r\ncontent-length: 0\r\n\r\n")

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", answer)
        error = await refused(peer.get(), "remote.too_large")
        assert error.kind == "in_doubt"


async def test_a_drip_is_over_in_time(binding: Binding) -> None:
    """J3: a byte now and then keeps no call alive beyond its total time."""

    async def drip(seen: Seen, reply: Reply) -> None:
        await reply.sse(content_type="application/json")
        await reply.send(b"{")
        while True:
            await reply.send(b" ")
            await asyncio.sleep(0.02)

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        for method in ("GetTask", "SendStreamingMessage"):
            agent.on(method, drip)
        error = await refused(peer.get(), "remote.timeout")
        assert error.kind == "transient"
        error = await refused(peer.send(), "remote.timeout")
        assert error.kind == "in_doubt"
        await agent.all_closed()


async def test_silence_is_over_in_time(binding: Binding) -> None:
    """J3: an agent that takes a call and says nothing."""
    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", HOLD)
        await refused(peer.get(), "remote.timeout")
        await agent.all_closed()
    limits = WireLimits(stream_first=0.2)
    async with RawAgent(binding) as agent, wired(agent, limits=limits) as peer:
        agent.on("SendStreamingMessage", HOLD)
        error = await refused(peer.send(), "remote.timeout")
        assert error.kind == "in_doubt"
        await agent.all_closed()


async def test_a_call_may_have_its_own_time(binding: Binding) -> None:
    """J3: the timeout in the SDK's call context counts instead of the general one, either way."""

    async def late(seen: Seen, reply: Reply) -> None:
        await asyncio.sleep(0.7)
        await reply.json(T("WORKING"))

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", late)
        with call("GetTask", task_id="t1"):
            context = ClientCallContext(timeout=30)
            task = await peer.client.get_task(GetTaskRequest(id="t1"), context=context)
            assert task.id == "t1"
        context = ClientCallContext(timeout=0.1)
        with pytest.raises(RemoteCallError) as raised, call("GetTask", task_id="t1"):
            await peer.client.get_task(GetTaskRequest(id="t1"), context=context)
        assert raised.value.code == "remote.timeout"


# Compression


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_compressed_answers_are_read(binding: Binding, encoding: str) -> None:
    """J3: some gateways compress although nobody asked; that is an anomaly, and read."""

    async def get(seen: Seen, reply: Reply) -> None:
        header = {"content-encoding": encoding.rpartition(" ")[2]}
        await reply.respond(200, header, packed(task_body(binding), encoding))

    async def stream(seen: Seen, reply: Reply) -> None:
        await reply.sse(headers={"content-encoding": encoding.rpartition(" ")[2]})
        events = b"".join(reply.event_bytes(EV(x)) for x in (T("WORKING"), S("COMPLETED")))
        await reply.drip(packed(events, encoding), size=7)

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", get)
        agent.on("SendStreamingMessage", stream)
        assert (await peer.get()).id == "t1"
        assert peer.notes.anomalies == ["http.content_encoding"]
        assert states(await peer.send()) == ["WORKING", "COMPLETED"]
        assert peer.notes.anomalies == ["http.content_encoding"]


async def test_compressed_bombs_are_refused(binding: Binding) -> None:
    """J3: 64 MB in 64 KB are given up at the limit, in an answer and on a stream."""
    bomb = gzip.compress(b"data: " + b"x" * (64 * MB))

    async def get(seen: Seen, reply: Reply) -> None:
        await reply.respond(200, {"content-encoding": "gzip"}, bomb)

    async def stream(seen: Seen, reply: Reply) -> None:
        await reply.sse(headers={"content-encoding": "gzip"})
        await reply.send(bomb)
        await reply.hold()

    async with RawAgent(binding) as agent, wired(agent, limits=SMALL) as peer:
        agent.on("GetTask", get)
        agent.on("SubscribeToTask", stream)
        await refused(peer.get(), "remote.too_large")
        await refused(peer.subscribe(), "remote.too_large")
        await agent.all_closed()


@pytest.mark.parametrize("header,body", [("br", b"x"), ("gzip", b"no gzip"), ("gzip, br", b"x")])
async def test_what_cannot_be_unpacked(binding: Binding, header: str, body: bytes) -> None:
    """K4: a packing that was not asked for and is not known is a malformed answer."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("GetTask", [(200, {"content-encoding": header}, body.decode())])
        agent.on("SubscribeToTask", [(200, {"content-encoding": header}, body.decode())])
        await refused(peer.get(), "remote.malformed")
        await refused(peer.subscribe(), "remote.malformed")


# Budgets


async def test_held_streams_do_not_starve_calls(binding: Binding) -> None:
    """J4: with every stream's place taken, calls and sends go on; another stream waits its turn."""
    budget = Budget(max_calls=1, max_streams=2)
    limits = WireLimits(queue_time=0.1)
    async with RawAgent(binding) as agent, wired(agent, budget=budget, limits=limits) as peer:
        agent.on("SubscribeToTask", [EV(T("WORKING")), HOLD])
        held = [peer.client.subscribe(SubscribeToTaskRequest(id="t1")) for _ in range(2)]
        for stream in held:
            with call("SubscribeToTask", task_id="t1"):
                await anext(stream)
        assert (await peer.get()).id == "t1"
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        assert states(await peer.send()) == ["WORKING"]
        error = await refused(peer.subscribe(), "remote.busy")
        assert error.kind == "transient"
        assert not peer.notes.sent
        await held[0].aclose()
        await agent.until(lambda: agent.open_exchanges == 1)
        agent.on("SubscribeToTask", [EV(T("WORKING")), EOF])
        assert states(await peer.subscribe()) == ["WORKING"]
        await held[1].aclose()


async def test_calls_take_turns(binding: Binding) -> None:
    """J4: no more calls than allowed are under way; the others wait, and all are answered."""
    most = 0

    async def answer(seen: Seen, reply: Reply) -> None:
        nonlocal most
        most = max(most, agent.open_exchanges)
        if len(agent.calls("GetTask")) <= 3:
            await agent.until(lambda: agent.open_exchanges >= 3)
        await reply.json(T("WORKING"))

    async with RawAgent(binding) as agent, wired(agent, budget=Budget(max_calls=3)) as peer:
        agent.on("GetTask", answer)

        async def ask() -> None:
            with call("GetTask", task_id="t1"):
                await peer.client.get_task(GetTaskRequest(id="t1"))

        await asyncio.gather(*(ask() for _ in range(20)))
        assert most == 3


async def test_a_full_queue_is_no_doubt(binding: Binding) -> None:
    """J4, C7: a call that never got its turn was not sent."""
    budget = Budget(max_calls=1)
    async with RawAgent(binding) as agent, wired(agent, budget=budget, limits=SMALL) as peer:
        agent.on("GetTask", HOLD, T("WORKING"))
        first = asyncio.create_task(peer.get())
        await agent.seen("GetTask")
        context = ClientCallContext(timeout=0.1)
        request = DeleteTaskPushNotificationConfigRequest(task_id="t1", id="c1")
        method = "DeleteTaskPushNotificationConfig"
        with (
            pytest.raises(RemoteCallError) as raised,
            call(method, task_id="t1", config_id="c1") as notes,
        ):
            await peer.client.delete_task_push_notification_config(request, context=context)
        assert (raised.value.code, raised.value.kind) == ("remote.busy", "transient")
        assert not notes.sent
        await refused(first, "remote.timeout")
        assert (await peer.get()).id == "t1"


@pytest.mark.parametrize("ending", ["eof", "over", "error", "refused", "left"])
async def test_every_ending_gives_the_place_back(binding: Binding, ending: str) -> None:
    """J4: however a stream ends, its place is free again."""
    script: dict[str, Any] = {
        "eof": [EV(T("WORKING")), EOF],
        "over": [EV(T("COMPLETED")), HOLD],
        "error": [EV("no", name="error"), HOLD],
        "refused": [(503, {}, "")],
        "left": [EV(T("WORKING")), COMMENT(), HOLD],
    }
    limits = WireLimits(queue_time=0.5)
    budget = Budget(max_streams=1, max_calls=1)
    async with RawAgent(binding) as agent, wired(agent, budget=budget, limits=limits) as peer:
        agent.on("SubscribeToTask", script[ending])
        agent.on("SendStreamingMessage", script[ending])
        for request in (send_request("go"), SubscribeToTaskRequest(id="t1")):
            for _ in range(3):
                stream = peer.listen(request)
                codes = []
                try:
                    async for _one in stream:
                        if ending == "left":
                            break
                except RemoteCallError as error:
                    codes.append(error.status)
                await stream.aclose()
                await peer.notes.hang_up()
                # A stream that had to wait for its place would have failed without a status.
                assert codes in ([], [200], [503])
        await agent.all_closed()
