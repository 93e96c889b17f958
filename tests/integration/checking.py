"""A check of a test peer, quick, and what it found. No tests."""

from collections.abc import Mapping
from typing import Any

from locum.adapters.a2a.checkup.examination import Checkup, Patience, check_up
from locum.adapters.settings import Settings

__all__ = ["QUICK", "checked", "codes", "outcomes"]

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
