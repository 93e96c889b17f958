"""What the demonstration hands out, and what has to come of it. Pure: it looks at JSON and judges."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["AFTER_CRASH", "WORK", "Work", "wrong_in_events", "wrong_in_notes", "wrong_in_row"]


@dataclass(frozen=True)
class Work:
    """A piece of work that is handed out, and how it has to end."""

    name: str
    goal: str
    state: str
    text: str


WORK = (
    Work("chairs", "Count the red chairs", "COMPLETED", "Row 1: 4 red chairs. Row 2: 5. Together 9."),
    Work("door", "Paint the door", "COMPLETED", "Painted blue."),
    Work("permit", "Permit for the stage", "COMPLETED", "The permit is at the door."),
    Work("lift", "Lift the piano", "FAILED", "The lift is out of order until Monday."),
    Work("guard", "Guard the entrance", "CANCELED", ""),
)  # fmt: skip
"""A result in chunks; a question, answered; a wait that clears by itself; a failure; a cancel."""
AFTER_CRASH = Work("fence", "Paint the fence", "COMPLETED", "Painted red.")
"""What is parked while locum is killed."""
_TOLD = {
    "chairs": ["COMPLETED"],
    "door": ["INPUT_REQUIRED", "COMPLETED"],
    "permit": ["AUTH_REQUIRED", "COMPLETED"],
    "lift": ["FAILED"],
    "guard": ["CANCELED"],
}


def wrong_in_row(work: Work, row: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with how a piece of work ended."""
    if (row["state"], row["text"]) != (work.state, work.text):
        yield (
            f"{work.name} ended as {row['state']} {row['text']!r}; "
            f"right is {work.state} {work.text!r}"
        )


def wrong_in_notes(notes: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with what the model was told; `names` has the work's name by sub-task id."""
    told: dict[str, list[str]] = {name: [] for name in _TOLD}
    for note in notes:
        told[names[note["sub_task_id"]]].append(note["state"])
    for name, states in told.items():
        if states != _TOLD[name]:
            yield f"of {name} the model was told {states}; right is {_TOLD[name]}"


def wrong_in_events(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with the permit's record."""
    events = list(events)
    kinds = [event["type"] for event in events]
    cleared = events[kinds.index("Parked") + 1 :] if "Parked" in kinds else []
    heard = next((event["cause"] for event in cleared if event["type"] != "Parked"), None)
    if heard != "push":
        yield f"that the porter came was heard by {heard}, not by push"
    if "PushRevoked" not in kinds:
        yield "the permit's push config was not deleted"
