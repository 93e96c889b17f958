"""A check of a test peer, quick, what it found, and what the peer is called by. No tests."""

from collections.abc import Mapping
from typing import Any

import pytest

from locum.adapters.a2a.checkup.examination import Checkup, Patience, check_up
from locum.adapters.settings import Settings

from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen

__all__ = [
    "CREATE",
    "DELETE",
    "LIST",
    "QUICK",
    "SEND",
    "STAMP",
    "SUBSCRIBE",
    "about_t1",
    "both",
    "checked",
    "codes",
    "outcomes",
]

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
SEND = "SendStreamingMessage"
SUBSCRIBE = "SubscribeToTask"
CREATE = "CreateTaskPushNotificationConfig"
LIST = "ListTaskPushNotificationConfigs"
DELETE = "DeleteTaskPushNotificationConfig"
STAMP = "2026-01-02T03:04:05Z"

QUICK = Patience(
    whole=20, card=2, first=2, step=2, listen=0.15, closing=0.2, settle=0.2, clearing=2, pause=0.05
)


async def checked(
    url: str,
    *,
    patience: Patience = QUICK,
    environ: Mapping[str, str] | None = None,
    agent: Mapping[str, Any] | None = None,
    **more: Any,
) -> Checkup:
    """The check of the agent at `url`; `agent` are further keys of `[[agents]]`."""
    table = {"id": "peer", "url": url, **(agent or {})}
    (settings,) = Settings.from_mapping({"agents": [table]}).agents
    return await check_up(settings, environ=environ or {}, patience=patience, **more)


def codes(checkup: Checkup) -> set[tuple[str, str]]:
    """The code and the method of each deviation."""
    return {(found.code, found.method) for found in checkup.findings}


def outcomes(checkup: Checkup) -> dict[str, str]:
    """What came of each step, by name."""
    return {step.name: step.outcome for step in checkup.steps}


def about_t1(agent: RawAgent, answer: Any) -> Any:
    """Answers about t1 with `answer`, about others as the model does."""

    async def handler(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            await reply.play([answer])
        else:
            await agent.answer(seen, reply)

    return handler
