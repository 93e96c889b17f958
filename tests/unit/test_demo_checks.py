"""What the demonstration takes for right: everything that is otherwise is told."""

from collections.abc import Callable
from typing import Any

import pytest

from locum.adapters.demo.work import (
    AFTER_CRASH,
    WORK,
    wrong_in_events,
    wrong_in_notes,
    wrong_in_row,
)

NAMES = {f"st-{work.name}": work.name for work in WORK}
TOLD = [
    ("door", "INPUT_REQUIRED"),
    ("permit", "AUTH_REQUIRED"),
    ("lift", "FAILED"),
    ("guard", "CANCELED"),
    ("door", "COMPLETED"),
    ("chairs", "COMPLETED"),
    ("permit", "COMPLETED"),
]
EVENTS = [
    {"type": "Created", "cause": "parent"},
    {"type": "Parked", "cause": "follow"},
    {"type": "Woken", "cause": "push"},
    {"type": "Resolved", "cause": "follow"},
    {"type": "PushRevoked", "cause": "push"},
]


def _notes(told: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"sub_task_id": f"st-{name}", "state": state} for name, state in told]


@pytest.mark.parametrize("work", [*WORK, AFTER_CRASH], ids=lambda work: work.name)
def test_an_outcome_is_right_or_told(work: Any) -> None:
    """DEMO: each piece of work has one right end, by state and text."""
    assert list(wrong_in_row(work, {"state": work.state, "text": work.text})) == []
    for row in ({"state": "WORKING", "text": work.text}, {"state": work.state, "text": "other"}):
        (told,) = wrong_in_row(work, row)
        assert told.startswith(f"{work.name} ended as {row['state']} {row['text']!r}")


def test_what_was_told_is_right() -> None:
    """DEMO, E2: the ends and the questions, each once, and nothing of WORKING."""
    assert list(wrong_in_notes(_notes(TOLD), NAMES)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told[1:],
        lambda told: [*told, told[-1]],
        lambda told: [("chairs", "WORKING"), *told],
        lambda told: told[::-1],
    ],
    ids=["missed", "twice", "working", "order"],
)
def test_what_was_told_otherwise_is_wrong(change: Callable[[Any], Any]) -> None:
    """DEMO, E2, E3: what is missed, told twice, told of WORKING or out of order is wrong."""
    assert list(wrong_in_notes(_notes(change(TOLD)), NAMES))


def test_the_record_has_the_push_and_its_end() -> None:
    """DEMO, D3, F1: that the porter came was heard by push, and the push config is gone."""
    assert list(wrong_in_events(EVENTS)) == []
    assert list(wrong_in_events(EVENTS[:-1])) == ["the permit's push config was not deleted"]
    late = [*EVENTS[:2], EVENTS[3], EVENTS[4]]
    assert list(wrong_in_events(late)) == ["that the porter came was heard by follow, not by push"]
    assert len(list(wrong_in_events(EVENTS[:1]))) == 2
    assert len(list(wrong_in_events([]))) == 2
