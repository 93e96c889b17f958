"""The application as a whole: its schema, its lifespan, and being mounted in another one (J1, F4)."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from locum.adapters.bootstrap import Harness
from locum.adapters.settings import Settings
from locum.adapters.web import shapes
from locum.adapters.web.app import build_app

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
    return Settings.from_mapping(
        {"store": {"url": "sqlite:///:memory:"}, "server": {"base_url": url}, **more}
    )


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
