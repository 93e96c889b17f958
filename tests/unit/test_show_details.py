"""What a person is shown of an end beside its result: why it was wanted, and the closing words."""

import msgspec
import pytest
from rich.console import Console

from locum.adapters.cli.show import event_entries, row_details
from locum.core.commands import DropReply
from locum.projections import SubTaskRow, row_after, row_to_json
from tests.lives import Life, artifact, task


def shown(life: Life) -> str:
    """`locum show`, as text."""
    row: SubTaskRow | None = None
    for event in life.events:
        row = row_after(row, event)
    assert row is not None
    console = Console(width=100)
    with console.capture() as capture:
        console.print(row_details(row_to_json(row)))
    return capture.get()


def test_closing_words_and_reasons_are_shown() -> None:
    """D12, F2: the words beside a result, and why this side wanted the end, each under its name."""
    life = Life.linked()
    life.get(task("COMPLETED", "two are broken", artifacts=(artifact("a", "12 chairs"),)))
    assert "status text\ntwo are broken\n" in shown(life)
    life = Life.linked()
    life.cancel("not needed", confirmed=False)
    assert "reason\nnot needed\n" in shown(life)
    assert "status text" not in shown(life)


@pytest.mark.parametrize("is_narrow", [True, False])
def test_a_refusal_is_shown_among_the_events(is_narrow: bool) -> None:
    """C12, H1: what the agent said when it refused a reply can be read where the events are."""
    life = Life.replied()
    drop = DropReply(
        sub_task_id="s1", at=life.now, actor="agent:inventory", message_id="r1", reason="too late"
    )
    life.do(drop)
    entries = event_entries(map(msgspec.to_builtins, life.events), is_narrow=is_narrow)
    assert "too late" in list(entries)[-1].body.plain
