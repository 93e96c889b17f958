"""Every example of docs/client.md is run as it stands, and prints what the page says."""

import contextlib
import io

import pytest

from tests.agents.raw import RawAgent

from .client_docs import Example, examples, inventory
from .explicit import in_thread

HERE = [example for example in examples() if not example.is_for_interop]
HEADINGS = [
    "Connecting",
    "Sending",
    "Answering a question",
    "Streaming",
    "Subscribing to a task",
    "Getting, cancelling and listing tasks",
    "Errors, timeouts and giving up",
    "Credentials",
    "A node of a graph",
    "A tool of a model",
    "The tools of a parent's model",
]


def _run(program: str) -> str:
    """Run it as a program, in a thread of its own; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/client.md", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def test_each_operation_has_an_example() -> None:
    """G1 to G11 on one page: no operation is without its example."""
    assert [example.heading for example in HERE] == HEADINGS


@pytest.mark.parametrize("example", HERE, ids=lambda example: example.heading)
async def test_an_example_does_what_the_page_says(example: Example) -> None:
    """G9: the examples run as they are printed, and print what is printed below them."""
    async with RawAgent() as agent:
        inventory(agent)
        assert await in_thread(lambda: _run(example.about(agent))) == example.prints
