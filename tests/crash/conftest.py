"""What only the tests that kill processes need to be forgiven."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a socket of the test's own go unclosed when its other end was killed in mid-sentence.

    Seen now and then on a busy machine: the connection is lost while it is being closed, and the
    garbage collector is the first to notice. locum's own sockets are in the process that is gone.
    """
    for item in items:
        if "tests/crash" in item.path.as_posix():
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
