"""Reads a store's file from outside, as an auditor would, and says what is wrong in it."""

from pathlib import Path

from locum.core.chain import decode, verify_links
from locum.core.replay import illegal_steps
from tests.stores import logged

__all__ = ["faults"]


def faults(store: Path) -> dict[str, list[str]]:
    """What is wrong with each history: a broken chain, an illegal step, a second end."""
    histories: dict[str, list[bytes]] = {}
    for _, key, _, _, state in logged(store):
        histories.setdefault(key, []).append(state)
    found: dict[str, list[str]] = {}
    for key, states in histories.items():
        events = [decode(state) for state in states]
        wrong = [str(fault) for fault in (*verify_links(states), *illegal_steps(events))]
        ends = [type(event).__name__ for event in events].count("Resolved")
        if ends > 1:
            wrong.append(f"it ends {ends} times")
        if wrong:
            found[key] = wrong
    return found
