"""Repairs are visible: on the event and the row, counted for the agent, in the log (K2)."""

import logging
from typing import Any

import pytest

from ..agents.frames import EOF, EV, A, S, T
from ..agents.raw import RawAgent
from .front import front
from .support import until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
FIRST = "2026-01-02T03:04:05Z"
LAST = "2026-01-02T03:04:06Z"


def _flat(frame: Any, kind: str) -> dict[str, Any]:
    return {"kind": kind, **frame}


@both
async def test_repairs_are_seen_at_the_door(binding: Any, caplog: pytest.LogCaptureFixture) -> None:
    """K2: what was mended is named where it led to something, and counted for that agent alone."""
    caplog.set_level(logging.DEBUG, logger="locum.wire")
    async with RawAgent(binding, skills=None) as odd, RawAgent(binding) as even:
        odd.on(
            "SendStreamingMessage",
            [b"\xef\xbb\xbf", EV(_flat(T("working", ts=FIRST), "task")), EOF],
        )
        odd.on(
            "SubscribeToTask",
            [
                EV(T("WORKING", ts=FIRST)),
                EV(A("a", "nine")),
                EV(_flat(S("completed", ts=LAST), "status-update")),
                EOF,
            ],
        )
        odd.on("GetTask", T("COMPLETED", ts="yesterday", artifacts=[A("a", "nine")]))
        even.on("SendStreamingMessage", [EV(T("COMPLETED", artifacts=[A("a", "ten")])), EOF])
        tables = {
            "agents": [
                {"id": "odd", "url": odd.url, "updates": "follow", "follow_interval": "1s"},
                {"id": "even", "url": even.url},
            ]
        }
        async with front(tables) as face:
            counts = await _counts(face)
            assert counts == {"odd": {"json.null_list": 1}, "even": {}}
            ids = {}
            for agent in ("odd", "even"):
                body = {"agent": agent, "goal": "count"}
                answer = await face.http.post("/v1/parents/p/sub-tasks?wait=settled", json=body)
                ids[agent] = answer.json()["id"]
                await until(face.harness, ids[agent], "COMPLETED")
            rows = {one: (await face.http.get(f"/v1/sub-tasks/{ids[one]}")).json() for one in ids}
            assert (rows["odd"]["text"], rows["even"]["text"]) == ("nine", "ten")
            said = (await face.http.get(f"/v1/sub-tasks/{ids['odd']}/events")).json()["events"]
            by_type = {event["type"]: event["anomalies"] for event in said}
            assert by_type["Created"] == []
            assert by_type["Linked"] == ["sse.bom", "json.kind_frame", "json.state_alias"]
            assert by_type["Resolved"] == ["json.kind_frame", "json.state_alias", "json.timestamp"]
            assert rows["odd"]["anomalies"] == [*by_type["Linked"], "json.timestamp"]
            assert rows["even"]["anomalies"] == []
            counts = await _counts(face)
            assert counts == {
                "odd": {
                    "json.kind_frame": 2,
                    "json.null_list": 1,
                    "json.state_alias": 2,
                    "json.timestamp": 1,
                    "sse.bom": 1,
                },
                "even": {},
            }
    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert "agent odd, SendStreamingMessage: mended sse.bom" in logged
    assert "agent odd, AgentCard: mended json.null_list" in logged
    assert not [line for line in logged if line.startswith("agent even") and "mended" in line]


async def _counts(face: Any) -> dict[str, dict[str, int]]:
    listed = (await face.http.get("/v1/agents")).json()["agents"]
    return {one["id"]: one["anomalies"] for one in listed}
