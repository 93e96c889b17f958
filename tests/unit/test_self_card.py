"""The card of `self`, made from settings alone, and where its executor is found (A9)."""

import sys
from pathlib import Path
from typing import Any

import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers.response_helpers import agent_card_to_dict

from locum.adapters.a2a.own.card import own_card
from locum.adapters.a2a.own.executors import load_executor
from locum.adapters.settings import Settings
from locum.core.errors import ConfigError

CARD = {
    "name": "Foreman",
    "description": "Hands work out",
    "version": "2.1.0",
    "skills": [{"id": "plan", "name": "Plan", "description": "Plans work", "tags": ["plan"]}],
}

MODULE = """
from a2a.server.agent_execution import AgentExecutor

class Executor(AgentExecutor):
    async def execute(self, context, event_queue): ...
    async def cancel(self, context, event_queue): ...

class Picky(Executor):
    def __init__(self, needed): ...

def make(): return Executor()

made = Executor()
number = 7

class Shelf:
    kept = made
"""


def card(**more: Any) -> dict[str, Any]:
    """The card made from `[card]` with `more` in it, as JSON."""
    settings = Settings.from_mapping({"card": CARD | more}).card
    assert settings is not None
    return agent_card_to_dict(own_card(settings, "https://locum.example/base"))


def test_the_card_says_where_and_how() -> None:
    """A9: both bindings below the base URL, A2A 1.0, streaming and push, both extensions."""
    made = card()
    assert [(i["url"], i["protocolBinding"]) for i in made["supportedInterfaces"]] == [
        ("https://locum.example/base/a2a", "JSONRPC"),
        ("https://locum.example/base/a2a/rest", "HTTP+JSON"),
    ]
    assert {i["protocolVersion"] for i in made["supportedInterfaces"]} == {"1.0"}
    assert made["capabilities"]["streaming"]
    assert made["capabilities"]["pushNotifications"]
    assert [e["uri"].rsplit("/", 2)[1] for e in made["capabilities"]["extensions"]] == [
        "task",
        "status",
    ]


def test_the_card_says_what_was_configured() -> None:
    """A9: name, description, version and skills are those of `[card]`."""
    made = card()
    assert {key: made[key] for key in ("name", "description", "version")} == {
        key: CARD[key] for key in ("name", "description", "version")
    }
    assert [skill["name"] for skill in made["skills"]] == ["Plan"]


def test_a_card_without_skills_is_still_a_card(caplog: pytest.LogCaptureFixture) -> None:
    """A9: A2A asks for a skill with a tag, so `[card]` without one is given its own words for it."""
    made = card(skills=[])
    assert made["skills"] == [
        {"id": "self", "name": "Foreman", "description": "Hands work out", "tags": ["self"]}
    ]
    bare = card(skills=[{"id": "plan", "name": "Plan", "description": "Plans"}])
    assert bare["skills"][0]["tags"] == ["plan"]
    assert caplog.records == []


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that can be imported, and only during the test."""
    (tmp_path / "foreman_agent.py").write_text(MODULE)
    (tmp_path / "foreman_broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "foreman_agent", raising=False)
    return "foreman_agent"


@pytest.mark.parametrize("attribute", ["Executor", "make", "made", "Shelf.kept"])
def test_an_executor_is_found(module: str, attribute: str) -> None:
    """A9: a class, a function that makes one, or the executor itself can be named."""
    assert isinstance(load_executor(f"{module}:{attribute}"), AgentExecutor)


@pytest.mark.parametrize(
    "name,said",
    [
        ("foreman_agent:Missing", "has no Missing"),
        ("foreman_agent:number", "is a int"),
        ("foreman_agent:Picky", "cannot be made"),
        ("foreman_nowhere:Executor", "ModuleNotFoundError"),
        ("foreman_broken:Executor", "ZeroDivisionError"),
        ("foreman_agent", "foreman_agent"),
        (":Executor", ":Executor"),
    ],
)
def test_what_is_no_executor_stops_the_start(module: str, name: str, said: str) -> None:
    """A9: a name that leads to no executor is `config.invalid`, with the key and what was found."""
    with pytest.raises(ConfigError) as refusal:
        load_executor(name)
    assert refusal.value.code == "config.invalid"
    assert refusal.value.detail["key"] == "card.executor"
    assert said in refusal.value.detail["found"]
