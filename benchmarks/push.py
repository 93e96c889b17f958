"""How fast pushes are taken, beside a minimal Litestar route that only compares a token's digest.

    python -m benchmarks.push [--rounds 5] [--pushes 4000] [--callers 32]

Both run in processes of their own on the same uvicorn; the load comes from here. What an agent is
asked because of a push is held back here (`GetTask` does not answer), so that the door is measured
and not the agent: the push is authenticated, read, compared with the linked task and wakes its
stand-in. Only the ratios of one run mean anything: the target is 0.6 of the minimal route's rate.
"""

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import json
import multiprocessing
import socket
import statistics
import time
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from typing import Any

import httpx
import psutil
import uvicorn
from litestar import Litestar, Request, post
from litestar.exceptions import NotAuthorizedException
from litestar.params import FromPath
from tests.agents.frames import EOF, EV, S, T
from tests.agents.raw import RawAgent

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import LimitSettings, Settings
from locum.adapters.web.guarded_http import guarded_http

TARGET = 0.6
TOKEN = "t" * 43
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()


@post("/a2a/push/{sub_task_id:str}", status_code=204)
async def minimal(sub_task_id: FromPath[str], request: Request[Any, Any, Any]) -> None:
    token = request.headers.get("x-a2a-notification-token", "")
    await request.body()
    if not hmac.compare_digest(hashlib.sha256(token.encode()).hexdigest(), DIGEST):
        raise NotAuthorizedException


async def _serve(
    app: Any, listening: socket.socket, pipe: Connection, limits: LimitSettings
) -> None:
    config = uvicorn.Config(
        app,
        http=guarded_http(limits),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    # Connections queue at the socket until uvicorn takes them.
    pipe.send(listening.getsockname()[1])
    await asyncio.to_thread(pipe.recv)
    server.should_exit = True
    await task


def run_minimal(pipe: Connection) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        asyncio.run(
            _serve(Litestar([minimal], logging_config=None), listening, pipe, LimitSettings())
        )


def run_locum(pipe: Connection, agent_url: str) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            settings = Settings.from_mapping(
                {
                    "server": {"base_url": url},
                    "store": {"url": "sqlite:///:memory:"},
                    "agents": [{"id": "raw", "url": agent_url}],
                }
            )
            async with Harness(settings) as harness:
                await _serve(harness.asgi_app(), listening, pipe, settings.limits)

    asyncio.run(main())


@contextlib.asynccontextmanager
async def server(target: Any, *args: Any) -> AsyncIterator[tuple[int, psutil.Process]]:
    """The port of a server in a process of its own, and the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *args), daemon=True)
    process.start()
    try:
        port: int = await asyncio.to_thread(ours.recv)
        yield port, psutil.Process(process.pid)
    finally:
        ours.send("end")
        await asyncio.to_thread(process.join, 10)


async def caller(port: int, request: bytes, count: int, waits: list[float]) -> None:
    """Post `request` so many times on one connection; how long each took is added to `waits`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        waits.append(time.perf_counter() - began)
        assert head.startswith(b"HTTP/1.1 204"), head
    writer.close()
    await writer.wait_closed()


async def load(
    served: tuple[int, psutil.Process], requests: list[bytes], pushes: int
) -> tuple[float, float]:
    """Pushes per second, a connection for each of `requests`, and the server's CPU for each in s."""
    port, process = served
    waits: list[float] = []
    each = pushes // len(requests)
    before, began = process.cpu_times(), time.perf_counter()
    await asyncio.gather(*(caller(port, request, each, waits) for request in requests))
    elapsed, after = time.perf_counter() - began, process.cpu_times()
    spent = after.user + after.system - before.user - before.system
    print(
        f"  {len(waits) / elapsed:7.0f}/s, {spent / len(waits) * 1e6:4.0f} us of CPU, "
        f"p50 {_part(waits, 50):5.2f} ms, p99 {_part(waits, 99):5.2f} ms"
    )
    return len(waits) / elapsed, spent / len(waits)


def _part(waits: list[float], percent: int) -> float:
    return sorted(waits)[len(waits) * percent // 100] * 1e3


def request_for(sub_task_id: str, token: str) -> bytes:
    body = json.dumps(S("INPUT_REQUIRED", "Which of them do you mean?").wrapped()).encode()
    return (
        f"POST /a2a/push/{sub_task_id} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-a2a-notification-token: {token}\r\nauthorization: Bearer {token}\r\n\r\n"
    ).encode() + body


async def parked(agent: RawAgent, port: int, count: int) -> list[bytes]:
    """So many sub-tasks that wait for a push, and the push for each."""
    asks = T("INPUT_REQUIRED", "Which of them do you mean?")
    agent.task = asks
    agent.on("SendStreamingMessage", [EV(asks), EOF])
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for _ in range(count):
            answer = await http.post(
                "/v1/parents/p/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
            )
            assert answer.json()["state"] == "INPUT_REQUIRED", answer.text
    await agent.seen("CreateTaskPushNotificationConfig", count, timeout=30)
    await agent.seen("GetTask", count, timeout=30)
    await agent.all_closed(timeout=30)
    return [
        request_for(str(config["url"]).rpartition("/")[2], str(config["token"]))
        for config in agent.push_configs[-count:]
    ]


async def main(rounds: int, pushes: int, callers: int) -> None:
    async with (
        RawAgent(keep_alive=True) as agent,
        server(run_minimal) as plain,
        server(run_locum, agent.url) as locum,
    ):
        requests = await parked(agent, locum[0], callers)
        agent.on("GetTask", [asyncio.Event()])
        bare = [request_for("st-0", TOKEN)] * callers
        rates, costs = [], []
        for number in range(rounds + 1):
            print("warming up" if number == 0 else f"round {number}: minimal, then locum")
            base, base_cpu = await load(plain, bare, pushes)
            ours, our_cpu = await load(locum, requests, pushes)
            rates.append(ours / base)
            costs.append(base_cpu / our_cpu)
    print(f"rate: {statistics.median(rates[1:]):.2f}x (target {TARGET}x or more)")
    print(f"by CPU: {statistics.median(costs[1:]):.2f}x, which a busy machine blurs less")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pushes", type=int, default=4000)
    parser.add_argument("--callers", type=int, default=32)
    options = parser.parse_args()
    asyncio.run(main(options.rounds, options.pushes, options.callers))
