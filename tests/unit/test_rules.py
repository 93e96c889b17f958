"""Every rule of docs/rules.md has a test that names it, and no test names a rule there is not."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = re.compile(r"^(?:(?:case )?[A-Z]\d{1,2}(?:, |:))+")
"""What a docstring begins with: ids of rules and of cases, up to the colon."""
RULE = re.compile(r"(?<!case )\b[A-K]\d{1,2}\b")


def _rules() -> set[str]:
    listed = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| ([A-K]\d{1,2}) \|", listed, re.MULTILINE))


@cache
def _named() -> dict[str, set[str]]:
    """The rules that the tests' docstrings begin with, and where they stand."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                head = HEAD.match(ast.get_docstring(node) or "")
                if head and node.name.lower().startswith("test"):
                    for rule in RULE.findall(head.group()):
                        named[rule].add(f"{path.relative_to(ROOT)}:{node.lineno}")
    return named


@pytest.mark.parametrize("rule", sorted(_rules(), key=lambda id_: (id_[0], int(id_[1:]))))
def test_every_rule_has_a_test(rule: str) -> None:
    """Rules: a promise that no test names is not kept for long."""
    assert _named()[rule], f"no test's docstring begins with {rule}"


def test_no_test_names_a_rule_that_there_is_not() -> None:
    """Rules: a docstring that begins with an id names a rule of the list."""
    unknown = {rule: sorted(where) for rule, where in _named().items() if rule not in _rules()}
    assert not unknown
