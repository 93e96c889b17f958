"""Who says it, and what it means in a life: what the tests of hearing share."""

from typing import Any

from locum.core.hearing import Verdict, weigh
from locum.core.report import RemoteReport, Source
from tests.lives import Life

__all__ = ["BELLS", "JUDGES", "verdict"]

BELLS: tuple[Source, ...] = ("stream", "send")
JUDGES: tuple[Source, ...] = ("get", "cancel")


def verdict(life: Life, report: RemoteReport, source: Source, **options: Any) -> Verdict:
    """What the report means in that life."""
    return weigh(life.sub_task, report, source, life.artifacts.whole, **options)
