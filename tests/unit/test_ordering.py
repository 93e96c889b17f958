"""Commands from what a caller handed in: here, the name that a sub-task without one gets."""

from datetime import UTC, datetime

import pytest

from locum.adapters.a2a.agent import Agent
from locum.adapters.ordering import Brief, spawn_command
from locum.adapters.requests import checked_line
from locum.adapters.settings import Settings
from locum.core.commands import Spawn

from .configured import agent


def spawned(goal: str, name: str = "") -> Spawn:
    """The command that a brief with this goal becomes."""
    (settings,) = Settings.from_mapping(agent()).agents
    return spawn_command(
        Brief(
            parent_id="p1",
            goal=goal,
            description="",
            acceptance_criteria=(),
            name=name,
            parts=(),
            actor="planner",
            timeout=None,
            idempotency_key=None,
            model="",
            reasoning_effort="",
            parent_tasks=(),
            correlation_id=None,
        ),
        sub_task_id="s1",
        agent=Agent(settings.id, settings),
        follows=None,
        participant_id="locum",
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "goal,name",
    [
        ("Count the chairs\nin both halls", "Count the chairs"),
        ("\n  Count\tthe  chairs ", "Count the chairs"),
        ("\x1b[31mred\x07\tboo", "[31mred boo"),
        ("\x07\x1b\nCount", "Count"),
        ("\x85\u202e\x9b\n\x7f", "…"),
        ("x" * 81, "x" * 79 + "…"),
    ],
    ids=["first line", "blanks", "controls", "later line", "nothing", "long"],
)
def test_a_name_from_the_goal(goal: str, name: str) -> None:
    """C2: a sub-task without a name gets the goal's first line as one that could have been given:
    no escape sequence of the goal's reaches a list of names. The goal stays as it is.
    """
    command = spawned(goal)
    assert (command.name, command.goal) == (name, goal)
    assert checked_line("name", command.name) == spawned(goal, name=command.name).name == name
