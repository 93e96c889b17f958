"""The names that others import, which stay where they are, and what is loaded for the sake of one of them."""

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = ("locum.core", "locum.projections", "locum.adapters")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package: str) -> None:
    """API: whatever a package lists can be imported from it, and bears that name."""
    module = import_module(package)
    for name in module.__all__:
        assert getattr(getattr(module, name), "__name__", name) in (name, "Event")


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_told(package: str) -> None:
    """API: a name that is not there is Python's own error, which names it."""
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = import_module(package).nonesuch


@pytest.mark.parametrize(
    "module, spared",
    [
        ("locum.core.errors", ["msgspec", "statemachine"]),
        ("locum.adapters.settings", ["httpx", "a2a", "litestar", "statemachine"]),
        ("locum.adapters.store", ["httpx", "a2a", "litestar", "uvicorn"]),
        ("locum.adapters.cli.main", ["asyncio", "httpx", "msgspec", "locum.adapters.settings"]),
        ("locum.adapters.cli.reading", ["httpx", "a2a", "litestar", "uvicorn"]),
        ("locum.adapters.cli.changing", ["a2a", "litestar", "eventsourcing", "statemachine"]),
        ("locum.adapters.cli.running", ["a2a", "litestar", "uvicorn", "httpx"]),
        ("locum.adapters.cli.drawing", ["httpx", "eventsourcing", "sqlite3"]),
    ],
)
def test_only_what_is_needed_is_loaded(module: str, spared: list[str]) -> None:
    """CLI: a command does not wait for libraries that it has no use for."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    # Coverage of subprocesses would load everything for its own sake.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=env)
    assert not set(spared) & set(json.loads(done.stdout))
