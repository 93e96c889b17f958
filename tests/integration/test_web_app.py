"""The application as a whole: its schema, its lifespan, and being mounted in another one (J1, F4)."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from starlette.applications import Starlette
from starlette.routing import Mount

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import Settings
from locum.adapters.web import shapes
from locum.adapters.web.app import build_app
from locum.adapters.web.feed import EventStream
from locum.projections import Notification

from ..agents.frames import EOF, EV, A, T, data_part
from ..agents.raw import RawAgent
from .front import front, served

API = [
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/v1/agents"),
    ("get", "/v1/roster"),
    ("post", "/v1/parents/{parent_id}/sub-tasks"),
    ("get", "/v1/parents/{parent_id}/sub-tasks"),
    ("get", "/v1/sub-tasks/{sub_task_id}"),
    ("post", "/v1/sub-tasks/{sub_task_id}/reply"),
    ("post", "/v1/sub-tasks/{sub_task_id}/cancel"),
    ("get", "/v1/sub-tasks/{sub_task_id}/events"),
    ("get", "/v1/parents/{parent_id}/notifications"),
    ("get", "/v1/parents/{parent_id}/notifications/stream"),
    ("post", "/v1/parents/{parent_id}/complete"),
    ("post", "/v1/parents/{parent_id}/cancel"),
    ("post", "/a2a/push/{sub_task_id}"),
]


async def test_the_schema_has_every_route() -> None:
    """API: `/schema` is OpenAPI 3.1, made from the routes; each says its problems and its token."""
    async with front() as face:
        answer = await face.http.get("/schema")
        assert answer.status_code == 200
        schema = answer.json()
        assert schema["openapi"].startswith("3.1")
        assert schema["info"]["title"] == "locum"
        assert schema["info"]["version"]
        found = {(verb, path) for path, verbs in schema["paths"].items() for verb in verbs}
        assert set(API) <= found
        assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
        assert schema["security"] == [{"bearer": []}]
        for verb, path in API:
            operation = schema["paths"][path][verb]
            is_open = path in ("/healthz", "/readyz", "/a2a/push/{sub_task_id}")
            assert (operation.get("security") == [{}]) is is_open
            problems = [
                said for status, said in operation["responses"].items() if int(status) >= 400
            ]
            assert problems or path == "/healthz"
            for said in problems:
                content = said["content"]["application/problem+json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        problem = schema["components"]["schemas"]["Problem"]
        assert {"type", "title", "status", "detail", "code"} == set(problem["properties"])


async def test_the_schema_tells_the_truth() -> None:
    """API: what the routes answer has the shapes that the schema says, no field more or less."""
    parts = [{"text": "nine"}, data_part({"n": 9})]
    async with RawAgent(keep_alive=True) as agent:
        done = T("COMPLETED", artifacts=[{"artifactId": "a", "parts": parts}])
        agent.task = done
        agent.on("SendStreamingMessage", [EV(done), EOF])
        async with front({"agents": [{"id": "raw", "url": agent.url}]}) as face:
            spawned = await face.http.post(
                "/v1/parents/p/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
            )
            one = f"/v1/sub-tasks/{spawned.json()['id']}"
            for path, shape in [
                ("/v1/agents", shapes.AgentList),
                ("/v1/parents/p/sub-tasks", shapes.RowList),
                (one, shapes.Row),
                (f"{one}/events", shapes.EventList),
                ("/v1/parents/p/notifications", shapes.NotificationPage),
                ("/healthz", shapes.Status),
            ]:
                said = (await face.http.get(path)).json()
                assert _same(msgspec.to_builtins(msgspec.convert(said, shape)), said), path


def _same(shaped: Any, said: Any) -> bool:
    """True when both have the same fields, in all of their depth."""
    match shaped, said:
        case dict(), dict():
            return set(shaped) == set(said) and all(_same(shaped[k], said[k]) for k in said)
        case list(), list():
            return len(shaped) == len(said) and all(map(_same, shaped, said))
        case _:
            return bool(shaped == said)


def _settings(url: str, **more: Any) -> Settings:
    tables = {"store": {"url": "sqlite:///:memory:"}, "server": {"base_url": url}}
    return Settings.from_mapping(tables | more)


@contextlib.asynccontextmanager
async def alone(app: Any, listening: socket.socket) -> AsyncIterator[uvicorn.Server]:
    """Serve `app` as somebody else's uvicorn does, lifespan and all."""
    config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not (server.started or task.done()):
            await asyncio.sleep(0.005)
        yield server
    finally:
        server.should_exit = True
        await task


async def test_served_by_itself_it_opens_the_harness() -> None:
    """F4: the application's lifespan opens a harness that nobody has opened, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        harness = Harness(_settings(url))
        async with alone(harness.asgi_app(), listening):
            assert harness.is_open
            async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
                assert (await http.get("/readyz")).status_code == 200
                assert (await http.get("/v1/agents")).json() == {"agents": []}
        assert not harness.is_open


async def test_a_harness_that_is_open_stays_open() -> None:
    """F4: the lifespan does not close what it has not opened."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with Harness(_settings(url)) as harness:
            async with alone(harness.asgi_app(), listening):
                pass
            assert harness.is_open
            assert harness.agents() == []


async def test_mounted_it_needs_an_open_harness() -> None:
    """J2: mounted, and not entered, it says what is missing; health answers all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        harness = Harness(_settings(f"{url}/below"))
        outer = Starlette(routes=[Mount("/below", app=build_app(harness))])
        async with (
            served(outer, listening),
            httpx.AsyncClient(base_url=f"{url}/below", trust_env=False) as http,
        ):
            answer = await http.get("/v1/agents")
            assert (answer.status_code, answer.json()["code"]) == (503, "server.not_open")
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).status_code == 503
            async with harness:
                assert (await http.get("/readyz")).status_code == 200
                assert (await http.get("/v1/agents")).json() == {"agents": []}
                slashed = await http.get("/v1/parents/a%2Fb/sub-tasks")
                assert slashed.json() == {"sub_tasks": []}
                unknown = await http.get("/v1/nothing")
                assert unknown.json()["code"] == "request.not_found"


async def test_a_mount_point_does_not_open_the_door() -> None:
    """J1: a path that repeats the mount's prefix is judged by what it leads to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        tables = {"server": {"base_url": f"{url}/below", "api_token": "t0ken"}}
        settings = Settings.from_mapping({"store": {"url": "sqlite:///:memory:"}, **tables})
        async with Harness(settings) as harness:
            outer = Starlette(routes=[Mount("/below", app=harness.asgi_app())])
            async with (
                served(outer, listening),
                httpx.AsyncClient(base_url=url, trust_env=False) as http,
            ):
                for path in (
                    "/below/v1/agents",
                    "/below/a2a/push/below/v1/agents",
                    "/below/healthz/below/v1/agents",
                    "/below/below/v1/agents",
                ):
                    answer = await http.get(path)
                    assert answer.status_code in (401, 404)
                    assert "agents" not in answer.text


async def test_a_push_comes_through_a_mount() -> None:
    """D2: with a path in `server.base_url` the push route is below it, and heard there."""
    async with RawAgent(keep_alive=True) as agent:
        agent.task = T("INPUT_REQUIRED", "Which?")
        agent.on("SendStreamingMessage", [EV(agent.task), EOF])
        with socket.create_server(("127.0.0.1", 0)) as listening:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/below"
            settings = _settings(url, agents=[{"id": "raw", "url": agent.url}])
            async with Harness(settings) as harness:
                outer = Starlette(routes=[Mount("/below", app=harness.asgi_app())])
                async with served(outer, listening):
                    row = await harness.spawn("p", agent="raw", goal="g", actor="planner")
                    await agent.seen("CreateTaskPushNotificationConfig")
                    assert agent.push_configs[-1]["url"].startswith(f"{url}/a2a/push/")
                    agent.task = T("COMPLETED", artifacts=[A("a", "red")])
                    assert (await agent.push()).status == 204
                    async with asyncio.timeout(10):
                        while (await harness.sub_task(row.id)).state != "COMPLETED":
                            await asyncio.sleep(0.01)


async def test_a_failure_of_ours_is_told_to_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    """J2: an error that should not be is a bare 500; its trace is in the log and nowhere else."""

    class Broken(Harness):
        def roster(self) -> str:
            raise RuntimeError("the password is hunter2")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            Broken(_settings(url)) as harness,
            served(harness.asgi_app(), listening),
            httpx.AsyncClient(base_url=url, trust_env=False) as http,
        ):
            answer = await http.get("/v1/roster")
    assert (answer.status_code, answer.json()["code"]) == (500, "server.internal")
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    [record] = [one for one in caplog.records if one.name == "locum.web"]
    assert record.exc_info is not None


async def test_a_start_that_fails_is_told_to_the_server(tmp_path: Path) -> None:
    """J2: when the harness cannot be opened, the server is told why, and does not start."""
    url = "http://127.0.0.1:8420"
    store = {"url": f"sqlite:///{tmp_path}/there/is/no/such/folder.db"}
    told: list[dict[str, Any]] = []
    app = Harness(_settings(url, store=store)).asgi_app()

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    await app({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in told] == ["lifespan.startup.failed"]
    assert "folder.db" in told[0]["message"]


@pytest.mark.parametrize("path", ["/v1/parents/p/sub-tasks", "/a2a/push/s", "/a2a"])
async def test_a_client_that_hangs_up_halfway(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """J2: a client that goes away while it sends is no failure, and nothing is logged of it."""
    async with front({"card": {"name": "Foreman", "description": "x"}}, executor=Idle()) as face:
        host, port = face.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        before = asyncio.all_tasks()
        head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 100\r\n\r\n{{"
        writer.write(head.encode())
        await writer.drain()
        async with asyncio.timeout(5):
            while not asyncio.all_tasks() - before:
                await asyncio.sleep(0.005)
            writer.close()
            await writer.wait_closed()
            while asyncio.all_tasks() - before:
                await asyncio.sleep(0.005)
        assert (await face.http.get("/healthz")).status_code == 200
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_feed_that_breaks_ends() -> None:
    """E3: when the feed behind a stream fails, the stream ends, and the client can come again."""

    async def broken() -> AsyncGenerator[Notification, None]:
        raise RuntimeError("no more")
        yield

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await EventStream(broken(), stopping=asyncio.Event())(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with served(app, listening), httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(url)
    assert (answer.status_code, answer.text) == (200, ": connected\n\n")


class Idle(AgentExecutor):
    """Does nothing."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None: ...

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None: ...
