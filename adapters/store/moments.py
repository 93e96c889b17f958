"""A stored sub-task as it was at any version or time (H4)."""

from locum.projections.moments import Moment, moment_at, moments_of
from locum.projections.notifications import Notification

from .journal import Journal

__all__ = ["moment_in", "moments_in"]


async def moments_in(journal: Journal, sub_task_id: str) -> tuple[Moment, ...]:
    """Every moment of a sub-task so far. Raises SubTaskNotFoundError, HistoryError, StoreError."""
    events = await journal.events(sub_task_id)
    return moments_of(events, notes=await _notes(journal, sub_task_id))


async def moment_in(
    journal: Journal, sub_task_id: str, *, version: int | None = None, at: str | None = None
) -> Moment:
    """The moment of a version, of a time (RFC 3339), or the latest.

    Raises SubTaskNotFoundError, StoreError, and HistoryError for a version or a time that there is
    nothing of.
    """
    events = await journal.events(sub_task_id)
    return moment_at(events, version=version, at=at, notes=await _notes(journal, sub_task_id))


async def _notes(journal: Journal, sub_task_id: str) -> list[Notification]:
    await journal.views.wait(journal.position)
    row = await journal.views.row(sub_task_id)
    return [] if row is None else await journal.views.notes_of(row)
