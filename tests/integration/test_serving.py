"""`locum serve` as a process: what only a process adds to the API that is tested in one."""

import asyncio
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.frames import HOLD, T
from tests.agents.process import lawful_agent
from tests.agents.raw import RawAgent
from tests.crash.process import config_text

from .support import QUICK
from .terminal import PATIENCE, Said, ended, started

pytestmark = pytest.mark.timeout(120)

LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR) [a-z0-9_.]+: \S"
)


def _config(folder: Path, **sections: Any) -> str:
    config = folder / "locum.toml"
    server = {"port": 0} | sections.pop("server", {})
    store = {"url": f"sqlite:///{folder / 'locum.db'}"}
    config.write_text(config_text({"server": server, "store": store, "standin": QUICK, **sections}))
    return str(config)


class Served:
    """A server that runs, and a client of it."""

    def __init__(self, process: asyncio.subprocess.Process, http: httpx.AsyncClient) -> None:
        self.process = process
        self.http = http

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> Said:
        """End it in order; what it has logged."""
        self.process.send_signal(sign)
        return await ended(self.process)


@asynccontextmanager
async def _serving(*arguments: str, cwd: Path | None = None) -> AsyncIterator[Served]:
    async with started("serve", "--json", *arguments, cwd=cwd) as process:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await process.stdout.readline()
        if not line:
            raise AssertionError((await ended(process)).err)
        url = json.loads(line)["url"]
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=40) as http:
            yield Served(process, http)


async def test_the_api_as_any_client_meets_it(tmp_path: Path) -> None:
    """API: the whole table over HTTP, with a real agent, as curl would go through it."""
    async with lawful_agent() as agent:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        base_url = f"http://127.0.0.1:{port}"
        config = _config(
            tmp_path,
            server={"port": port, "base_url": base_url, "api_token": "t0ken"},
            agents=[{"id": "lawful", "url": agent.url, "follow_interval": "1s"}],
        )
        async with _serving("--config", config) as served:
            http = served.http
            assert str(http.base_url).rstrip("/") == base_url
            assert (await http.get("/healthz")).json() == {"status": "ok"}
            assert (await http.get("/readyz")).json() == {"status": "ok"}
            assert (await http.get("/v1/agents")).status_code == 401
            http.headers["Authorization"] = "Bearer t0ken"
            (listed,) = (await http.get("/v1/agents")).json()["agents"]
            assert (listed["id"], listed["state"], listed["push"]) == ("lawful", "accepted", True)
            assert "lawful" in (await http.get("/v1/roster")).text

            goal = '[[ work; ask "Which hall?"; artifact a "in {reply}"; complete ]]'
            spawned = await http.post(
                "/v1/parents/p/sub-tasks?wait=settled",
                json={"agent": "lawful", "goal": goal, "name": "chairs"},
                headers={"X-Actor": "planner"},
            )
            assert spawned.status_code == 201
            row = spawned.json()
            assert (row["state"], row["text"], row["watch"]) == (
                "INPUT_REQUIRED", "Which hall?", "push",
            )  # fmt: skip
            one = f"/v1/sub-tasks/{row['id']}"
            assert (await http.post("/v1/parents/p/complete")).status_code == 409

            feed = "/v1/parents/p/notifications"
            async with http.stream("GET", f"{feed}/stream") as stream:
                lines = stream.aiter_lines()
                assert await _notes(lines, 1) == ["INPUT_REQUIRED"]
                replied = await http.post(
                    f"{one}/reply", json={"text": "the big one", "question": row["version"]}
                )
                assert replied.status_code == 202
                assert await _notes(lines, 1) == ["COMPLETED"]
            done = (await http.get(one)).json()
            assert (done["state"], done["text"]) == ("COMPLETED", "in the big one")
            assert (await http.get("/v1/parents/p/sub-tasks")).json()["sub_tasks"] == [done]
            rows = await http.get("/v1/parents/p/sub-tasks?unresolved=true")
            assert rows.json() == {"sub_tasks": []}

            events = (await http.get(f"{one}/events")).json()["events"]
            assert [event["type"] for event in events][:2] == ["Created", "Linked"]
            assert events[0]["actor"] == "planner"
            page = (await http.get(feed)).json()
            assert [note["state"] for note in page["notifications"]] == [
                "INPUT_REQUIRED", "COMPLETED",
            ]  # fmt: skip
            assert (await http.get(f"{feed}?after={page['cursor']}")).json()["notifications"] == []
            assert (await http.post("/v1/parents/p/complete")).json() == {"completed": True}

            other = await http.post(
                "/v1/parents/p/sub-tasks?wait=linked",
                json={"agent": "lawful", "goal": "[[ hang ]]"},
            )
            canceled = await http.post(f"/v1/sub-tasks/{other.json()['id']}/cancel", json={})
            assert (canceled.status_code, canceled.json()["state"]) == (200, "CANCELED")
            assert (await http.post("/v1/parents/p/cancel")).json() == {"sub_tasks": []}
            unknown = await http.post("/v1/parents/p/sub-tasks", json={"agent": "x", "goal": "g"})
            assert (unknown.status_code, unknown.json()["code"]) == (404, "agent.unknown")
            assert unknown.json()["detail"]["valid"] == ["lawful"]
            assert (await http.get("/schema")).json()["info"]["title"] == "locum"
            assert (await http.post(f"/a2a/push/{row['id']}", json={})).status_code == 401
            said = await served.end()
        assert said.status == 0
        assert "Traceback" not in said.err
        assert "t0ken" not in said.err


async def _notes(lines: AsyncIterator[str], count: int) -> list[str]:
    """The states of the next notifications of a feed."""
    states: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while len(states) < count:
            line = await anext(lines)
            if line.startswith("data: "):
                states.append(json.loads(line.removeprefix("data: "))["state"])
    return states


async def test_the_log(tmp_path: Path) -> None:
    """B4: standard error has one line a record with the level's name, at INFO and above."""
    async with RawAgent() as good, RawAgent() as bad:
        bad.card["name"] = "a\n2026-01-01 00:00:00,000 ERROR locum: forged \x1b[31m\u2028\x9b"
        bad.card["version"] = "1\n\x1b[2J"
        agents = [
            {"id": "good", "url": good.url},
            {"id": "bad", "url": bad.url, "version": ">=2"},
        ]
        config = _config(tmp_path, agents=agents)
        async with _serving("--config", config) as served:
            said = await served.end(signal.SIGINT)
        assert (said.status, said.out) == (0, "")
        for line in said.err.split("\n")[:-1]:
            assert LINE.match(line), line
            assert line.isprintable(), line
        assert re.search(r" INFO locum\.agents: agents accepted: good; refused: bad\n", said.err)
        assert re.search(r" WARNING locum\.agents: agent bad is refused: ", said.err)
        assert re.search(r" INFO locum: locum serves http://127\.0\.0\.1:\d+\n", said.err)
        assert len(re.findall("WARNING", said.err)) == 1


async def test_an_address_that_is_taken(tmp_path: Path) -> None:
    """F4: locum says that it cannot listen, and where to change that; nothing was started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = _config(tmp_path, server={"port": port})
        async with started("serve", "--config", config) as process:
            said = await ended(process)
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith(f"server.address: locum cannot listen on 127.0.0.1:{port} (")
    assert not (tmp_path / "locum.db").exists()


async def test_no_door_without_a_lock(tmp_path: Path) -> None:
    """J1: bound off loopback without a token, locum refuses to start."""
    config = _config(tmp_path, server={"host": "0.0.0.0"})
    async with started("serve", "--config", config, "--json") as process:
        said = await ended(process)
    assert (said.status, said.out) == (1, "")
    problem = json.loads(said.err)
    assert (problem["code"], problem["detail"]["key"]) == ("config.invalid", "server.api_token")


async def test_it_can_be_ended_while_it_starts(tmp_path: Path) -> None:
    """F4: a start that waits for a slow card ends at once when it is told to."""
    async with RawAgent() as agent:
        agent.on("AgentCard", [HOLD])
        config = _config(
            tmp_path,
            agents=[{"id": "slow", "url": agent.url}],
            limits={"card_timeout": "10m"},
        )
        async with started("serve", "--config", config) as process:
            await agent.seen("AgentCard", timeout=PATIENCE)
            process.send_signal(signal.SIGINT)
            said = await ended(process)
        assert said.status == 0
        assert said.err.endswith("locum was ended while it started\n")
        assert "Traceback" not in said.err


async def test_a_port_of_its_own_choice_and_a_public_url(tmp_path: Path) -> None:
    """D1: with port 0 the system chooses, and pushes come to `base_url`; B4: the level is obeyed."""
    async with RawAgent(push=True, keep_alive=True) as agent:
        agent.task = T("INPUT_REQUIRED", "Which hall?")
        agents = [{"id": "raw", "url": agent.url}]
        config = _config(
            tmp_path, server={"base_url": "https://locum.example/below"}, agents=agents
        )
        async with _serving("--config", config, "--log-level", "error") as served:
            spawned = await served.http.post(
                "/v1/parents/p/sub-tasks?wait=settled", json={"agent": "raw", "goal": "g"}
            )
            sub_task_id = spawned.json()["id"]
            (seen,) = await agent.seen("CreateTaskPushNotificationConfig", timeout=PATIENCE)
            url = f"https://locum.example/below/a2a/push/{sub_task_id}"
            assert url in json.dumps(seen.params)
            said = await served.end()
            assert (said.status, said.err) == (0, "")


EXECUTOR = """
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import Part


class Hall(AgentExecutor):
    async def execute(self, context, event_queue):
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        update = TaskUpdater(event_queue, task.id, task.context_id)
        await update.add_artifact([Part(text="nine chairs")])
        await update.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError
"""


async def test_an_executor_beside_the_configuration(tmp_path: Path) -> None:
    """A9: the executor of `self` may be a module in the folder that locum is started in.

    The port is of the system's choice, and the card says which it is.
    """
    (tmp_path / "hall.py").write_text(EXECUTOR)
    card = {"name": "Hall", "description": "Knows the hall.", "executor": "hall:Hall"}
    _config(tmp_path, card=card)
    async with _serving(cwd=tmp_path) as served:
        spawned = await served.http.post(
            "/v1/parents/p/sub-tasks?wait=settled", json={"agent": "self", "goal": "Count"}
        )
        assert spawned.json()["text"] == "nine chairs"
        shown = (await served.http.get("/.well-known/agent-card.json")).json()
        assert shown["name"] == "Hall"
        assert shown["supportedInterfaces"][0]["url"].startswith(str(served.http.base_url))
        assert (await served.end()).status == 0


async def test_an_executor_that_is_none(tmp_path: Path) -> None:
    """A9: an executor that cannot be had stops the start, in words."""
    _config(
        tmp_path,
        card={"name": "Hall", "description": "Knows the hall.", "executor": "nowhere:Hall"},
    )
    async with started("serve", cwd=tmp_path) as process:
        said = await ended(process)
    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines()[-1].startswith("config.invalid: card.executor: found ")
    assert "Traceback" not in said.err
