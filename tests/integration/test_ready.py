"""What `/readyz` promises of what was open: it is there, and takes what there is to take (I1)."""

import asyncio
from pathlib import Path

from ..agents.frames import EOF, EV, T
from ..agents.raw import RawAgent
from .front import front


async def test_ready_is_when_recovery_has_run(tmp_path: Path) -> None:
    """I1, API: ready, every sub-task that was open takes replies, pushes and cancels.

    Its agent need not have answered for that: here it answers nothing any more. So readiness waits
    for no agent, and whoever waits for readiness can go on with all that there was.
    """
    asks = T("INPUT_REQUIRED", "Which?")
    async with RawAgent(keep_alive=True) as agent:
        agent.on("SendStreamingMessage", [EV(asks), EOF])
        agent.task = asks
        tables = {
            "store": {"url": f"sqlite:///{tmp_path / 'locum.db'}"},
            "standin": {"cancel_grace": "0s"},
            # One at a time, so that the others are in line for their turn.
            "agents": [{"id": "raw", "url": agent.url, "max_calls": 1}],
        }
        ids, tokens = [], []
        async with front(tables) as before:
            for _ in range(4):
                row = await before.harness.spawn("p", agent="raw", goal="g")
                ids.append((await before.harness.settled(row.id, timeout=10)).id)
                await agent.seen("CreateTaskPushNotificationConfig", count=len(ids))
                tokens.append(str(agent.push_configs[-1]["token"]))
        for method in ("GetTask", "SendStreamingMessage", "CancelTask"):
            agent.on(method, asyncio.Event())
        async with front(tables) as face:
            assert (await face.http.get("/readyz")).status_code == 200
            replied = await face.http.post(f"/v1/sub-tasks/{ids[3]}/reply", json={"text": "red"})
            assert (replied.status_code, replied.json()["state"]) == (202, "WORKING")
            pushed = await face.http.post(
                f"/a2a/push/{ids[2]}",
                json={"statusUpdate": {"taskId": "t1", "status": {"state": "TASK_STATE_WORKING"}}},
                headers={"X-A2A-Notification-Token": tokens[2]},
            )
            assert pushed.status_code == 204
            canceled = await face.http.post(f"/v1/sub-tasks/{ids[1]}/cancel")
            assert (canceled.status_code, canceled.json()["state"]) == (200, "CANCELED")
            rows = await face.http.get("/v1/parents/p/sub-tasks?unresolved=true")
            assert [row["id"] for row in rows.json()["sub_tasks"]] == [ids[0], ids[2], ids[3]]
