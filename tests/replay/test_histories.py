"""Histories of earlier releases, replayed by this one; one of them was tampered with."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from locum.core.chain import decode, verify_links
from locum.core.errors import HistoryError
from locum.core.events import Event
from locum.core.policy import next_action
from locum.core.replay import as_of_version, illegal_steps
from locum.core.subtask import SubTask, replay

HISTORIES = Path(__file__).parent / "histories"
BROKEN = HISTORIES / "broken.jsonl"
WHOLE = sorted(path for path in HISTORIES.glob("*.jsonl") if path != BROKEN)


def stored_in(path: Path) -> list[bytes]:
    """The stored events of a history."""
    return path.read_bytes().splitlines()


def replayed(events: tuple[Event, ...]) -> SubTask:
    """The sub-task that they make."""
    sub_task = replay(events)
    assert sub_task is not None
    return sub_task


def faults_in(stored: list[bytes]) -> list[tuple[int, str]]:
    """All that is wrong with a history."""
    return [*verify_links(stored), *illegal_steps(map(decode, stored))]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_history_holds(path: Path) -> None:
    """H3, I5: the chain holds, and the machine of today allows each step."""
    assert faults_in(stored_in(path)) == []


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_history_replays(path: Path, snapshot: SnapshotAssertion) -> None:
    """H4, I5: the sub-task that it makes, and what would have been next after each event."""
    events = tuple(map(decode, stored_in(path)))
    steps: list[tuple[str, Any, Any]] = []
    for version in range(1, len(events) + 1):
        sub_task = replayed(as_of_version(events, version))
        action = next_action(sub_task, events[version - 1].at)
        kind = type(events[version - 1]).__name__
        steps.append((f"{version} {kind}", str(sub_task.state), msgspec.to_builtins(action)))
    assert steps == snapshot(name="steps")
    assert msgspec.to_builtins(replayed(events)) == snapshot(name="sub-task")


def test_the_broken_one_is_found_out() -> None:
    """H3: what was altered, what was put back and what was taken away are named."""
    assert faults_in(stored_in(BROKEN)) == [
        (2, "duplicated: this version is there already"),
        (3, "altered: its hash does not match its content"),
        (2, "illegal: Linked after Resolved"),
    ]
    faults = verify_links(stored_in(BROKEN), latest=6)
    assert (6, "removed: version 6 is missing") in faults


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_any_history_can_be_broken(path: Path) -> None:
    """H3: the check would notice a change of any one of these events, or a missing one."""
    stored = stored_in(path)
    for index, state in enumerate(stored):
        changed = state.replace(b'"actor":"', b'"actor":"x', 1)
        assert faults_in([*stored[:index], changed, *stored[index + 1 :]])
        assert verify_links([*stored[:index], *stored[index + 1 :]], latest=len(stored))
    with pytest.raises(HistoryError):
        decode(stored[0][:-1])
