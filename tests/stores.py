"""Stores in tests: commands for many sub-tasks, and what lies in a store's file, read with sqlite3.

It looks at the file from outside, as an auditor would; nothing of the store is used for that.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from locum.core.commands import Cancel, Hear, Reply, RevokePush, Rewatch, Spawn
from locum.core.events import Watch
from locum.core.report import RemoteReport
from tests.lives import FOLLOW, START, artifact, spawn, task

__all__ = [
    "asks",
    "brief",
    "cancel",
    "completed",
    "contents",
    "hear",
    "logged",
    "reply",
    "revoke",
    "rewatch",
    "sqlite",
    "working",
]


def brief(sub_task_id: str, parent_id: str = "p1", **fields: Any) -> Spawn:
    """The command that creates a sub-task."""
    return spawn(
        sub_task_id=sub_task_id, parent_id=parent_id, message_id=f"m-{sub_task_id}", **fields
    )


def hear(sub_task_id: str, report: RemoteReport, *, watch: Watch = FOLLOW, **fields: Any) -> Hear:
    """What GetTask said about it."""
    known: dict[str, Any] = {
        "sub_task_id": sub_task_id,
        "at": START,
        "actor": "agent:inventory",
        "cause": "poll",
        "source": "get",
        "artifacts": report.artifacts,
    }
    return Hear(report=report, watch=watch, **(known | fields))


def working(sub_task_id: str) -> Hear:
    """It works: the first time that it is heard, this links it."""
    return hear(sub_task_id, task("WORKING", remote_task_id=f"t-{sub_task_id}"))


def asks(sub_task_id: str, words: str = "Which hall?", **fields: Any) -> Hear:
    """It asks."""
    report = task("INPUT_REQUIRED", words, remote_task_id=f"t-{sub_task_id}")
    return hear(sub_task_id, report, **fields)


def completed(sub_task_id: str, words: str = "12 chairs") -> Hear:
    """It is done."""
    report = task(
        "COMPLETED", remote_task_id=f"t-{sub_task_id}", artifacts=(artifact("count", words),)
    )
    return hear(sub_task_id, report)


def reply(sub_task_id: str, words: str = "the big one", **fields: Any) -> Reply:
    """The parent's answer."""
    known = {"message_id": f"r-{sub_task_id}"} | fields
    return Reply(sub_task_id=sub_task_id, at=START, actor="planner", text=words, **known)


def cancel(sub_task_id: str) -> Cancel:
    """It was canceled."""
    return Cancel(sub_task_id=sub_task_id, at=START, actor="planner")


def revoke(sub_task_id: str, config_id: str) -> RevokePush:
    """Its push config is deleted."""
    return RevokePush(
        sub_task_id=sub_task_id,
        at=START,
        actor="locum",
        cause="push",
        config_id=config_id,
        outcome="deleted",
    )


def rewatch(sub_task_id: str, watch: Watch) -> Rewatch:
    """It is watched anew."""
    return Rewatch(sub_task_id=sub_task_id, at=START, actor="locum", cause="recovery", watch=watch)


@contextmanager
def sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, opened with sqlite3 alone; each statement commits by itself."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def logged(path: Path) -> list[tuple[int, str, int, str, bytes]]:
    """The log: position, sub-task, version, topic and bytes of each event."""
    with sqlite(path) as connection:
        return connection.execute(
            "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events"
            " ORDER BY rowid"
        ).fetchall()


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that the projections' tables hold, and how far they have come."""
    with sqlite(path) as connection:
        tables = {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in ("sub_task_rows", "notifications")
        }
        tables["tracking"] = connection.execute(
            "SELECT * FROM tracking WHERE application_name LIKE '%views%'"
        ).fetchall()
        tables["schema"] = connection.execute(
            "SELECT name, tbl_name FROM sqlite_master ORDER BY name"
        ).fetchall()
    return tables
