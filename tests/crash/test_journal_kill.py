"""The journal's process killed at any instant: nothing that was acknowledged is lost or doubled."""

import asyncio
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from locum.adapters.store import Journal
from locum.core.chain import decode, verify_links
from locum.core.replay import illegal_steps
from tests.stores import brief, completed, contents, logged

ROOT = Path(__file__).parents[2]


async def killed(url: str, run: str, after: int, pause: float) -> list[str]:
    """Start a writer, kill it `pause` seconds after its line number `after`; all of its lines."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.journal_writer",
        url,
        run,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert program.stdout is not None
    lines = [await program.stdout.readline() for _ in range(after)]
    await asyncio.sleep(pause)  # any instant will do: between two commits, or in one
    program.send_signal(signal.SIGKILL)
    lines += (await program.stdout.read()).splitlines(keepends=True)
    assert await program.wait() == -signal.SIGKILL
    assert all(line.endswith(b"\n") for line in lines)
    return [line.decode().strip() for line in lines]


@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_instant(tmp_path: Path, seed: int) -> None:
    """I1, I4: every acknowledged event is there, once; chains hold; the views catch up."""
    random = Random(seed)
    path = tmp_path / "locum.db"
    url = f"sqlite:///{path}"
    acknowledged: list[str] = []
    for run in range(3):
        after = random.choice([0, 1, 7, 60, 200])
        # Without a line to wait for, it is killed while it starts and opens the store.
        pause = random.uniform(0, 0.02) if after else random.uniform(0, 2)
        acknowledged += await killed(url, str(run), after, pause)
        if not path.exists():
            continue  # it was killed before it had a store
        async with Journal.open(url) as journal:
            log = logged(path)
            recorded = [_line(state) for *_, state in log]
            assert set(acknowledged) <= set(recorded)
            assert len(recorded) == len(set(recorded))
            assert [position for position, *_ in log] == list(range(1, len(log) + 1))
            histories: dict[str, list[bytes]] = {}
            for _, key, _, _, state in log:
                histories.setdefault(key, []).append(state)
            for states in histories.values():
                assert verify_links(states) == []
                assert illegal_steps(map(decode, states)) == []
            assert journal.views.position == len(log)
            before = contents(path)
            assert {row[1] for row in before["sub_task_rows"]} == set(histories)
            await journal.rebuild()
            assert contents(path) == before
            # And it goes on: whatever is open can be taken up.
            async for slot in journal.views.open_slots():
                await journal.handle(completed(slot.id))
        acknowledged = [_line(state) for *_, state in logged(path)]


@pytest.mark.parametrize("seed", range(3))
async def test_killed_while_rebuilding(tmp_path: Path, seed: int) -> None:
    """E5, I4: a rebuild that was cut off has changed nothing, and does not hinder the next."""
    path = tmp_path / "locum.db"
    url = f"sqlite:///{path}"
    async with Journal.open(url) as journal:
        for number in range(400):
            await journal.handle(brief(f"s{number}"))
        await journal.views.wait(journal.position)
    before = contents(path)
    await killed(url, "rebuild", 1, Random(seed).uniform(0, 0.1))
    async with Journal.open(url) as journal:
        after = contents(path)
        for name in ("sub_task_rows", "notifications"):
            assert after[name] == before[name]
        await journal.rebuild()
    assert contents(path) == before


def _line(state: bytes) -> str:
    event = decode(state)
    return f"{event.sub_task_id} {event.version} {event.hash}"
