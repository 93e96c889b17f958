"""A push that bears several headers: each of them has to be right (D3)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum

LATER = "2099-01-01T00:00:00Z"
HEADERS = ["x-a2a-notification-token", "a2a-notification-token", "authorization"]


def _header(name: str, token: str) -> tuple[str, str]:
    return (name, f"Bearer {token}" if name == "authorization" else token)


@pytest.mark.parametrize("wrong", HEADERS)
@pytest.mark.parametrize("place", ["first", "last"])
async def test_one_wrong_header_is_enough(wrong: str, place: str) -> None:
    """D3: beside right tokens in the other two headers, one that is wrong refuses the push, wherever
    it stands; without it they ring.
    """
    async with RawAgent("JSONRPC", push=True) as agent:
        agent.task = T("INPUT_REQUIRED", "which?", ts=LATER)
        agent.on("SendStreamingMessage", [EV(agent.task), EOF])
        async with locum({"a": agent.url}, push=True) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=10)
            await agent.seen("GetTask", timeout=5)
            token = str(agent.push_configs[-1]["token"])
            right: list[Any] = [_header(name, token) for name in HEADERS if name != wrong]
            bad = _header(wrong, "x" * len(token))
            given = [bad, *right] if place == "first" else [*right, bad]
            refused = await agent.push(headers=given, token_in=())
            assert refused.status == 401
            assert (await agent.push(headers=right, token_in=())).status == 204
