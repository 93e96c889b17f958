"""docs/python.md against the facade: every method with its parameters and defaults, and no other."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

from locum.adapters import Harness

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
FACES = {"push_accepts", "ring"}
"""For the HTTP face only."""


def _documented() -> dict[str, tuple[bool, dict[str, Any]]]:
    """Each method of the page: whether it is awaited, and its parameters with their defaults."""
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    found = {}
    for node in ast.parse(code).body:
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        names = [one.arg for one in node.args.args]
        given = [ast.literal_eval(one) for one in node.args.defaults]
        parameters: dict[str, Any] = dict.fromkeys(names, inspect.Parameter.empty)
        parameters |= dict(zip(names[len(names) - len(given) :], given, strict=True))
        for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            parameters[f"*{one.arg}"] = (
                inspect.Parameter.empty if default is None else ast.literal_eval(default)
            )
        found[node.name] = (isinstance(node, ast.AsyncFunctionDef), parameters)
    return found


def _there() -> dict[str, tuple[bool, dict[str, Any]]]:
    found = {}
    for name, method in vars(Harness).items():
        if name.startswith("_") or name in FACES or not inspect.isfunction(method):
            continue
        _, *parameters = inspect.signature(method).parameters.values()
        found[name] = (
            inspect.iscoroutinefunction(method),
            {
                f"*{one.name}" if one.kind is one.KEYWORD_ONLY else one.name: one.default
                for one in parameters
            },
        )
    return found


def test_every_method_is_there() -> None:
    """API: docs/python.md has each method of the harness as it can be called."""
    assert _documented() == _there()
