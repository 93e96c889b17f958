"""docs/cases.md against the tests that it names, and against the sources that name its cases."""

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "projections", "adapters", "tests", "benchmarks", "docs")
NAMED = re.compile(r"\bcase ([A-Z]\d{1,2})\b", re.IGNORECASE)
BARE = re.compile(r"(?<![Cc]ase )(?<![\w./%-])[P-S]\d{1,2}\b")
"""Of these letters there is no rule: whatever is called so is a case."""


@cache
def _cases() -> dict[str, list[str]]:
    """The tests that play each case."""
    listed = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d+) \| .+ \| (.+) \|$", listed, re.MULTILINE)
    assert len(dict(rows)) == len(rows)
    return {case: re.findall(r"`(.+?)`", played) for case, played in rows}


def _sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    here = [path for path in found if "node_modules" not in path.parts]
    return sorted(path for path in here if path.suffix in (".py", ".md"))


@pytest.mark.parametrize("case", _cases())
def test_every_case_is_played(case: str) -> None:
    """Cases: each test that a case names is there, and says that it plays it."""
    assert _cases()[case]
    for played in _cases()[case]:
        file, _, name = played.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        tests = [n for n in tree.body if isinstance(n, functions) and n.name == name]
        assert len(tests) == 1, f"there is no {played}"
        assert case in NAMED.findall(ast.get_docstring(tests[0]) or ""), f"{played} does not say so"


def test_every_case_that_is_named_is_listed() -> None:
    """Cases: who meets an id of a case in the sources finds it in the list."""
    unknown = {
        f"{path.relative_to(ROOT)}: case {case}"
        for path in _sources()
        for case in NAMED.findall(path.read_text(encoding="utf-8"))
        if case not in _cases()
    }
    assert not unknown


def test_a_case_is_called_one() -> None:
    """Cases: no comment or docstring says "S7" for case S7, which could be taken for a rule."""
    bare = set()
    for path in _sources():
        if path.suffix != ".py" or path == Path(__file__):
            continue
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                is_text = token.type == tokenize.STRING and token.string.startswith('"""')
                if (is_text or token.type == tokenize.COMMENT) and BARE.search(token.string):
                    bare.add(f"{path.relative_to(ROOT)}:{token.start[0]}")
    assert not bare
