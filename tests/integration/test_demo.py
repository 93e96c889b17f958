"""`locum demo`: the whole story, told right, told wrong, and broken off."""

import asyncio
import re
import signal
import sys
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from locum.adapters.demo.story import run_demo
from locum.core.errors import ServerError

from .careless import command
from .explicit import in_thread
from .terminal import Terminal, started

pytestmark = pytest.mark.timeout(240)

CHAPTERS = [
    "An agent and locum, each in a process of its own",
    "Five pieces of work, as their rows change",
    "What the model was told: no WORKING, and each thing once",
    "The record of one of them (permit): who said what, why, when",
    "One more, which is parked when the power goes",
    "SIGKILL: locum dies while a sub-task waits for an answer",
    "Outcome",
]


async def test_the_demonstration(tmp_path: Path) -> None:
    """DEMO: every outcome is right; in 80 columns, without colours where no terminal is."""
    # An environment that means another locum must not reach this one.
    environ = {"LOCUM_SERVER__PORT": "1", "TMPDIR": str(tmp_path)}
    async with started("demo", **environ) as process:
        async with asyncio.timeout(200):
            out, err = await process.communicate()
    lines = out.decode().splitlines()
    assert (process.returncode, err) == (0, b"")
    assert lines[-1] == "All 6 sub-tasks ended as they should."
    assert [line for line in lines if line in CHAPTERS] == CHAPTERS
    for line in lines:
        assert len(line) <= 80
        assert line.isprintable()
        assert line == line.rstrip()
    rows = [match for line in lines if (match := re.match(r" +(\d+\.\d)s (\w+) +([A-Z_]+)", line))]
    shown = {(row[2], row[3]) for row in rows}
    assert {
        ("chairs", "COMPLETED"),
        ("door", "INPUT_REQUIRED"),
        ("door", "COMPLETED"),
        ("permit", "AUTH_REQUIRED"),
        ("permit", "COMPLETED"),
        ("lift", "FAILED"),
        ("guard", "CANCELED"),
        ("fence", "INPUT_REQUIRED"),
        ("fence", "COMPLETED"),
    } <= shown
    times = [float(row[1]) for row in rows]
    assert times == sorted(times)
    assert list(tmp_path.iterdir()) == []


async def test_a_wrong_outcome_is_exit_status_1() -> None:
    """DEMO: at a terminal, with an agent that does not do as it should: told, and status 1."""
    async with Terminal(command=command("demo")) as terminal:
        await terminal.shows("Five pieces of work", patience=120)
        await terminal.shows("Outcome", patience=120)
        assert await terminal.ends() == 1
        text = terminal.text
    last = text[text.rindex("Outcome") :].replace("\n", " ")
    assert "wrong: chairs ended as FAILED 'The lift is out of order" in last
    assert "of chairs the model was told ['FAILED']" in last
    assert "All 6" not in last
    assert "Traceback" not in text
    # The rows change in place.
    assert terminal.raw.count("\x1b[2K") > 10


@pytest.mark.parametrize(
    "sign, chapter",
    [(signal.SIGINT, "Five pieces of work"), (signal.SIGTERM, "both are starting")],
    ids=["SIGINT", "SIGTERM"],
)
async def test_broken_off_it_leaves_nothing_behind(
    tmp_path: Path, sign: signal.Signals, chapter: str
) -> None:
    """DEMO, D11: ended at the start or in the middle, its processes and its folder are gone."""
    async with Terminal("demo", TMPDIR=str(tmp_path)) as terminal:
        await terminal.shows(chapter, patience=120)
        children = psutil.Process(terminal.pid).children(recursive=True)
        assert len(children) == 2
        if sign is signal.SIGINT:
            terminal.type("\x03")
        else:
            psutil.Process(terminal.pid).send_signal(sign)
        assert await terminal.ends() == 130
        assert "interrupted" in terminal.text
        assert "Traceback" not in terminal.text
    assert [child for child in children if child.is_running()] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("chapter", ["both are starting", "Five pieces of work"])
async def test_killed_it_leaves_no_process_behind(tmp_path: Path, chapter: str) -> None:
    """DEMO: at SIGKILL it can put away nothing, and its processes end all the same."""
    async with Terminal("demo", TMPDIR=str(tmp_path)) as terminal:
        await terminal.shows(chapter, patience=120)
        story = psutil.Process(terminal.pid)
        children = story.children(recursive=True)
        assert len(children) == 2
        story.kill()
        _, alive = await in_thread(lambda: psutil.wait_procs(children, timeout=60))
        assert alive == []


async def test_an_agent_that_does_not_start() -> None:
    """DEMO: an agent that ends at once is told of, with the last that it said."""
    absent = [sys.executable, "-c", "import sys; sys.exit('nobody is at home')"]
    with pytest.raises(ServerError, match=r"The agent has ended\. .*: nobody is at home") as told:
        await run_demo(Console(quiet=True), agent=absent)
    assert told.value.code == "server.demo"
