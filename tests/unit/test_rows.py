"""The row of a sub-task: what each event does to it, and what of it is shown."""

import msgspec
import pytest

from locum.core.errors import HistoryError
from locum.core.events import Event
from locum.core.report import Part
from locum.core.subtask import replay
from locum.projections import SubTaskRow, row_after, row_of, row_to_json
from locum.projections.rows import part_to_json
from tests.lives import (
    OFF,
    POLL,
    START,
    Life,
    artifact,
    data,
    push,
    remote,
    status,
    task,
    text,
)


def row_from(events: tuple[Event, ...]) -> SubTaskRow:
    """The row that a history makes, one event at a time."""
    row: SubTaskRow | None = None
    for event in events:
        row = row_after(row, event)
    assert row is not None
    return row


def lives() -> dict[str, Life]:
    """Lives that between them have every event, in every way that matters to a row."""
    found = {
        "created": Life(deadline=remote(60)),
        "linked": Life.linked(),
        "submitted": Life.linked("SUBMITTED"),
        "parked": Life.parked(),
        "off": Life.parked(watch=OFF),
        "replied": Life.replied(),
        "refused reply": Life.replied(),
        "pushed": Life.parked(watch=push()),
        "push refused": Life.parked(watch=push()),
        "working": Life.linked(),
        "moved": Life.replied(),
        "moved parked": Life.parked(watch=push()),
        "moved push": Life.parked(watch=push()),
        "completed": Life.parked(watch=push()),
        "revoked": Life.parked(watch=push()),
        "canceled": Life.linked(),
        "odd": Life.linked(),
        "expired": Life.linked(deadline=remote(60)),
        "gone": Life.linked(),
    }
    found["expired"].expire()
    found["gone"].fail(account="The agent no longer knows the task.")
    found["refused reply"].refuse_reply("Name a hall.")
    found["push refused"].revoke("refused")
    found["working"].hear(status("WORKING", "Counting."), after=6)
    moved = task("WORKING", remote_task_id="t2", context_id="", remote_at=remote(9))
    for name in ("moved", "moved parked"):
        found[name].hear(moved, "send", moved=True)
    found["moved"].get(
        task("INPUT_REQUIRED", "And?", remote_task_id="t2", remote_at=remote(11)), watch=push(3)
    )
    found["moved push"].reply()
    found["moved push"].hear(
        task("WORKING", remote_task_id="t2", remote_at=remote(9)), "send", moved=True
    )
    asked = task("INPUT_REQUIRED", "And?", remote_task_id="t2", remote_at=remote(11))
    found["moved push"].get(asked, watch=push(3))
    found["moved push"].revoke(remote_task_id="t1")
    found["moved push"].revoke(remote_task_id="t2")
    for name in ("completed", "revoked"):
        found[name].get(
            task("COMPLETED", artifacts=(artifact("a1", "12 chairs"),), remote_at=remote(9))
        )
    found["revoked"].revoke()
    found["canceled"].cancel("not needed", confirmed=False)
    for _ in range(2):
        odd = status("INPUT_REQUIRED", "Which?", remote_at=remote(5), anomalies=("sse.bom",))
        found["odd"].get(odd)
        found["odd"].get(status("WORKING", "On it.", remote_at=remote(7), anomalies=("json.nan",)))
    return found


@pytest.mark.parametrize("name", lives())
def test_the_row_is_what_the_events_add_up_to(name: str) -> None:
    """E1, E5: event by event or from the aggregate, the row is the same at every version."""
    life = lives()[name]
    for count in range(1, len(life.events) + 1):
        events = life.events[:count]
        sub_task = replay(events)
        assert sub_task is not None
        assert row_from(events) == row_of(sub_task)


def test_a_new_row_shows_the_brief() -> None:
    """E1: Created makes the row; nothing is heard yet."""
    row = row_from(Life(deadline=remote(60)).events)
    assert row_to_json(row) == {
        "id": "s1",
        "parent_id": "p1",
        "agent": "inventory",
        "name": "chairs",
        "goal": "Count the red chairs",
        "state": "SUBMITTED",
        "text": "",
        "parts": [],
        "remote_task_id": "",
        "context_id": "",
        "watch": None,
        "cause": "parent",
        "anomalies": [],
        "version": 1,
        "created_at": START,
        "updated_at": START,
        "artifacts": [],
        "account": "",
        "status_text": "",
        "reason": "",
    }
    assert row.deadline == remote(60)


def test_the_parts_of_the_open_question() -> None:
    """D16, E1: while it is asked, and asked again, its parts are the row's; then there are none."""
    form = Part(url="https://login.example/7", filename="form")
    asked = (text("Sign in"), form)
    life = Life.linked()
    life.get(task("AUTH_REQUIRED", *asked, remote_at=remote(2)))
    assert row_from(life.events).parts == asked
    assert row_to_json(row_from(life.events))["parts"][1]["url"] == "https://login.example/7"
    life.reply("done")
    assert row_from(life.events).parts == ()
    life.refuse_reply("Not yet")
    assert row_from(life.events).parts == asked
    life.get(task("COMPLETED", "Signed in", remote_at=remote(9)))
    row = row_from(life.events)
    assert (row.parts, row.asked_parts) == ((), ())


def test_what_happened_is_the_text_where_the_agent_said_nothing() -> None:
    """E6: the text is the agent's own words; without any, what happened, and `said` is empty."""
    life = Life.linked(deadline=remote(60))
    life.expire()
    row = row_from(life.events)
    assert remote(60) in row.account
    assert (row.text, row.said) == (row.account, "")
    life = Life.linked()
    life.fail(words="No such task.", account="The agent no longer knows the task.")
    row = row_from(life.events)
    assert (row.text, row.said) == ("No such task.", "No such task.")
    assert row_to_json(row)["account"] == "The agent no longer knows the task."


def test_a_question_is_the_text_while_it_is_open() -> None:
    """E1: the text is the open question; a reply takes it away and is not shown as the agent's."""
    life = Life.parked("Which hall?", watch=POLL)
    row = row_from(life.events)
    assert (row.state, row.text, row.watch) == ("INPUT_REQUIRED", "Which hall?", "poll")
    life.reply("the big one")
    row = row_from(life.events)
    assert (row.state, row.text, row.watch, row.cause) == ("WORKING", "", None, "reply")


def test_a_status_text_is_the_text_while_it_works() -> None:
    """D17: a new status text updates the row."""
    row = row_from(lives()["working"].events)
    assert (row.state, row.text, row.version) == ("WORKING", "Counting.", 3)


def test_an_end_shows_the_result_with_every_part() -> None:
    """E1, E4: the whole result is in the row, artifacts and all."""
    row = row_from(lives()["completed"].events)
    assert (row.state, row.text) == ("COMPLETED", "12 chairs")
    assert row_to_json(row)["artifacts"] == [
        {
            "artifact_id": "a1",
            "name": "",
            "description": "",
            "parts": [{"text": "12 chairs", "media_type": "", "filename": ""}],
        }
    ]


def test_a_refused_registration_shows_what_watches_instead() -> None:
    """D2: push that the agent refused turns into the fallback, in the row as in the sub-task."""
    assert row_from(lives()["pushed"].events).watch == "push"
    assert row_from(lives()["push refused"].events).watch == "follow"


def test_what_was_odd_adds_up() -> None:
    """H1: each kind of anomaly is in the row once, in the order it was met."""
    assert row_from(lives()["odd"].events).anomalies == ("sse.bom", "json.nan")


@pytest.mark.parametrize(
    "name, is_unresolved, is_open",
    [
        ("created", True, True),
        ("parked", True, True),
        ("completed", False, True),  # the push config is still to be deleted
        ("revoked", False, False),
        ("canceled", False, False),
    ],
)
def test_what_is_left_to_do(name: str, is_unresolved: bool, is_open: bool) -> None:
    """I1: open is what is unresolved, and what has ended with a push config outstanding."""
    row = row_from(lives()[name].events)
    assert (row.is_unresolved, row.is_open) == (is_unresolved, is_open)


@pytest.mark.parametrize(
    "part, shown",
    [
        (text("hi"), {"text": "hi"}),
        (data({"n": 1}), {"data": {"n": 1}}),
        (data(None), {"data": None}),
        (Part(raw="AAEC"), {"raw": "AAEC"}),
        (Part(url="https://files.example/a"), {"url": "https://files.example/a"}),
    ],
)
def test_a_part_shows_what_it_carries(part: Part, shown: dict[str, object]) -> None:
    """D12: a part is one of text, data, raw and url; media type and file name are always there."""
    assert part_to_json(part) == {**shown, "media_type": "", "filename": ""}
    about = msgspec.structs.replace(part, media_type="text/csv", filename="a.csv")
    assert part_to_json(about) == {**shown, "media_type": "text/csv", "filename": "a.csv"}


def test_metadata_is_shown_where_there_is_any() -> None:
    """D12, case R7: merged metadata of an artifact, and of a part, is not lost."""
    life = Life.linked()
    made = artifact("a1", text("x", metadata={"page": 2}), metadata={"kind": "list"})
    life.get(task("COMPLETED", artifacts=(made,)))
    (shown,) = row_to_json(row_from(life.events))["artifacts"]
    assert shown["metadata"] == {"kind": "list"}
    assert shown["parts"][0]["metadata"] == {"page": 2}


def test_the_values_come_out_as_they_went_in() -> None:
    """D12, case R9: whole numbers stay whole, and so do big ones, booleans and null."""
    value = {"revision": 1, "ratio": 0.5, "b": True, "n": None, "big": 9007199254740991}
    life = Life.linked()
    life.get(task("COMPLETED", artifacts=(artifact("a1", data(value)),)))
    row = row_from(life.events)
    again = msgspec.json.decode(msgspec.json.encode(row), type=SubTaskRow)
    assert again == row
    (part,) = row_to_json(again)["artifacts"][0]["parts"]
    assert msgspec.json.encode(part["data"]) == msgspec.json.encode(value)
    assert row.text == ""


def test_a_history_that_is_none_makes_no_row() -> None:
    """H3: an event that cannot be the next one is named, not passed over."""
    created, linked, *_ = Life.parked().events
    parked = Life.parked().events[-1]
    for row, event in ((None, linked), (row_from((created,)), parked)):
        with pytest.raises(HistoryError) as refused:
            row_after(row, event)
        assert refused.value.code == "history.illegal"
        assert f"Version {event.version}" in refused.value.message
    with pytest.raises(HistoryError, match="created twice"):
        row_after(row_from((created,)), created)
