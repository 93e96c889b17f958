"""`locum replay` and `locum export`: a sub-task as it was, from the store and from an export."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agents.frames import EOF, EV, T

from .site import Site, site
from .terminal import cli

ASKS = T("INPUT_REQUIRED", "Which hall?")


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[tuple[Site, str]]:
    """A sub-task that was asked about, and was then cancelled; and another one."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(ASKS), EOF])
        on.agent.task = ASKS
        sub_task_id = await on.delegate("Find them")
        await on.harness.settled(sub_task_id, timeout=10)
        on.agent.task = T("CANCELED", "as you wish")
        await on.harness.cancel(sub_task_id)
        await on.delegate("Find others")
        yield on, sub_task_id


async def test_each_step_is_listed(asked: tuple[Site, str]) -> None:
    """H4: a line for each event: the state after it, and what was to be done next."""
    on, sub_task_id = asked
    said = await on.cli("replay", sub_task_id)
    assert (said.status, said.err) == (0, "")
    steps = [line.split(maxsplit=4) for line in said.out.splitlines()]
    assert [(step[2], step[3], step[4].strip()) for step in steps] == [
        ("Created", "SUBMITTED", "next: send the brief"),
        ("Linked", "SUBMITTED", "next: follow the remote task"),
        ("Parked", "INPUT_REQUIRED", "next: follow the remote task; the model was told"),
        ("Resolved", "CANCELED", "next: nothing; the model was told"),
    ]


async def test_one_moment_is_shown_whole(asked: tuple[Site, str]) -> None:
    """H4: at a version or a time: the row, what the model had been told, what was next."""
    on, sub_task_id = asked
    events = await on.harness.events(sub_task_id)
    by_version = await on.cli("replay", sub_task_id, "--at", "3")
    by_time = await on.cli("replay", sub_task_id, "--at", events[2]["at"])
    assert (by_version.status, by_version.err) == (0, "")
    assert by_version.out == by_time.out
    for shown in ("INPUT_REQUIRED", "Which hall?", "follow the remote task"):
        assert shown in by_version.out
    assert "CANCELED" not in by_version.out
    before = await on.cli("replay", sub_task_id, "--at", "2")
    assert "nothing" in before.out
    refused = await on.cli("replay", sub_task_id, "--at", "9")
    assert refused.status == 1
    assert refused.err.startswith("history.no_version: ")


async def test_an_export_is_replayed_elsewhere(asked: tuple[Site, str], tmp_path: Path) -> None:
    """H5, H4: an export holds the stored bytes, and is replayed without the store."""
    on, sub_task_id = asked
    exported = await on.cli("export", sub_task_id)
    assert exported.status == 0
    lines = exported.out.splitlines()
    events = (await on.http.get(f"/v1/sub-tasks/{sub_task_id}/events")).json()["events"]
    assert list(map(json.loads, lines)) == events
    file = tmp_path / "one.jsonl"
    file.write_text(exported.out)
    nowhere = {"LOCUM_STORE__URL": f"sqlite:///{tmp_path / 'none.db'}"}
    here = await on.cli("replay", sub_task_id)
    there = await cli("replay", "--history", str(file), **nowhere)
    assert (there.status, there.out) == (0, here.out)
    said = await cli("replay", "--history", str(file), "--at", "3", "--json", **nowhere)
    shown = json.loads(said.out)
    assert shown["row"]["text"] == "Which hall?"
    assert [note["kind"] for note in shown["notifications"]] == ["question"]
    file.write_text(exported.out.replace("Which hall?", "Which room?"))
    altered = await cli("replay", "--history", str(file), **nowhere)
    assert altered.status == 1
    assert altered.err.startswith("history.altered: ")


async def test_a_whole_store_is_exported(asked: tuple[Site, str], tmp_path: Path) -> None:
    """H5: all sub-tasks in one file, which is never written over."""
    on, sub_task_id = asked
    file = tmp_path / "all.jsonl"
    said = await on.cli("export", "--all", "--output", str(file))
    assert (said.status, said.out) == (0, "")
    of_all = [json.loads(line)["sub_task_id"] for line in file.read_bytes().splitlines()]
    assert len(set(of_all)) == 2
    assert said.err == f"{len(of_all)} events of 2 sub-tasks\n"
    one = await on.cli("replay", sub_task_id, "--history", str(file))
    assert "Parked" in one.out
    unnamed = await on.cli("replay", "--history", str(file))
    assert unnamed.err.startswith("history.ambiguous: ")
    again = await on.cli("export", "--all", "--output", str(file))
    assert (again.status, again.err.split(":")[0]) == (1, "request.invalid")


async def test_what_is_asked_for_has_to_be_there(asked: tuple[Site, str]) -> None:
    """CLI: an unknown sub-task, no sub-task at all, a file that is not there."""
    on, sub_task_id = asked
    for arguments, code in (
        (("replay", "none"), "sub_task.not_found"),
        (("replay", "none", "--at", "1"), "sub_task.not_found"),
        (("export", "none"), "sub_task.not_found"),
        (("replay", "--history", "none.jsonl"), "request.invalid"),
    ):
        said = await on.cli(*arguments)
        assert (said.status, said.err.split(":")[0]) == (1, code), arguments
    for usage in (("replay",), ("export",), ("export", sub_task_id, "--all")):
        assert (await on.cli(*usage)).status == 2
