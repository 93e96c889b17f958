"""Artifacts put together from reports: what the tests of them share."""

from locum.core.artifacts import Artifacts
from locum.core.report import Artifact, RemoteReport, parts_text
from tests.lives import chunk, task

__all__ = ["HELLO", "snapshot", "together", "words"]


def together(*reports: RemoteReport, limit: int | None = None) -> Artifacts:
    """All reports taken in."""
    artifacts = Artifacts(limit=limit)
    for report in reports:
        artifacts.note(report)
    return artifacts


def snapshot(*artifacts: Artifact) -> RemoteReport:
    """What GetTask has."""
    return task("COMPLETED", artifacts=artifacts)


def words(artifacts: Artifacts) -> list[tuple[str, str]]:
    """Each artifact's id and text, in order."""
    return [(found.artifact_id, parts_text(found.parts)) for found in artifacts.whole]


HELLO = (
    chunk("a", "Hello, "),
    chunk("a", "big ", append=True),
    chunk("a", "world!", append=True, last=True),
)
