"""The machine, shown: every way of showing it says what its table says."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from locum.core import render
from locum.core.lifecycle import TABLE, TERMINAL, A2AState, Trigger
from locum.core.render import markdown_table, mermaid, svg

README = Path(__file__).parents[2] / "README.md"
MARKED = re.compile(r"<!-- transitions -->\n+(.*?)\n*<!-- /transitions -->", re.DOTALL)


def test_mermaid_is_the_table() -> None:
    """H2: each arrow is in the table, each entry of the table is an arrow; ends are ends."""
    found: dict[tuple[A2AState, Trigger], A2AState] = {}
    ends = set()
    header, start, *lines = mermaid().splitlines()
    assert (header, start.split()) == ("stateDiagram-v2", ["[*]", "-->", "SUBMITTED"])
    for line in lines:
        source, rest = line.strip().split(" --> ")
        if rest == "[*]":
            ends.add(source)
            continue
        target, triggers = rest.split(": ")
        for trigger in triggers.split(" / "):
            found[A2AState(source), Trigger(trigger)] = A2AState(target)
    assert found == TABLE
    assert ends == TERMINAL


def test_markdown_is_the_table() -> None:
    """H2: a row for each state, a column for each trigger, a dot for what is illegal."""
    header, rule, *rows = [line.strip("| ").split(" | ") for line in markdown_table().splitlines()]
    triggers = [Trigger(cell.strip("`")) for cell in header[1:]]
    assert triggers == list(Trigger)
    assert set(rule) == {"---"}
    assert [row[0] for row in rows] == list(A2AState)
    found = {
        (A2AState(row[0]), trigger): A2AState(cell)
        for row in rows
        for trigger, cell in zip(triggers, row[1:], strict=True)
        if cell != "·"
    }
    assert found == TABLE


def test_svg_is_the_table() -> None:
    """H2: the arrows' titles are the table's entries, each once, and each state has its box."""
    tree = ET.fromstring(svg())
    space = "{http://www.w3.org/2000/svg}"
    found: list[tuple[A2AState, Trigger, A2AState]] = []
    for title in tree.iter(f"{space}title"):
        triggers, rest = (title.text or "").split(": ")
        sources, target = rest.split(" → ")
        found += [
            (A2AState(source), Trigger(trigger), A2AState(target))
            for trigger in triggers.split(" / ")
            for source in sources.split(", ")
        ]
    assert sorted(found) == sorted((*pair, target) for pair, target in TABLE.items())
    words = [text.text for text in tree.iter(f"{space}text")]
    assert set(A2AState) <= set(words)


def test_svg_needs_a_place_for_each_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """H2: a transition that is new to the machine is not left out of the drawing in silence."""
    more = TABLE | {(A2AState.WORKING, Trigger.SUBMIT): A2AState.SUBMITTED}
    monkeypatch.setattr(render, "TABLE", more)
    with pytest.raises(KeyError):
        svg()


def test_readme_shows_the_machine() -> None:
    """H2: the README's table is the machine's."""
    marked = MARKED.findall(README.read_text(encoding="utf-8"))
    assert marked == [markdown_table().strip()]
