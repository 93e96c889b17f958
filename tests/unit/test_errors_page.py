"""docs/errors.md against the code: every code that can be met, with its status, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from locum.adapters.a2a.checkup.log import DEVIATIONS
from locum.adapters.a2a.wire.anomalies import ANOMALIES, OTHERS
from locum.adapters.problem import status_of
from locum.core.errors import LocumError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
FAMILIES = (
    "agent|card|client|config|delivery|history|locum|parent|push|remote|request|server|store"
    "|sub_task"
)
SETTINGS = {"card.executor", "server.api_token", "server.port", "store.url"}
FILES = {"agent.log", "locum.log", "locum.toml"}


def _named() -> Iterator[str]:
    """Every text in the source that reads like a code and is nothing else."""
    others = {*ANOMALIES, *OTHERS, *DEVIATIONS, *SETTINGS, *FILES}
    for folder in ("core", "projections", "adapters"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            # Loggers, and the marks that requests are handed on with, are named like that, too.
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    is_code = re.fullmatch(rf"(?:{FAMILIES})\.[a-z_]+", node.value)
                    is_ours = not node.value.startswith("locum.")
                    if is_code and node.value not in others and is_ours:
                        yield node.value
    yield from ("locum.error", "locum.mistake")


def _listed() -> list[list[str]]:
    return [
        [cell.strip(" `") for cell in line.strip("|").split(" | ")]
        for line in PAGE.splitlines()
        if line.startswith("| `")
    ]


def test_every_code_is_there() -> None:
    """J2: the page lists each code once, and none that is not met."""
    listed = [code for code, *_ in _listed()]
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(_named())


def test_every_code_has_its_status() -> None:
    """J2: the status beside a code is the one that its problem document has."""
    for code, status, when, what in _listed():
        assert status == str(status_of(LocumError("x", code=code))), code
        assert when.endswith(".")
        assert what.endswith(".")
