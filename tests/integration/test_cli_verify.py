"""`locum verify` on a store that holds, and on one that was tampered with behind locum's back."""

import json
import sqlite3
from pathlib import Path

from click.testing import CliRunner

from locum.adapters.cli import main
from tests.agents.frames import EOF, EV, A, T
from tests.agents.raw import RawAgent

from .explicit import in_thread
from .support import locum, until


async def test_verify_tells_what_was_tampered_with(tmp_path: Path) -> None:
    """H3: a store that holds is 0; an altered and a removed event are named, with status 1."""
    store = tmp_path / "locum.db"
    done = T("COMPLETED", artifacts=[A("a", "nine")])
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(done), EOF])
        async with locum({"a": agent.url}, store=f"sqlite:///{store}") as harness:
            rows = [await harness.spawn("p", agent="a", goal=f"count {i}") for i in range(2)]
            altered, removed = [(await until(harness, row.id, "COMPLETED")).id for row in rows]

    async def verify(*arguments: str) -> tuple[int, str]:
        runner = CliRunner(env={"LOCUM_STORE__URL": f"sqlite:///{store}"})
        ran = await in_thread(lambda: runner.invoke(main, ["verify", *arguments]))
        return ran.exit_code, ran.stdout

    assert await verify() == (0, "6 events of 2 sub-tasks: nothing is wrong\n")
    with sqlite3.connect(store) as tampering:
        tampering.execute(
            "UPDATE stored_events SET state = replace(state, 'nine', 'five')"
            " WHERE originator_id = ? AND originator_version = 3",
            (altered,),
        )
        tampering.execute("DELETE FROM stored_events WHERE originator_id = ?", (removed,))
    tampering.close()
    status, said = await verify("--json")
    faults = json.loads(said)["faults"]
    assert status == 1
    assert {fault["sub_task_id"] for fault in faults} >= {altered, removed}
    assert any(f["version"] == 3 and "altered" in f["what"] for f in faults)
    status, said = await verify(altered)
    assert status == 1
    assert f"{altered} version 3: altered" in said
