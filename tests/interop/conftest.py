"""Prints the matrix at the end of `make interop`."""

import pytest

from .table import TABLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of what happened, if anything did."""
    if lines := TABLE.lines():
        terminalreporter.section("locum with other implementations of A2A")
        for line in lines:
            terminalreporter.write_line(line)
