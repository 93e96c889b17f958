"""locum is killed at each boundary, started again on the same file, and nothing is lost or doubled.

The stories stand beside this file: `sends`, `replies`, `watches`, `endings`. All of them share one
locum and one kill, since a process takes its time to start.
"""

import asyncio

import pytest

from . import away, endings, replies, sends, watches
from .stage import Outcomes, cases, play

pytestmark = pytest.mark.timeout(180)  # the first test plays for all, and a busy machine takes long
CASES = cases([*sends.STORIES, *replies.STORIES, *watches.STORIES, *endings.STORIES, *away.STORIES])


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """How each story that was asked for ended."""
    asked = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    }
    folder = tmp_path_factory.mktemp("boundaries")
    return asyncio.run(play(folder, {name: CASES[name] for name in CASES if name in asked}))


def told(outcomes: Outcomes, name: str) -> None:
    """Raise what went wrong with the story."""
    if (error := outcomes[name]) is not None:
        raise error


@pytest.mark.parametrize("name", cases(sends.STORIES))
def test_a_brief(outcomes: Outcomes, name: str) -> None:
    """I2: a brief is sent once, found on the agent when in doubt, and its fate is told."""
    told(outcomes, name)


@pytest.mark.parametrize("name", cases(replies.STORIES))
def test_a_reply(outcomes: Outcomes, name: str) -> None:
    """I3, case Q8: a reply is kept until the agent has it, and answers its own question once."""
    told(outcomes, name)


@pytest.mark.parametrize("name", cases(watches.STORIES))
def test_a_watch(outcomes: Outcomes, name: str) -> None:
    """I1: what worked is followed, a question is watched as it was, and each is told once."""
    told(outcomes, name)


@pytest.mark.parametrize("name", cases(endings.STORIES))
def test_an_end(outcomes: Outcomes, name: str) -> None:
    """F1: an end is recorded and told once, and nothing is left of it on the agent."""
    told(outcomes, name)


@pytest.mark.parametrize("name", cases(away.STORIES))
def test_an_agent_that_is_away_at_the_start(outcomes: Outcomes, name: str) -> None:
    """I1: what could not be asked about at the start is taken up when its agent is back."""
    told(outcomes, name)
