"""How fast the journal records and rebuilds, beside what SQLite and decoding alone would cost.

    python -m benchmarks.journal [--rounds 5] [--folder .]

Prints medians of interleaved rounds. Only the ratios of one run mean anything: the targets are 0.33
of raw sqlite3 for the journal with 64 callers waiting, until the views show all of it, and 0.5 of
reading and decoding the log for a rebuild. Lives of three events are created, linked and completed;
lives of seven are asked and answered, and have status texts, in between.
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from locum.adapters.store import Journal
from locum.adapters.store.store import Store
from locum.core.chain import decode
from locum.core.commands import Command, Hear, Reply, Spawn
from locum.core.events import Watch
from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part, RemoteReport

WAITING = 64
TURNS = 30
AT = "2026-01-31T12:00:00.000000Z"


def spawn(sub_task_id: str) -> Spawn:
    return Spawn(
        sub_task_id=sub_task_id,
        at=AT,
        actor="planner",
        parent_id=f"parent-{sub_task_id[-1]}",
        agent_id="inventory",
        name="chairs",
        goal="Count the red chairs in the hall",
        description="Only the ones that are whole; benches do not count.",
        acceptance_criteria=("A number", "Where they stand"),
        parts=(),
        message_id=f"message-{sub_task_id}",
        participant_id="locum",
        card_digest="0" * 64,
    )


def hear(sub_task_id: str, state: A2AState, text: str = "", said: str = "") -> Hear:
    parts = (Part(text=text),) if text else ()
    return Hear(
        sub_task_id=sub_task_id,
        at=AT,
        actor="inventory",
        cause="follow",
        report=RemoteReport(
            kind="task",
            remote_task_id=f"task-{sub_task_id}",
            context_id=f"context-{sub_task_id}",
            state=state,
            text=said,
            parts=(Part(text=said),) if said else (),
        ),
        source="get",
        artifacts=(Artifact(artifact_id="result", parts=parts),) if parts else (),
        watch=Watch(mode="follow"),
    )


def short_life(sub_task_id: str) -> list[Command]:
    return [
        spawn(sub_task_id),
        hear(sub_task_id, A2AState.WORKING),
        hear(sub_task_id, A2AState.COMPLETED, "There are 12 red chairs."),
    ]


def long_life(sub_task_id: str) -> list[Command]:
    created, linked, completed = short_life(sub_task_id)
    return [
        created,
        linked,
        hear(sub_task_id, A2AState.INPUT_REQUIRED, said="Which of the two halls do you mean?"),
        Reply(
            sub_task_id=sub_task_id,
            at=AT,
            actor="planner",
            message_id=f"reply-{sub_task_id}",
            text="The big one, on the first floor.",
        ),
        hear(sub_task_id, A2AState.WORKING, said="Thank you, I am on my way there."),
        hear(sub_task_id, A2AState.INPUT_REQUIRED, said="Do broken ones count?"),
        completed,
    ]


async def record(path: Path, life: Callable[[str], list[Command]]) -> float:
    """Events per second with 64 callers that each wait for theirs, until the views show them all."""

    async def delegate(journal: Journal, caller: int) -> None:
        for turn in range(TURNS):
            for command in life(f"{caller:032x}-{turn:03d}"):
                await journal.handle(command)

    async with Journal.open(f"sqlite:///{path}") as journal:
        began = time.perf_counter()
        await asyncio.gather(*(delegate(journal, caller) for caller in range(WAITING)))
        await journal.views.wait(journal.position)
        return journal.position / (time.perf_counter() - began)


def rows_of(path: Path) -> list[tuple[str, int, str, bytes]]:
    with sqlite3.connect(path) as connection:
        found = connection.execute(
            "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid"
        ).fetchall()
    connection.close()
    return found


def write_raw(path: Path, rows: list[tuple[str, int, str, bytes]]) -> float:
    """Rows per second of sqlite3 alone, in groups of 64, on disk before the next group."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE stored_events (originator_id TEXT, originator_version INTEGER, topic TEXT,"
        " state BLOB, PRIMARY KEY (originator_id, originator_version))"
    )
    began = time.perf_counter()
    for start in range(0, len(rows), WAITING):
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO stored_events VALUES (?,?,?,?)", rows[start : start + WAITING]
        )
        connection.execute("COMMIT")
    taken = time.perf_counter() - began
    connection.close()
    return len(rows) / taken


def decode_log(path: Path) -> float:
    """Events per second of reading the log as it is stored and decoding it, nothing else."""
    store = Store(f"sqlite:///{path}", busy_timeout=5.0)
    store.open(create=False)
    began = time.perf_counter()
    count = after = 0
    while page := store.ledger.page(after, 1000):
        for stored in page:
            decode(stored.state)
        count, after = count + len(page), page[-1].position
    taken = time.perf_counter() - began
    store.close()
    return count / taken


async def rebuild(path: Path) -> float:
    async with Journal.open(f"sqlite:///{path}") as journal:
        began = time.perf_counter()
        count = await journal.rebuild()
        return count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None, help="where the files go: its disk is measured")
    options = parser.parse_args()
    results: dict[str, list[float]] = {}

    def note(name: str, measure: Callable[[], float]) -> float:
        results.setdefault(name, []).append(measure())
        return results[name][-1]

    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for events, life in ((3, short_life), (7, long_life)):
                path = Path(folder) / f"locum-{events}.db"
                run = partial(record, path, life)
                name = f"journal, lives of {events}"
                journal = note(name, lambda run=run: asyncio.run(run()))
                raw = note(
                    f"raw sqlite3, lives of {events}",
                    partial(write_raw, path.with_suffix(".raw"), rows_of(path)),
                )
                decoding = note(f"decoding, lives of {events}", partial(decode_log, path))
                again = note(
                    f"rebuild, lives of {events}", lambda path=path: asyncio.run(rebuild(path))
                )
                results.setdefault(f"journal / raw, lives of {events}", []).append(journal / raw)
                results.setdefault(f"rebuild / decoding, lives of {events}", []).append(
                    again / decoding
                )
        print(f"round {number + 1} of {options.rounds}", flush=True)
    for name, values in results.items():
        median = statistics.median(values)
        unit = "" if " / " in name else " events/s"
        print(f"{name:32} {median:12,.2f}{unit}   {min(values):,.2f} to {max(values):,.2f}")


if __name__ == "__main__":
    main()
