"""What GetTask says that may not be so, or no more: a second look that finds the same settles it."""

from locum.core.hearing import Verdict, heard_state, is_level, question_of, weigh
from locum.core.lifecycle import A2AState
from locum.core.report import Artifact, RemoteReport
from locum.core.subtask import SubTask

__all__ = ["Doubts"]


class Doubts:
    """The latest such word, and since when GetTask has stuck to it.

    A doubt is settled by a look one interval later (D7). An older time, and after a reply the very
    time of the question, say that it is the old one, as far as the agent tells: a slow agent may
    still be about to tell the next. Kept to for a long time, it is what the agent means (D8).
    """

    __slots__ = ("_long", "_said", "_short", "_since", "_wait")

    def __init__(self, *, short: float, long: float) -> None:
        self._short = short
        self._long = long
        self._said: tuple[A2AState | None, str] | None = None
        self._since = self._wait = 0.0

    def clear(self) -> None:
        """Something else was heard."""
        self._said = None

    def due_in(self, now: float) -> float | None:
        """Seconds until another look would settle it, None without a doubt."""
        return None if self._said is None else max(self._since + self._wait - now, 0.0)

    def settle(
        self,
        sub_task: SubTask,
        report: RemoteReport,
        artifacts: tuple[Artifact, ...],
        verdict: Verdict,
        now: float,
    ) -> bool:
        """True when what GetTask said has been said for long enough to be believed."""
        if not _would_count(sub_task, report, artifacts, verdict):
            self._said = None
            return False
        state = heard_state(sub_task, report)
        is_parked = state is not None and state.is_parked
        words = question_of(sub_task, report, artifacts)[0] if is_parked else ""
        if self._said != (state, words):
            self._said, self._since = (state, words), now
        is_old = is_level(sub_task, report) and sub_task.reply is not None
        self._wait = self._long if is_old or verdict is Verdict.STALE else self._short
        return now - self._since >= self._wait


def _would_count(
    sub_task: SubTask, report: RemoteReport, artifacts: tuple[Artifact, ...], verdict: Verdict
) -> bool:
    if verdict not in (Verdict.DOUBT, Verdict.STALE):
        return False
    return weigh(sub_task, report, "get", artifacts, confirmed=True) is Verdict.CHANGE
