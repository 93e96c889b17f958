"""A store that a newer locum has written is refused in words, by the server and by each command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from locum.adapters.cli import main
from locum.adapters.store import Journal
from locum.core.chain import decode
from locum.core.events import SCHEMA
from tests.stores import brief, logged, sqlite

from .process import LocumProcess, config_text


def newer_file(path: Path) -> None:
    """The store says that it is newer."""
    with sqlite(path) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA + 1}")


def newer_event(path: Path) -> None:
    """Its latest event says so."""
    (*_, (position, _, _, _, state)) = logged(path)
    written, newer = f'"schema":{SCHEMA}'.encode(), f'"schema":{SCHEMA + 1}'.encode()
    assert written in state
    with sqlite(path) as connection:
        connection.execute(
            "UPDATE stored_events SET state = ? WHERE rowid = ?",
            (state.replace(written, newer), position),
        )


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    """A store with a sub-task in it."""
    path = tmp_path / "locum.db"
    async with Journal.open(f"sqlite:///{path}") as journal:
        await journal.handle(brief("s1"))
    assert decode(logged(path)[0][4]).sub_task_id == "s1"
    return path


both = pytest.mark.parametrize("make_newer", [newer_file, newer_event])


@both
async def test_the_server_refuses_it(
    store: Path, tmp_path: Path, make_newer: Callable[[Path], None]
) -> None:
    """I5: exit status 1, one line that says why and what to do, no stack trace; nothing is changed."""
    make_newer(store)
    before = store.read_bytes()
    locum = LocumProcess(tmp_path, {})
    await locum.start(ready=False)
    try:
        assert await locum.ended(timeout=45) == 1
    finally:
        await locum.close()
    (said,) = [line for line in locum.log.read_text().splitlines() if " INFO " not in line]
    assert said.startswith("history.newer: ")
    assert "newer release" in said
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ("ls",),
        ("show", "s1"),
        ("events", "s1"),
        ("notifications", "p1"),
        ("verify",),
        ("rebuild",),
    ],
    ids=lambda command: command[0],
)
@both
def test_every_command_refuses_it(
    store: Path, tmp_path: Path, make_newer: Callable[[Path], None], command: tuple[str, ...]
) -> None:
    """I5: exit status 1 and the reason on standard error, for people and as JSON."""
    make_newer(store)
    config = tmp_path / "locum.toml"
    config.write_text(config_text({"store": {"url": f"sqlite:///{store}"}}))
    for more in ((), ("--json",)):
        said = CliRunner().invoke(main, [*command, "--config", str(config), *more])
        assert said.exit_code == 1
        assert "history.newer" in said.stderr
        assert "newer release" in said.stderr
        assert not isinstance(said.exception, Exception)
        assert said.stdout == ""
