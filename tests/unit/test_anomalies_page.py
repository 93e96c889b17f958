"""docs/anomalies.md is made from the tables, and the tables name all that there is.

`python -m tests.unit.test_anomalies_page` writes the page anew.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from locum.adapters.a2a.checkup.log import DEVIATIONS
from locum.adapters.a2a.wire.anomalies import ANOMALIES, EXPECTED, OTHERS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "anomalies.md"
HEAD = """# What can be odd about an agent

locum reads what an agent means even where A2A 1.0 has it otherwise, and says what it had to put right (K2).
The name of each oddity stands in `anomalies` of the event that it led to and of the row, is counted for each agent in `GET /v1/agents`, and is logged at DEBUG by `locum.wire`.
`locum agents --check URL` goes looking for them.
Sections are those of the A2A specification 1.0.1, of RFCs, and of the HTML standard.

This page is made from `adapters/a2a/wire/anomalies.py` and `adapters/a2a/checkup/log.py` by `python -m tests.unit.test_anomalies_page`.

## Met on the wire
"""
OTHER_HEAD = """
## Met elsewhere

What a sub-task's record names besides.
These are not counted for the agent.
"""
CHECK_HEAD = """
## Found by the check

`locum agents --check` lists all of the first table, calls that fail (by their code, `remote.…`), and these.
Each finding says what was seen and what A2A 1.0 has there.
"""


def page() -> str:
    """The page as it has to be."""
    return "\n".join(
        (
            HEAD,
            *_table(
                ("name", "met, and what was made of it", "what belongs there"), ANOMALIES, EXPECTED
            ),
            OTHER_HEAD,
            *_table(("name", "what happened"), OTHERS),
            CHECK_HEAD,
            *_table(("code", "what is wrong"), DEVIATIONS),
            "",
        )
    )


def _table(heads: tuple[str, ...], *columns: Mapping[str, str]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for name in columns[0]:
        yield f"| {' | '.join((f'`{name}`', *(column[name] for column in columns)))} |"


def test_the_page_is_up_to_date() -> None:
    """K2: every oddity is explained, with what belongs there."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_tables_are_in_order() -> None:
    """K2: a name is found where the alphabet has it, and no cell breaks a table."""
    assert list(ANOMALIES) == list(EXPECTED) == sorted(EXPECTED)
    for table in (ANOMALIES, EXPECTED, OTHERS, DEVIATIONS):
        assert list(table) == sorted(table)
        assert all(text.endswith(".") and "|" not in text for text in table.values())


def _strings(*folders: str) -> set[str]:
    """Every text in the sources that looks like a name of an oddity."""
    return {
        node.value
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in ("anomalies.py", "log.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z]+\.[a-z0-9_]+", node.value)
    }


def test_what_the_core_finds_odd_is_explained() -> None:
    """H1: no event has an oddity that no table explains."""
    named = _strings("core", "adapters/standin", "adapters/web")
    kinds = {name.partition(".")[0] for name in OTHERS}
    odd = {name for name in named if name.partition(".")[0] in kinds}
    codes = {"push.limited", "push.refused", "push.unreadable"}  # of problems: J2
    assert odd - codes == set(OTHERS)


def test_what_the_wire_mends_is_explained() -> None:
    """K2: the wire names nothing that the table lacks, and the table nothing that is never met."""
    kinds = {name.partition(".")[0] for name in ANOMALIES}
    named = {name for name in _strings("adapters/a2a") if name.partition(".")[0] in kinds}
    assert named - set(DEVIATIONS) == set(ANOMALIES)


def test_what_the_check_finds_is_explained() -> None:
    """K2: every code of the check is in its table, and is used."""
    used = set()
    for path in (ROOT / "adapters" / "a2a" / "checkup").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "find":
                code = node.args[0]
                used |= {code.value} if isinstance(code, ast.Constant) else set()
    assert used - set(ANOMALIES) == set(DEVIATIONS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
