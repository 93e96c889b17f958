"""AgentClient's sends: without streams, and the same brief in the same bytes every time."""

from contextlib import aclosing

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.lifecycle import A2AState
from locum.core.report import Part
from tests.agents.frames import EOF, EV, M, T, data_part
from tests.agents.raw import RawAgent

from .clients import brief, client_of


async def test_a_send_without_streams_asks_for_an_answer_at_once(agent: RawAgent) -> None:
    """C6, case S12: a non-streaming send can return before the work is done; its task is watched."""
    agent.card["capabilities"]["streaming"] = False
    async with client_of(agent) as client:
        async with aclosing(client.send(brief(), return_immediately=True)) as stream:
            heard = [one async for one in stream]
        async with aclosing(client.send(brief("m-2"))) as stream:
            heard += [one async for one in stream]
    assert [one.report.state for one in heard] == [A2AState.WORKING] * 2
    first, second = agent.calls("SendMessage")
    assert first.params["configuration"]["returnImmediately"] is True
    assert not second.params.get("configuration", {}).get("returnImmediately")


async def test_a_streaming_agent_can_be_asked_without(agent: RawAgent, client: AgentClient) -> None:
    """G2: the explicit client's plain send is a SendMessage, also where the card streams."""
    async with aclosing(client.send(brief(), streaming=False)) as stream:
        (one,) = [one async for one in stream]
    assert one.report.kind == "task"
    assert [seen.method for seen in agent.calls()] == ["SendMessage"]


async def test_a_direct_message_without_streams(agent: RawAgent, client: AgentClient) -> None:
    """C5: a message answers a plain send too."""
    agent.on("SendMessage", M([data_part({"n": 12})]))
    async with aclosing(client.send(brief(), streaming=False)) as stream:
        (one,) = [one async for one in stream]
    assert (one.report.kind, one.report.parts) == ("message", (Part(data={"n": 12}),))
    assert one.payload.DESCRIPTOR.name == "Message"


async def test_the_same_brief_leaves_as_the_same_bytes(
    agent: RawAgent, client: AgentClient
) -> None:
    """C7, case D4, case R9: what is sent again is what was sent, and whole numbers leave whole."""
    message = brief(
        parts=(Part(data={"zeta": 1, "alpha": {"y": 2.5, "x": [3]}}),),
        envelope="brief",
        acceptance_criteria=("a number",),
    )
    agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
    for _ in range(2):
        async with aclosing(client.send(message)) as stream:
            await anext(stream)
    first, second = (seen.body for seen in agent.calls())
    at = first.index(b'"message":')
    assert first[at:] == second[second.index(b'"message":') :]
    assert b'{"data":{"alpha":{"x":[3],"y":2.5},"zeta":1}}' in first


async def test_sending_changes_nothing_in_the_message(agent: RawAgent, client: AgentClient) -> None:
    """C7, case D4: the SDK fills in what it is handed; it is handed a copy."""
    message = brief()
    before = message.SerializeToString(deterministic=True)
    async with aclosing(client.send(message)) as stream:
        await anext(stream)
    assert message.SerializeToString(deterministic=True) == before
