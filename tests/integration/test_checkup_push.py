"""The check of an agent's push configs: created, listed, refused, deleted, or not there."""

from typing import Any

import pytest

from ..agents.frames import ERR
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import CREATE, DELETE, LIST, both, checked, codes


@both
async def test_what_is_odd_about_push_configs(binding: Any) -> None:
    """F1: a config is created as asked, listed, and gone when it is deleted."""
    async with RawAgent(binding) as agent:
        agent.on(CREATE, {"id": "x", "taskId": "t1", "url": "http://elsewhere.example/"})
        agent.on(LIST, {"configs": []}, {"configs": [{"id": "x", "taskId": "t1", "url": "u"}]})
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("push.changed", CREATE),
            ("push.not_listed", LIST),
            ("push.not_deleted", DELETE),
        }
        assert len(agent.calls(DELETE)) == 3


@both
@pytest.mark.parametrize(
    "answer, code",
    [
        (ERR(-32003, "no push here"), "remote.push_unsupported"),
        (ERR(-32603, "oops"), "remote.refused"),
        (ERR(-32602, "only public addresses"), None),
    ],
    ids=["unsupported", "broken", "not to loopback"],
)
async def test_push_configs_that_are_refused(binding: Any, answer: Any, code: str | None) -> None:
    """D2: a card that says push is held to it; an agent may refuse to push to loopback."""
    async with RawAgent(binding) as agent:
        agent.on(CREATE, answer)
        checkup = await checked(agent.url)
        assert codes(checkup) == ({(code, CREATE)} if code else set())
        assert len(agent.calls(DELETE)) == 1


@both
@pytest.mark.parametrize(
    "answer, code",
    [
        (ERR(-32001, "no such config"), None),
        (ERR(-32603, "no such config"), "remote.refused"),
        ((204, {}, b""), "http.empty_answer"),
    ],
    ids=["not found", "broken", "no content"],
)
async def test_configs_that_are_not_there(binding: Any, answer: Any, code: str | None) -> None:
    """F1: deleting a config that is not there changes nothing, however often."""

    async def delete(seen: Seen, reply: Reply) -> None:
        if any(config["id"] == seen.params["id"] for config in agent.push_configs):
            await agent.answer(seen, reply)
        else:
            await reply.play([answer])

    async with RawAgent(binding) as agent:
        agent.on(DELETE, delete)
        assert codes(await checked(agent.url)) == ({(code, DELETE)} if code else set())
