"""The machine as it was released: every pair of state and trigger, and how it is shown."""

import itertools

import pytest
from syrupy.assertion import SnapshotAssertion

from locum.core.errors import IllegalTransitionError
from locum.core.lifecycle import A2AState, Trigger, target_of
from locum.core.render import markdown_table, mermaid, svg

PAIRS = list(itertools.product(A2AState, Trigger))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_transition(pair: tuple[A2AState, Trigger], snapshot: SnapshotAssertion) -> None:
    """H2: each legal transition has the target that it had, each illegal one its words."""
    try:
        found = str(target_of(*pair))
    except IllegalTransitionError as error:
        found = f"{error.code}: {error.message}"
    assert found == snapshot


def test_mermaid(snapshot: SnapshotAssertion) -> None:
    """H2: the diagram that `locum machine --mermaid` prints."""
    assert mermaid() == snapshot


def test_table(snapshot: SnapshotAssertion) -> None:
    """H2: the table that the README shows."""
    assert markdown_table() == snapshot


def test_svg(snapshot: SnapshotAssertion) -> None:
    """H2: the drawing that `locum machine --svg` writes."""
    assert svg() == snapshot
