"""Histories that were exported and are read back."""

import pytest

from locum.core.chain import encode
from locum.core.errors import HistoryError, SubTaskNotFoundError
from locum.core.histories import history_of, read_histories
from tests.lives import Life, remote, task

ENDED = Life()
ENDED.hear(task("WORKING", remote_at=remote(1)), "send")
ENDED.get(task("COMPLETED", "twelve", remote_at=remote(9)))
BEGUN = Life(sub_task_id="s2")


def _lines(life: Life) -> list[bytes]:
    return [encode(event) + b"\n" for event in life.events]


def test_what_was_exported_is_read_back() -> None:
    """H5: the events of each sub-task, whole and in order, however the lines are mixed."""
    first, *rest = _lines(ENDED)
    mixed = [b"\n", first, *_lines(BEGUN), *rest, b""]
    histories = read_histories(mixed)
    assert [(h.sub_task_id, h.events) for h in histories] == [
        ("s1", ENDED.events),
        ("s2", BEGUN.events),
    ]
    assert read_histories(line.decode() for line in mixed) == histories
    assert history_of(histories, "s2") is histories[1]
    assert history_of(histories[:1], None) is histories[0]
    assert read_histories([]) == ()


def test_one_of_many_has_to_be_named() -> None:
    """H5: an export of several sub-tasks says which they are; an unknown one is not there."""
    histories = read_histories([*_lines(ENDED), *_lines(BEGUN)])
    with pytest.raises(HistoryError) as refused:
        history_of(histories, None)
    assert refused.value.code == "history.ambiguous"
    assert refused.value.detail == {"sub_tasks": ["s1", "s2"]}
    with pytest.raises(SubTaskNotFoundError):
        history_of(histories, "s3")


@pytest.mark.parametrize("named", ["s1", None])
def test_an_export_of_nothing_says_so(named: str | None) -> None:
    """H5: an empty file is no export in which a sub-task has to be named."""
    with pytest.raises(HistoryError, match="no event") as refused:
        history_of((), named)
    assert refused.value.code == "history.unreadable"


def test_an_altered_history_is_refused() -> None:
    """H3, H5: what was changed, left out or moved since is told, not replayed."""
    lines = _lines(ENDED)
    for broken, what in (
        ([lines[0], lines[1].replace(b'"actor":"', b'"actor":"x'), lines[2]], "altered"),
        ([lines[0], lines[2]], "removed"),
        ([lines[1], lines[0], lines[2]], "reordered"),
    ):
        with pytest.raises(HistoryError, match=what) as refused:
            read_histories(broken)
        assert refused.value.code == "history.altered"
        assert refused.value.detail["sub_task_id"] == "s1"


@pytest.mark.parametrize(
    "line, code",
    [(b"{}", "history.unreadable"), (b'{"schema":99}', "history.newer")],
)
def test_a_line_that_is_no_event_is_named(line: bytes, code: str) -> None:
    """H5, I5: which line cannot be read, and why."""
    with pytest.raises(HistoryError, match="Line 4: ") as refused:
        read_histories([*_lines(ENDED), line])
    assert refused.value.code == code
    assert refused.value.detail["line"] == 4
