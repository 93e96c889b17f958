"""What is recorded of a call that an agent refused or left unanswered: its words and ours apart (E6).

Decides nothing about what is done next.
"""

from locum.core.commands import Fail
from locum.core.errors import RemoteCallError
from locum.core.report import Artifact

from .office import Office

__all__ = ["FINAL", "not_asked", "refused_brief", "unwatchable", "words_of"]

FINAL = frozenset(
    {
        *("remote.not_found", "remote.too_large"),
        *("remote.unauthorized", "remote.version", "remote.extension"),
    }
)
"""What GetTask fails with and will again, however often it is asked (case S8, case C6, D10)."""

_GONE = "The agent no longer knows the task."
_CLOSED = "The agent refuses to be asked how the task stands."


def words_of(error: RemoteCallError) -> str:
    """What the agent said, with its own code, or the HTTP status where it gave none (K4).

    What happened, where there was no answer.
    """
    if error.agent_code is not None:
        return f"{error.said} (code {error.agent_code})".lstrip()
    if error.status is None or not error.said:
        return error.said or error.account
    return f"{error.said} (HTTP {error.status})"


def not_asked(error: RemoteCallError) -> str:
    """Why the agent could not be asked for the brief; what it said itself is in `error.said`."""
    if error.code == "remote.not_listable":
        return f"{error.account.rstrip('.')} ({error.code})"
    return f"The agent could not be asked for it ({error.code})"


def refused_brief(error: RemoteCallError, sub_task_id: str, agent_id: str, office: Office) -> Fail:
    """The end of what the agent surely did not take on (C7)."""
    return Fail(
        sub_task_id=sub_task_id,
        at=office.now(),
        actor=f"agent:{agent_id}",
        cause="send",
        code=error.code,
        text=error.said,
        account=error.account,
        delivery="refused",
        anomalies=error.anomalies,
    )


def unwatchable(
    error: RemoteCallError, sub_task_id: str, office: Office, artifacts: tuple[Artifact, ...]
) -> Fail:
    """The end of a task that is gone, or that cannot be asked about any more (D10)."""
    is_gone, is_unread = error.code == "remote.not_found", error.code == "remote.too_large"
    return Fail(
        sub_task_id=sub_task_id,
        at=office.now(),
        actor="locum",
        cause="recheck",
        code="remote.gone" if is_gone else error.code,
        text=error.said,
        account=error.account if is_unread else _GONE if is_gone else _CLOSED,
        anomalies=error.anomalies,
        artifacts=artifacts,
        result_bytes=office.settings.result_limit,
    )
