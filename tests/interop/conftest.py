"""Prints the matrix at the end of `make interop`, and watches threads module by module."""

import threading
from collections.abc import Iterator

import pytest

from .table import TABLE

_SECONDS_TO_END = 5.0


@pytest.fixture(autouse=True)
def _no_thread_left() -> None:
    """Stands in for the check after each test: a module's harness starts readers as it needs them."""


@pytest.fixture(autouse=True, scope="module")
def _no_thread_left_by_module() -> Iterator[None]:
    """D11: no thread outlives the module whose harness it belonged to."""
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(_SECONDS_TO_END)
    assert not [thread for thread in left if thread.is_alive()], "threads outlive the module"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of what happened, if anything did."""
    if lines := TABLE.lines():
        terminalreporter.section("locum with other implementations of A2A")
        for line in lines:
            terminalreporter.write_line(line)
