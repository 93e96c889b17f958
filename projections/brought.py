"""Which of an end's artifacts are its result or its reason, and which had been brought before (E7).

Pure. The last message's artifact is told by its words: they are the reason.
"""

from collections.abc import Iterable, Sequence

from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, Part, artifacts_text, parts_said

__all__ = ["brought_before", "parts_of", "told_apart"]


def told_apart(
    state: A2AState, artifacts: Sequence[Artifact], told: str
) -> tuple[Sequence[Artifact], Sequence[Artifact]]:
    """The artifacts that `told` comes from, and the rest. Of a success there is no rest."""
    if state is A2AState.COMPLETED:
        return artifacts, ()
    if not told.strip():
        return (), artifacts
    words = [parts_said(artifact.parts) for artifact in artifacts]
    if "\n".join(found for found in words if found.strip()) == told:
        return artifacts, ()
    pairs = list(zip(artifacts, words, strict=True))
    return (
        [artifact for artifact, found in pairs if found == told],
        [artifact for artifact, found in pairs if found != told],
    )


def brought_before(artifacts: Iterable[Artifact], told: str) -> str:
    """The text of what had been brought, unless `told` has it: then it is the reason."""
    words = artifacts_text(artifacts)
    return "" if words.strip() in told else words


def parts_of(artifacts: Iterable[Artifact]) -> list[Part]:
    """All parts of the artifacts, in order."""
    return [part for artifact in artifacts for part in artifact.parts]
