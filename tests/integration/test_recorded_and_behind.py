"""What was recorded is told as recorded, also while the projections fail (I4)."""

import sqlite3
from pathlib import Path

import pytest

from ..agents.frames import EOF, EV, S, T
from ..agents.raw import RawAgent
from .front import front

_AWAY = "ALTER TABLE sub_task_rows RENAME TO away"


@pytest.mark.parametrize("wait", ["created", "settled"])
async def test_a_spawn_that_the_views_do_not_show_is_no_failure(tmp_path: Path, wait: str) -> None:
    """I4: whoever spawns or replies gets the row that was recorded, not 503; it is sent once."""
    path = tmp_path / "locum.db"
    async with RawAgent("JSONRPC") as agent:
        agent.on("SendStreamingMessage", [EV(T("INPUT_REQUIRED", "Which?")), EOF])
        agent.on("SubscribeToTask", [EV(T("INPUT_REQUIRED", "Which?")), EV(S("WORKING")), EOF])
        agent.on("GetTask", [T("INPUT_REQUIRED", "Which?")])
        tables = {
            "store": {"url": f"sqlite:///{path}"},
            "agents": [{"id": "a", "url": agent.url, "updates": "off"}],
        }
        async with front(tables) as face:
            spawned = await face.harness.spawn("p", agent="a", goal="before")
            parked = await face.harness.settled(spawned.id, 10)
            with sqlite3.connect(path) as connection:
                connection.execute(_AWAY)
            new = await face.http.post(
                f"/v1/parents/p/sub-tasks?wait={wait}&wait_timeout=5",
                json={"agent": "a", "goal": "behind"},
            )
            assert (new.status_code, new.json()["goal"]) == (201, "behind")
            replied = await face.http.post(
                f"/v1/sub-tasks/{spawned.id}/reply",
                json={"text": "red", "question": parked.version},
            )
            assert (replied.status_code, replied.json()["state"]) == (202, "WORKING")
            await agent.seen("SendStreamingMessage", 3)
        connection.close()
