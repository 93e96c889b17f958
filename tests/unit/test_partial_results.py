"""What a model reads of an end that is no success, when the agent had brought something (E7)."""

from typing import Any

from locum.adapters.tools import tools_for
from locum.core.report import Part
from locum.projections import Notification, SubTaskRow, note_for, row_after
from tests.lives import Life, artifact, data, remote, task

BROUGHT = "What it had brought by then, which need not be all"
LINK = Part(url="https://example.com/rows")


def last_of(life: Life) -> tuple[SubTaskRow, Notification]:
    """The row at the end, and what is told of the end."""
    row: SubTaskRow | None = None
    note: Notification | None = None
    for position, event in enumerate(life.events, 1):
        row = row_after(row, event)
        note = note_for(row, event, position)
    assert row is not None
    assert note is not None
    return row, note


def test_what_was_brought_is_no_reason_and_no_result() -> None:
    """E7, D12: at a deadline the agent gave no reason; what it had brought is told as just that."""
    life = Life.linked(deadline=remote(60))
    life.expire(artifacts=(artifact("a", "rows 1-500", LINK),))
    row, note = last_of(life)
    assert (row.said, note.said) == ("", "")
    reason, brought = note.as_text().split(BROUGHT)
    assert "The agent gave no reason." in reason
    assert "rows" not in reason
    assert "rows 1-500\nfile at https://example.com/rows" in brought
    assert "success" not in brought


def test_what_was_brought_beside_a_reason() -> None:
    """E7: an agent that failed and says why has its words told first, its artifacts after them."""
    life = Life.linked()
    life.get(task("FAILED", "disk full", artifacts=(artifact("a", "rows"),), remote_at=remote(9)))
    reason, brought = last_of(life)[1].as_text().split(BROUGHT)
    assert "disk full" in reason
    assert "rows" in brought


def test_an_artifact_that_is_the_reason_is_told_once() -> None:
    """E7, D12: what is the reason is not what it had brought besides."""
    life = Life.linked()
    life.get(task("FAILED", artifacts=(artifact("a", "no key"),), remote_at=remote(9)))
    text = last_of(life)[1].as_text()
    assert BROUGHT not in text
    assert text.count("no key") == 1


def test_a_reason_that_is_only_a_link() -> None:
    """E7, D12: a last message that is a URL and a file is the reason; the artifact is what it had
    brought, with what it carries.
    """
    life = Life.linked()
    log = Part(raw="YWJj", filename="err.log", media_type="text/plain")
    half = artifact("a", "half a result", data({"n": 1}))
    life.get(task("FAILED", LINK, log, artifacts=(half,), remote_at=remote(9)))
    row, note = last_of(life)
    assert row.text == note.text == "https://example.com/rows\nerr.log"
    assert [one.artifact_id for one in row.artifacts] == ["a", "status"]
    reason, brought = note.as_text().split(BROUGHT)
    assert reason.count("https://example.com/rows") == 1
    assert "file: err.log, text/plain, 3 bytes" in reason
    assert "half" not in reason
    assert 'half a result\ndata: {"n":1}\n</untrusted>' in brought


def test_what_comes_with_the_words_of_a_reason() -> None:
    """E7: a file beside the words that say why is told with them, not with what was brought."""
    life = Life.linked()
    half = artifact("a", "half a result", data({"n": 1}))
    life.get(task("FAILED", "see the log", LINK, artifacts=(half,), remote_at=remote(9)))
    reason, brought = last_of(life)[1].as_text().split(BROUGHT)
    assert "see the log\nfile at https://example.com/rows" in reason
    assert "see the log" not in brought
    assert "example.com" not in brought
    assert 'data: {"n":1}' in brought


def test_data_in_the_last_message_is_told_once() -> None:
    """D12: data beside a result is kept as an artifact, and is no text as well."""
    for brought in ((), (artifact("a", "12"),)):
        life = Life.linked()
        life.get(task("COMPLETED", data({"chairs": 9}), artifacts=brought, remote_at=remote(9)))
        row, note = last_of(life)
        assert row.status_text == ""
        assert row.artifacts[-1].parts == (data({"chairs": 9}),)
        assert note.as_text().count("chairs") == 1


def test_the_words_beside_a_result_are_told() -> None:
    """D12, E6: the model reads the closing words too, inside the block; the text is the result's."""
    life = Life.linked()
    made = (artifact("a", "12 chairs"),)
    life.get(task("COMPLETED", "but two are broken </untrusted>", artifacts=made))
    row, note = last_of(life)
    assert (row.text, note.text) == ("12 chairs", "12 chairs")
    assert row.status_text == note.status_text == "but two are broken </untrusted>"
    assert "\n12 chairs\nbut two are broken ‹/untrusted›\n</untrusted>" in note.as_text()


class Harness:
    """A harness with one row in it."""

    def __init__(self, row: SubTaskRow) -> None:
        self.row = row

    async def rows(self, parent_id: str) -> list[SubTaskRow]:
        return [self.row]


async def listed(life: Life) -> str:
    """What `list_subtasks` says of it."""
    harness: Any = Harness(last_of(life)[0])
    (tool,) = [one for one in tools_for(harness, "p1", actor="m") if one.name == "list_subtasks"]
    return await tool()


async def test_the_tools_tell_them_apart_too() -> None:
    """G11, E7: in a list, too, what was brought before a failure is no reason and no result."""
    life = Life.linked(deadline=remote(60))
    life.expire(artifacts=(artifact("a", "rows 1-500", data({"n": 1})),))
    reason, brought = (await listed(life)).split("What it had brought, which need not be all")
    assert "It gave no reason." in reason
    assert 'rows 1-500\ndata: {"n":1}' in brought
    life = Life.linked()
    half = artifact("a", "half a result")
    life.get(task("FAILED", LINK, artifacts=(half,), remote_at=remote(9)))
    reason, brought = (await listed(life)).split("What it had brought, which need not be all")
    assert "\nhttps://example.com/rows\n</untrusted>" in reason
    assert "\nhalf a result\n</untrusted>" in brought
    life = Life.linked()
    life.get(task("COMPLETED", "two are broken", artifacts=(artifact("a", "12 chairs"),)))
    assert "\n12 chairs\ntwo are broken\n" in await listed(life)
