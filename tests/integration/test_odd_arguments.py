"""Arguments of the Python API that are of no use: refused by name, as the HTTP API's are (J2)."""

from typing import Any

import pytest

from locum.adapters import Harness
from locum.core.errors import RequestError
from tests.agents.raw import RawAgent
from tests.integration.support import locum

HUGE = 10**400


async def refused(harness: Harness, method: str, **given: Any) -> str:
    """What is said of the one argument that is refused; nothing is recorded."""
    with pytest.raises(RequestError) as refusal:
        await getattr(harness, method)(**given)
    (mistake,) = refusal.value.detail["errors"]
    assert refusal.value.code == "request.invalid"
    assert await harness.rows("p") == []
    return f"{mistake['path']}: {mistake['found']}"


@pytest.mark.parametrize(
    "field, value, said",
    [
        ("agent", ["a"], "agent: an array of 1 entry"),
        ("agent", {"a": 1}, "agent: an object"),
        ("agent", None, "agent: null"),
        ("follows", ["st-1"], "follows: an array of 1 entry"),
        pytest.param("timeout", HUGE, "timeout: a very large number", id="timeout-huge"),
        pytest.param("timeout", -HUGE, "timeout: a very large number", id="timeout-less"),
        ("timeout", float("nan"), "timeout: the number nan"),
        ("timeout", True, "timeout: true"),
        ("acceptance_criteria", 5, "acceptance_criteria: the number 5"),
        ("acceptance_criteria", "all", 'acceptance_criteria: the string "all"'),
        ("acceptance_criteria", ["all", 5], "acceptance_criteria[1]: the number 5"),
        ("parent_tasks", None, "parent_tasks: null"),
        ("parent_tasks", "t1", 'parent_tasks: the string "t1"'),
        ("parent_tasks", {"t1": 1}, "parent_tasks: an object"),
        ("parent_tasks", ["t1", ""], "parent_tasks[1]: an empty string"),
    ],
)
async def test_a_spawn(field: str, value: Any, said: str) -> None:
    """J2, C1, C11: the argument is named, with what was found; no bare exception."""
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        brief = {"parent_id": "p", "agent": "a", "goal": "count"}
        assert await refused(harness, "spawn", **(brief | {field: value})) == said


@pytest.mark.parametrize(
    "field, value, said",
    [
        ("question", "3", 'question: the string "3"'),
        ("question", 3.0, "question: the number 3.0"),
        ("question", True, "question: true"),
        ("question", 0, "question: the number 0"),
        pytest.param("question", HUGE**20, "question: a very large number", id="question-huge"),
        ("sub_task_id", ["st-1"], "sub_task_id: an array of 1 entry"),
    ],
)
async def test_a_reply(field: str, value: Any, said: str) -> None:
    """J2, C12: so it is with a reply."""
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        reply = {"sub_task_id": "st-1", "text": "red", field: value}
        assert await refused(harness, "reply", **reply) == said


async def test_a_cancel() -> None:
    """J2, F2: and with a cancel."""
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        assert await refused(harness, "cancel", sub_task_id={}) == "sub_task_id: an object"
