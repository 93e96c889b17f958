"""AgentClient's headers: who delegated, the version, and the extensions in use."""

import pytest

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.adapters.a2a.extensions import STATUS_EXTENSION, TASK_EXTENSION
from tests.agents.raw import RawAgent

from .calling import call_all
from .clients import client_of


async def test_every_call_carries_the_participant_and_the_version(
    agent: RawAgent, client: AgentClient
) -> None:
    """C9, A1: each call about a remote task says who delegated, and speaks A2A 1.0."""
    await call_all(client)
    assert len(agent.calls()) == 8
    assert {seen.headers.get("x-participant-id") for seen in agent.calls()} == {"locum"}
    assert {seen.headers.get("a2a-version") for seen in agent.calls()} == {"1.0"}


async def test_a_call_may_be_made_for_another_participant(
    agent: RawAgent, client: AgentClient
) -> None:
    """C9: the id that the sub-task was delegated as goes with its calls, whatever is set now."""
    await call_all(client, participant_id="someone")
    assert {seen.headers.get("x-participant-id") for seen in agent.calls()} == {"someone"}


@pytest.mark.parametrize(
    "name, sent",
    [
        ("anna b", "anna b"),
        ("50%", "50%"),
        ("Søren", "S%C3%B8ren"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
    ],
)
async def test_any_participant_fits_a_header(
    agent: RawAgent, client: AgentClient, name: str, sent: str
) -> None:
    """C9: what a header cannot hold is percent-encoded, and no header can be slipped in."""
    await client.get("t1", participant_id=name)
    (seen,) = agent.calls()
    assert seen.headers["x-participant-id"] == sent
    assert "x-evil" not in seen.headers


async def test_no_extensions_no_header(agent: RawAgent, client: AgentClient) -> None:
    """A7: with no extension in use there is no `A2A-Extensions` at all."""
    await call_all(client)
    assert not any("a2a-extensions" in seen.headers for seen in agent.calls())


async def test_extensions_in_use_are_named(agent: RawAgent) -> None:
    """A7: those in use are named on every call."""
    async with client_of(agent, extensions=(TASK_EXTENSION, STATUS_EXTENSION)) as client:
        await call_all(client)
    named = {seen.headers["a2a-extensions"] for seen in agent.calls()}
    assert named == {f"{TASK_EXTENSION},{STATUS_EXTENSION}"}


async def test_nobody_is_named_when_nobody_is_set(agent: RawAgent) -> None:
    """C9: without a participant there is no empty header."""
    async with client_of(agent, participant_id="") as client:
        await client.get("t1")
    assert "x-participant-id" not in agent.calls()[0].headers
