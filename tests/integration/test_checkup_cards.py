"""The check of an agent's card: odd, refused, not to be had; content types and credentials too."""

import json
from typing import Any

import pytest

from locum.adapters.a2a.checkup.examination import Patience

from ..agents.frames import HOLD
from ..agents.process import lawful_agent
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import both, checked, codes, outcomes

JSON_TYPE = {"content-type": "application/json"}


@both
async def test_content_types_of_answers(binding: Any) -> None:
    """K1: an answer's content type is looked at, the card's too, whatever its letters' case."""
    async with RawAgent(binding) as agent:

        async def get(seen: Seen, reply: Reply) -> None:
            if seen.task_id not in agent.tasks:
                await agent.answer(seen, reply)
                return
            task = agent.tasks[seen.task_id]
            body = json.dumps(
                task if binding == "HTTP+JSON" else {"jsonrpc": "2.0", "result": task}
            )
            await reply.respond(200, {"content-type": "text/html"}, body)

        agent.on("GetTask", get)
        agent.on("AgentCard", (200, {}, json.dumps(agent.card)))
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("http.content_type", "GetTask"),
            ("http.content_type", "AgentCard"),
        }
        seen = {found.method: found.seen for found in checkup.findings}
        assert "text/html" in seen["GetTask"]
        assert "missing" in seen["AgentCard"]
        agent.on(
            "AgentCard", (200, {"Content-Type": "Application/JSON; x=y"}, json.dumps(agent.card))
        )
        assert codes(await checked(agent.url)) == {("http.content_type", "GetTask")}


async def test_what_is_odd_about_a_card() -> None:
    """A2, case C5: nulls, missing fields: found, and no reason to refuse the agent."""
    async with RawAgent("JSONRPC", skills=None, defaultInputModes=[]) as agent:
        checkup = await checked(agent.url)
        assert codes(checkup) == {("json.null_list", "AgentCard"), ("fields.missing", "AgentCard")}
        (missing,) = [one for one in checkup.findings if one.code == "fields.missing"]
        assert missing.seen == "The card is without defaultInputModes, skills."


async def test_a_refused_agent_is_sent_nothing() -> None:
    """A3, A4: everything that it would be refused for is told, with codes."""
    async with RawAgent("JSONRPC", extensions=[{"uri": "urn:x", "required": True}]) as agent:
        agent.card["supportedInterfaces"][0]["url"] = "http://elsewhere.example/rpc"
        checkup = await checked(agent.url, agent={"version": ">=2"})
        assert [refusal.code for refusal in checkup.refusals] == [
            "card.foreign_host",
            "card.unsupported",
            "card.version_mismatch",
        ]
        assert not checkup.ok
        assert agent.calls() == []
        assert outcomes(checkup) == {"AgentCard": "failed"}


@pytest.mark.parametrize(
    "answer, words",
    [
        (
            (302, {"location": "http://elsewhere.example/card"}, b""),
            "http://elsewhere.example/card",
        ),
        ((200, JSON_TYPE, b"{"), "no JSON"),
        ((401, {"www-authenticate": "Bearer"}, b""), "check the agent's auth"),
        ([HOLD], "did not come within"),
    ],
    ids=["redirect", "no JSON", "401", "silence"],
)
async def test_a_card_that_cannot_be_had(answer: Any, words: str) -> None:
    """A4, A6: why there is no card is told, a redirect with its target."""
    async with RawAgent("JSONRPC") as agent:
        agent.on("AgentCard", answer)
        checkup = await checked(agent.url, patience=Patience(card=0.5))
        (refusal,) = checkup.refusals
        assert words in refusal.message
        assert not agent.calls()
        await agent.all_closed(timeout=1)


async def test_credentials_of_the_agent_are_used() -> None:
    """A6, A3: a credential that is missing is told by its variable; one that is there goes along."""
    auth = {"auth": {"type": "bearer", "token_env": "CHECK_TOKEN"}}
    async with lawful_agent(binding="jsonrpc", token="t0k3n", guard_card=True) as agent:
        checkup = await checked(agent.url, agent=auth)
        assert ["CHECK_TOKEN" in refusal.message for refusal in checkup.refusals] == [True]
        assert await agent.requests() == []
        checkup = await checked(agent.url, agent=auth, environ={"CHECK_TOKEN": "t0k3n"})
        assert checkup.ok
        assert "t0k3n" not in json.dumps(checkup.view())
        checkup = await checked(agent.url, agent=auth, environ={"CHECK_TOKEN": "wrong"})
        assert not checkup.ok


async def test_an_agent_without_the_binding_that_is_asked_for() -> None:
    """A4, A5: the card's first binding is used, or the one that is asked for, if there is one."""
    async with RawAgent("JSONRPC") as raw:
        checkup = await checked(raw.url, bindings=("HTTP+JSON",))
        (refusal,) = checkup.refusals
        assert refusal.code == "card.no_interface"
        assert "offered JSONRPC 1.0; supported A2A 1.x over HTTP+JSON." in refusal.message
