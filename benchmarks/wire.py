"""CPU per event of one stream at the client: a2a-sdk over locum's wire, against the plain client.

Both read the same bytes from one server in another process, through the same pool of connections;
runs take turns, and the medians of their ratios count (target: 1.25x).

    python benchmarks/wire.py [--events 2000] [--rounds 9]
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.client.card_resolver import parse_agent_card
from a2a.types.a2a_pb2 import SubscribeToTaskRequest

from locum.adapters.a2a.wire.pool import open_pool
from locum.adapters.a2a.wire.transport import CALL, CallNotes, WireClient, WireTransport

TARGET = 1.25
MESSAGE = {
    "messageId": "m1",
    "role": "ROLE_AGENT",
    "parts": [{"text": "Counting the chairs. " * 4}],
}
TIME = "2026-01-02T03:04:05.678901Z"
KINDS: dict[str, dict[str, Any]] = {
    "status": {
        "statusUpdate": {
            "taskId": "t1",
            "contextId": "c1",
            "status": {"state": "TASK_STATE_WORKING", "message": MESSAGE, "timestamp": TIME},
        }
    },
    "chunk": {
        "artifactUpdate": {
            "taskId": "t1",
            "contextId": "c1",
            "append": True,
            "artifact": {"artifactId": "a1", "parts": [{"text": "some words of a result, "}]},
        }
    },
    "data": {
        "artifactUpdate": {
            "taskId": "t1",
            "contextId": "c1",
            "artifact": {
                "artifactId": "a1",
                "parts": [{"data": {"rows": [{"id": i, "name": f"n{i}"} for i in range(20)]}}],
            },
        }
    },
}


async def _serve(pipe: Connection, bodies: dict[str, bytes]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").lower().split("\r\n")
                size = next((x for x in lines if x.startswith("content-length:")), ":0")
                await reader.readexactly(int(size.partition(":")[2]))
                body = bodies[head.split(b" ")[1].decode().strip("/").split("/")[0]]
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                    b"transfer-encoding: chunked\r\n\r\n"
                )
                for event in body.split(b"\n\n")[:-1]:
                    chunk = event + b"\n\n"
                    writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _server(pipe: Connection, bodies: dict[str, bytes]) -> None:
    asyncio.run(_serve(pipe, bodies))


def _bodies(binding: str, events: int) -> dict[str, bytes]:
    def event(result: dict[str, Any]) -> bytes:
        rpc = {"jsonrpc": "2.0", "id": "1", "result": result}
        return b"data: " + json.dumps(rpc if binding == "JSONRPC" else result).encode() + b"\n\n"

    return {kind: event(result) * events for kind, result in KINDS.items()}


@asynccontextmanager
async def _client(http: httpx.AsyncClient, url: str, binding: str) -> Any:
    interface = {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}
    card = {
        "name": "b",
        "description": "b",
        "version": "1",
        "supportedInterfaces": [interface],
        "capabilities": {"streaming": True},
    }
    config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])
    async with http:
        yield await create_client(parse_agent_card(card), config)


async def _cpu_per_event(client: Client, events: int, *, wired: bool) -> float:
    """Microseconds of this process's CPU per event of one stream."""
    CALL.set(CallNotes("SubscribeToTask", streaming=True, task_id="t1") if wired else None)
    begun = time.process_time()
    count = 0
    async for _ in client.subscribe(SubscribeToTaskRequest(id="t1")):
        count += 1
    spent = time.process_time() - begun
    assert count == events, (count, events)
    return spent / events * 1e6


async def _compare(port: int, kind: str, binding: str, events: int, rounds: int) -> float:
    url = f"http://127.0.0.1:{port}/{kind}"
    wire = WireClient(transport=WireTransport(open_pool()), timeout=30)
    plain = httpx.AsyncClient(transport=open_pool(), timeout=30)
    async with _client(wire, url, binding) as ours, _client(plain, url, binding) as theirs:
        await _cpu_per_event(theirs, events, wired=False)
        await _cpu_per_event(ours, events, wired=True)
        pairs = [
            (
                await _cpu_per_event(theirs, events, wired=False),
                await _cpu_per_event(ours, events, wired=True),
            )
            for _ in range(rounds)
        ]
    ratio = statistics.median(ours / theirs for theirs, ours in pairs)
    floor = statistics.median(theirs for theirs, _ in pairs)
    cost = statistics.median(ours for _, ours in pairs)
    print(f"{binding:10} {kind:8} {floor:9.1f} {cost:9.1f} {ratio:7.2f}x")
    return ratio


def main() -> None:
    """Print the medians, and whether the target is met."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    print("CPU per event, microseconds; ratio of the wire to the plain client")
    print(f"{'binding':10} {'event':8} {'plain':>9} {'wire':>9} {'ratio':>8}")
    ratios = []
    spawn = multiprocessing.get_context("spawn")
    for binding in ("JSONRPC", "HTTP+JSON"):
        here, there = spawn.Pipe()
        bodies = _bodies(binding, given.events)
        server = spawn.Process(target=_server, args=(there, bodies), daemon=True)
        server.start()
        port = here.recv()
        ratios += [
            asyncio.run(_compare(port, kind, binding, given.events, given.rounds)) for kind in KINDS
        ]
        server.terminate()
        server.join()
    met = "met" if max(ratios) <= TARGET else "missed"
    print(f"worst {max(ratios):.2f}x, target {TARGET}x: {met}")


if __name__ == "__main__":
    main()
