"""docs/fields.md is made from the sentences that `/schema` has.

`python -m tests.unit.test_fields_page` writes the page anew.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from locum.adapters.web.described import EVENTS, FIELDS, INSIDE

PAGE = Path(__file__).parents[2] / "docs" / "fields.md"
HEAD = """# What rows, notes and events hold

Each field of what the HTTP API, `--json` and a harness answer with, in a sentence; `/schema` has the same with types.
A row is a sub-task as its parent sees it, a note what the parent's model is told, an event one entry of the record.
Times are RFC 3339, in UTC, with microseconds.

This page is made from `adapters/web/described.py` by `python -m tests.unit.test_fields_page`.
"""
ANSWERS = {
    "Row": "Row",
    "Artifact": "Artifact of a row",
    "Part": "Part of an artifact or a question",
    "Note": "Note",
    "Agent": "Agent",
    "Problem": "Problem document",
}


def page() -> str:
    """The page as it has to be."""
    lines = [HEAD]
    for name, title in ANSWERS.items():
        lines += [f"## {title}", "", *_table(FIELDS[name]), ""]
    lines += ["## Events", "", "All events have:", "", *_table(EVENTS[""]), ""]
    for name, fields in EVENTS.items():
        if name:
            lines += [f"### `{name}`", "", *_table(fields), ""]
    for name in ("Follows", "Watch", "Seen"):
        lines += [f"### `{name.lower()}` inside of an event", "", *_table(INSIDE[name]), ""]
    return "\n".join(lines)


def _table(fields: Mapping[str, str]) -> Iterator[str]:
    yield "| field | what it is |"
    yield "| --- | --- |"
    for name, sentence in fields.items():
        yield f"| `{name}` | {sentence} |"


def test_the_page_is_as_made() -> None:
    """API, H1: docs/fields.md says what `/schema` says."""
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
