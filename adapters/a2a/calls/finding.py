"""Look for the task that a message has started, when its answer was lost (I2, C7). Starts nothing.

Only the message id decides, and only where an agent shows it: an agent that ignores the filters
shows other tasks too, and one that leaves out the history shows nothing to go by.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from a2a.types.a2a_pb2 import Message, Role, Task

from locum.core.errors import RemoteCallError

from ..reports import Heard

__all__ = ["Page", "PageReader", "find_task"]

_PAGE_SIZE = 50
_PAGES = 20
_HISTORY = 100
_CLOSER_LOOKS = 20
_HIDDEN = 2
_SKEW = timedelta(minutes=10)
"""How far an agent's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of ListTasks: the tasks in the agent's order, and the token of the next page.

    `next_page_token` is empty on the last page; `total` is what the agent says, 0 for nothing.
    """

    tasks: tuple[Heard, ...]
    next_page_token: str
    total: int


class PageReader(Protocol):
    """Reads one page of an agent's tasks."""

    def __call__(
        self,
        *,
        context_id: str,
        since: datetime | None,
        page_token: str,
        page_size: int,
        history: int,
    ) -> Awaitable[Page]:
        """The page; raises RemoteCallError."""
        ...


async def find_task(
    message_id: str,
    *,
    since: datetime | None,
    context_id: str,
    read_page: PageReader,
    read_task: Callable[[str], Awaitable[Heard]],
) -> Heard | None:
    """The task whose history has the message, None when there surely is none.

    Raises RemoteCallError when the agent cannot be asked, and with code `remote.not_listable` when
    its answers leave it open: too many tasks, or tasks without their history.
    """
    # In a context of its own there are few tasks: no clock, ours or theirs, needs to be trusted.
    after = since - _SKEW if since is not None and not context_id else None

    def read(token: str) -> Awaitable[Page]:
        return read_page(
            context_id=context_id,
            since=after,
            page_token=token,
            page_size=_PAGE_SIZE,
            history=_HISTORY,
        )

    others: dict[str, int] = {}
    tokens = [""]
    for token in tokens:
        page = await read(token)
        for heard in page.tasks:
            if _has_message(heard, message_id):
                return heard
            others[heard.report.remote_task_id] = _cut(heard)
        if page.next_page_token and page.next_page_token not in tokens:
            tokens.append(page.next_page_token)
        if len(tokens) > _PAGES:
            raise _open(f"it has more than {_PAGES * _PAGE_SIZE} tasks to look through")
    if len(tokens) > 1:
        # The latest come first: a task that had news meanwhile has moved to where we were before.
        for heard in (await read("")).tasks:
            if _has_message(heard, message_id):
                return heard
    return await _look_closer(message_id, others, read_task)


async def _look_closer(
    message_id: str, others: dict[str, int], read_task: Callable[[str], Awaitable[Heard]]
) -> Heard | None:
    """Ask for tasks that were listed without the message, one by one: a list may show no more than
    the latest of each. First those of `others` that seem to have more of a history than was listed.
    """
    task_ids = sorted(others, key=others.__getitem__, reverse=True)
    for task_id in task_ids[:_CLOSER_LOOKS]:
        try:
            heard = await read_task(task_id)
        except RemoteCallError as error:
            if error.code == "remote.not_found":
                continue  # It went away since it was listed; there is nothing left to find.
            raise
        if _has_message(heard, message_id):
            return heard
        if others[task_id] == _HIDDEN and not _history_of(heard):
            raise _open("it does not show the history of its tasks")
    if sum(cut == _HIDDEN for cut in others.values()) > _CLOSER_LOOKS:
        raise _open("it lists its tasks without their history")
    return None


def _has_message(heard: Heard, message_id: str) -> bool:
    # Agents copy a context's history into each of its tasks: there the message may name its own.
    return any(
        message.message_id == message_id and message.task_id in ("", heard.report.remote_task_id)
        for message in _history_of(heard)
    )


def _cut(heard: Heard) -> int:
    """How surely a task has more of a history than was listed, 0 to `_HIDDEN`.

    A whole one begins with what somebody asked for.
    """
    history = _history_of(heard)
    if not 0 < len(history) < _HISTORY:
        return _HIDDEN
    return int(history[0].role == Role.ROLE_AGENT)


def _history_of(heard: Heard) -> list[Message]:
    return list(heard.payload.history) if isinstance(heard.payload, Task) else []


def _open(why: str) -> RemoteCallError:
    return RemoteCallError(
        f"The agent cannot say whether it has the message: {why}.",
        code="remote.not_listable",
        kind="in_doubt",
        method="ListTasks",
    )
