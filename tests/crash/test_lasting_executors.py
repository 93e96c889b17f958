"""locum is told to stop while an executor of `self` does not let itself be ended."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from locum.adapters.store import Journal

from .lasting_executors import AT_WORK
from .process import LocumProcess

pytestmark = pytest.mark.timeout(120)

SIGNALS = pytest.mark.parametrize(
    "sign", [signal.SIGTERM, signal.SIGINT], ids=lambda sign: sign.name
)
LIMIT = {"shutdown_timeout": "4s"}
OUT_OF_TIME = " WARNING locum: the process ends now, "


@asynccontextmanager
async def _at_work(
    folder: Path,
    executor: str,
    server: Mapping[str, Any] = LIMIT,
    *,
    cancelled: bool = False,
    launcher: tuple[str, ...] = (),
) -> AsyncIterator[LocumProcess]:
    """A locum whose `self` has just begun, or is asked to cancel, what will not end."""
    card = {"name": "Hall", "description": "Knows the hall."}
    card["executor"] = f"tests.crash.lasting_executors:{executor}"
    locum = LocumProcess(folder, {}, server=server, card=card)
    try:
        await locum.start(launcher=launcher)
        async with httpx.AsyncClient(base_url=locum.base_url, trust_env=False) as http:
            # With some of them it is never answered.
            spawn = http.post(
                "/v1/parents/p/sub-tasks?wait=linked", json={"agent": "self", "goal": "count"}
            )
            asking = [asyncio.create_task(spawn)]
            if cancelled:
                path = f"/v1/sub-tasks/{(await asking[0]).json()['id']}/cancel"
                asking.append(asyncio.create_task(http.post(path, json={})))
            async with asyncio.timeout(30):
                while AT_WORK not in locum.log.read_text():
                    await asyncio.sleep(0.02)
            yield locum
            await asyncio.gather(*asking, return_exceptions=True)
    finally:
        await locum.close()


async def _assert_store_is_whole(locum: LocumProcess) -> None:
    async with Journal.open(f"sqlite:///{locum.store}", create=False) as journal:
        assert len(await journal.views.rows("p", unresolved=True)) == 1
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locum.adapters.cli", "verify"),
        *("--config", str(locum.store.with_name("locum.toml"))),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said


@SIGNALS
@pytest.mark.parametrize(
    "executor, named",
    [
        ("thread", "thread "),
        ("own_thread", "thread slow-model"),
        ("stubborn", "DiscreetExecutor.execute"),
        ("own_task", "task stubborn-task (_swallow)"),
    ],
)
async def test_a_stop_beside_work_that_does_not_end(
    tmp_path: Path, sign: signal.Signals, executor: str, named: str
) -> None:
    """F4: it ends in time and well, says what would not end, and the store is whole."""
    async with _at_work(tmp_path, executor) as locum:
        locum.send(sign)
        assert await locum.ended(timeout=8) == 0
        lines = locum.log.read_text().splitlines()
        (told,) = (line for line in lines if OUT_OF_TIME in line)
        assert ", locum has ended in good order; what would not end: " in told
        assert named in told
        assert told == lines[-1]
        assert "Traceback" not in told
        await _assert_store_is_whole(locum)


async def test_a_stop_by_the_default_limit(tmp_path: Path) -> None:
    """F4: where nothing is set, ten seconds are the limit."""
    async with _at_work(tmp_path, "stubborn", {}) as locum:
        locum.send(signal.SIGTERM)
        assert await locum.ended(timeout=10) == 0
        await _assert_store_is_whole(locum)


@SIGNALS
async def test_a_stop_beside_a_slow_cleanup(tmp_path: Path, sign: signal.Signals) -> None:
    """F4: a cleanup has its share of the time, and is broken off then; nothing is left to tell."""
    async with _at_work(tmp_path, "cleanup") as locum:
        locum.send(sign)
        assert await locum.ended(timeout=8) == 0
        assert OUT_OF_TIME not in locum.log.read_text()
        assert locum.log.read_text().endswith(" INFO locum: locum has ended in good order\n")
        await _assert_store_is_whole(locum)


@SIGNALS
async def test_a_stop_beside_a_cancel_that_does_not_end(
    tmp_path: Path, sign: signal.Signals
) -> None:
    """F4: an executor that never ends to cancel holds up no end either."""
    async with _at_work(tmp_path, "cancelling", cancelled=True) as locum:
        locum.send(sign)
        assert await locum.ended(timeout=8) == 0
        (told,) = (line for line in locum.log.read_text().splitlines() if OUT_OF_TIME in line)
        assert "locum has ended in good order" in told
        await _assert_store_is_whole(locum)


@SIGNALS
async def test_a_stop_while_the_event_loop_is_blocked(tmp_path: Path, sign: signal.Signals) -> None:
    """F4: it ends in time, says that it is not in good order, and loses nothing (I4)."""
    async with _at_work(tmp_path, "blocking") as locum:
        locum.send(sign)
        assert await locum.ended(timeout=8) == 1
        told = locum.log.read_text().splitlines()[-1]
        assert OUT_OF_TIME in told
        assert ", locum has not ended itself; what would not end: " in told
        assert "DiscreetExecutor.execute" in told
        await _assert_store_is_whole(locum)


async def test_a_second_signal_beside_work_that_does_not_end(tmp_path: Path) -> None:
    """F4: told twice, locum waits for nobody else once it has ended in good order."""
    async with _at_work(tmp_path, "stubborn", {"shutdown_timeout": "100s"}) as locum:
        locum.send(signal.SIGINT)
        locum.send(signal.SIGTERM)
        assert await locum.ended(timeout=60) == 0
        told = locum.log.read_text().splitlines()[-1]
        assert OUT_OF_TIME in told
        await _assert_store_is_whole(locum)


async def test_a_signal_after_the_good_order(tmp_path: Path) -> None:
    """F4: so it does when it is told again while it waits for what is foreign."""
    async with _at_work(tmp_path, "thread", {"shutdown_timeout": "100s"}) as locum:
        locum.send(signal.SIGTERM)
        async with asyncio.timeout(30):
            while "locum has ended in good order" not in locum.log.read_text():
                await asyncio.sleep(0.02)
        locum.send(signal.SIGTERM)
        assert await locum.ended(timeout=60) == 0
        assert OUT_OF_TIME in locum.log.read_text().splitlines()[-1]


async def test_an_end_that_nobody_reads_of(tmp_path: Path) -> None:
    """F4: a standard error that takes no more holds up no end."""
    pipe = tmp_path / "errors"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    python = (sys.executable, "-m", "locum.adapters.cli")
    launcher = ("sh", "-c", 'exec "$@" 2>"$0"', str(pipe), *python)
    try:
        async with _at_work(tmp_path, "thread", launcher=launcher) as locum:
            with suppress(BlockingIOError):
                while True:
                    os.write(writing, b" ")
            locum.send(signal.SIGTERM)
            # It cannot even say that it has ended.
            assert await locum.ended(timeout=8) == 1
            await _assert_store_is_whole(locum)
    finally:
        os.close(reading)
        os.close(writing)
