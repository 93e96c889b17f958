"""The HTTP API under `/v1`. Each route parses a request, calls the harness, and answers.

Nothing is decided here. The table at the end is the API at a glance.
"""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from litestar import MediaType, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter

from locum.core.errors import ServerError, StoreError
from locum.core.lifecycle import A2AState
from locum.projections import note_to_json, row_to_json
from locum.projections.moments import moment_to_json

from ..values import found_in, refusal
from .bodies import CancelBody, ReplyBody, SpawnBody, check_id, parts_of
from .feed import KEEP_ALIVE, EventStream
from .paths import segment
from .ports import HarnessPort
from .schema import answers_of, refusals_of, stream_of
from .shapes import AgentList, Completed, EventList, Note, NotificationPage, Replay, Row, RowList

__all__ = ["Api"]

Actor = Annotated[
    str | None,
    HeaderParameter(
        name="X-Actor", description="Who is behind this; at most 200 characters, else `api`."
    ),
]
CorrelationId = Annotated[
    str | None,
    HeaderParameter(
        name="X-Correlation-Id",
        description="Recorded with the events; at most 200 characters.",
    ),
]
_WAITS = ("created", "linked", "settled")
State = Annotated[
    str | None,
    QueryParameter(
        name="state",
        enum=[state.value for state in A2AState],
        description="Only rows in this state.",
    ),
]
Unresolved = Annotated[
    bool | None, QueryParameter(description="Only rows that are not (or are) terminal.")
]
After = Annotated[
    int, QueryParameter(ge=0, le=2**63 - 1, description="The cursor of the last one seen.")
]
Version = Annotated[
    int | None, QueryParameter(ge=1, le=2**63 - 1, description="As of this event; not beside `at`.")
]
At = Annotated[
    str | None, QueryParameter(description="As of this time, RFC 3339; by default as it is now.")
]
AfterRow = Annotated[
    str | None,
    QueryParameter(name="after", description="The id of the last sub-task seen, as in `next`."),
]
_ROWS = 1000
Limit = Annotated[int, QueryParameter(ge=1, le=_ROWS, description="How many at the most.")]
Wait = Annotated[str, QueryParameter(enum=list(_WAITS), description="Until when the answer waits.")]
WaitTimeout = Annotated[
    float, QueryParameter(ge=0, le=300, description="Seconds; then the row as it is.")
]


_STREAM = (
    "Server-sent events without an end, also while nothing happens: `event` is `notification`, `id`"
    " the cursor, `data` the notification as JSON in one line. Comments keep the connection alive."
)

Json = dict[str, Any]


class Api:
    """The routes under `/v1`."""

    def __init__(
        self, harness: HarnessPort, *, stopping: asyncio.Event, keep_alive: float = KEEP_ALIVE
    ) -> None:
        self._harness = harness
        self._stopping = stopping
        self._keep_alive = keep_alive

    async def agents(self) -> Json:
        """Every agent that is configured, with the reason where its card was refused."""
        return {"agents": self._harness.agents()}

    async def roster(self) -> str:
        """The roster as a model reads it."""
        return self._harness.roster()

    async def spawn(
        self,
        parent_id: FromPath[str],
        data: JSONBody[SpawnBody],
        wait: Wait = "created",
        wait_timeout: WaitTimeout = 30.0,
        actor: Actor = None,
        correlation_id: CorrelationId = None,
    ) -> Json:
        """Hand out a sub-task. It is recorded when this answers."""
        _check_choice(wait, "wait", _WAITS)
        row = await self._harness.spawn(
            _parent(parent_id),
            agent=data.agent,
            goal=data.goal,
            name=data.name,
            description=data.description,
            acceptance_criteria=data.acceptance_criteria,
            parts=parts_of(data.parts),
            timeout=data.timeout,
            idempotency_key=data.idempotency_key,
            follows=data.follows,
            **_caller(actor, correlation_id),
        )
        if wait != "created":
            until = self._harness.linked if wait == "linked" else self._harness.settled
            # It is recorded, so the answer is its row, however the waiting went.
            with suppress(TimeoutError, ServerError, StoreError):
                await until(row.id, timeout=wait_timeout)
            with suppress(ServerError, StoreError):
                row = await self._harness.sub_task(row.id)
        return row_to_json(row)

    async def rows(
        self,
        parent_id: FromPath[str],
        in_state: State = None,
        unresolved: Unresolved = None,
        after: AfterRow = None,
        limit: Limit = _ROWS,
    ) -> Json:
        """A parent's sub-tasks, oldest first; `next` is there when there are more."""
        wanted = None if in_state is None else _state(in_state)
        if after is not None:
            # Past one that is not there would be nothing, which reads like the end.
            await self._harness.sub_task(check_id(after, "after"))
        rows = await self._harness.rows(
            _parent(parent_id), wanted, unresolved, after=after, limit=limit + 1
        )
        page: Json = {"sub_tasks": [row_to_json(row) for row in rows[:limit]]}
        if len(rows) > limit:
            page["next"] = rows[limit - 1].id
        return page

    async def row(self, sub_task_id: FromPath[str]) -> Json:
        """One sub-task with all of its artifacts."""
        return row_to_json(await self._harness.sub_task(_sub_task(sub_task_id)))

    async def reply(
        self,
        sub_task_id: FromPath[str],
        data: JSONBody[ReplyBody],
        actor: Actor = None,
        correlation_id: CorrelationId = None,
    ) -> Json:
        """Answer the open question. It is recorded when this answers, and sent after."""
        row = await self._harness.reply(
            _sub_task(sub_task_id),
            data.text,
            parts=parts_of(data.parts),
            question=data.question,
            **_caller(actor, correlation_id),
        )
        return row_to_json(row)

    async def cancel(
        self,
        sub_task_id: FromPath[str],
        data: JSONBody[CancelBody | None] = None,
        actor: Actor = None,
        correlation_id: CorrelationId = None,
    ) -> Json:
        """Cancel a sub-task; one that has ended stays as it is."""
        row = await self._harness.cancel(
            _sub_task(sub_task_id),
            reason=data.reason if data else "",
            **_caller(actor, correlation_id),
        )
        return row_to_json(row)

    async def events(self, sub_task_id: FromPath[str]) -> Json:
        """What was recorded, event by event, with the hashes that chain them."""
        return {"events": await self._harness.events(_sub_task(sub_task_id))}

    async def replay(
        self, sub_task_id: FromPath[str], version: Version = None, at: At = None
    ) -> Json:
        """The sub-task as it was at a version or a time, and what was to be done next (H4)."""
        if version is not None and at is not None:
            raise refusal("at", found="a time beside a version", accepted="one of the two")
        moment = await self._harness.replay(_sub_task(sub_task_id), version=version, at=at)
        return moment_to_json(moment)

    async def notifications(
        self,
        parent_id: FromPath[str],
        after: After = 0,
        limit: Limit = 100,
    ) -> Json:
        """A page of the parent's feed."""
        notes, cursor = await self._harness.notes(_parent(parent_id), after=after, limit=limit)
        return {"notifications": [note_to_json(note) for note in notes], "cursor": cursor}

    async def stream(
        self,
        parent_id: FromPath[str],
        after: After = 0,
        last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
    ) -> EventStream:
        """The parent's feed as server-sent events: `id` is the cursor, `data` a notification."""
        # A browser that connects again repeats the URL with its old `after`: the header is newer.
        start = after if last_event_id is None else _cursor(last_event_id)
        return EventStream(
            self._harness.notifications(_parent(parent_id), after=start),
            stopping=self._stopping,
            keep_alive=self._keep_alive,
        )

    async def complete(
        self,
        parent_id: FromPath[str],
        actor: Actor = None,
        correlation_id: CorrelationId = None,
    ) -> Json:
        """Complete the parent, which takes that all of its sub-tasks have ended (C8)."""
        await self._harness.complete(_parent(parent_id), **_caller(actor, correlation_id))
        return {"completed": True}

    async def cancel_parent(
        self,
        parent_id: FromPath[str],
        data: JSONBody[CancelBody | None] = None,
        actor: Actor = None,
        correlation_id: CorrelationId = None,
    ) -> Json:
        """Cancel all of the parent's unresolved sub-tasks (F5)."""
        rows = await self._harness.cancel_parent(
            _parent(parent_id),
            reason=data.reason if data else "",
            **_caller(actor, correlation_id),
        )
        return {"sub_tasks": [row_to_json(row) for row in rows]}

    def routes(self) -> list[HTTPRouteHandler]:
        """The API at a glance."""
        parent, one = "/v1/parents/{parent_id:str}", "/v1/sub-tasks/{sub_task_id:str}"
        feed = f"{parent}/notifications"
        says = answers_of
        return [
            get("/v1/agents", responses=says(200, AgentList, 401))(self.agents),
            get(
                "/v1/roster",
                media_type=MediaType.TEXT,
                response_description="The accepted agents, a text for a model (section B).",
                responses=refusals_of(401),
            )(self.roster),
            post(
                f"{parent}/sub-tasks",
                status_code=201,
                responses=says(201, Row, 400, 401, 404, 409, 413),
            )(self.spawn),
            get(f"{parent}/sub-tasks", responses=says(200, RowList, 400, 401, 404))(self.rows),
            get(one, responses=says(200, Row, 400, 401, 404))(self.row),
            post(
                f"{one}/reply", status_code=202, responses=says(202, Row, 400, 401, 404, 409, 413)
            )(self.reply),
            post(f"{one}/cancel", status_code=200, responses=says(200, Row, 400, 401, 404))(
                self.cancel
            ),
            get(f"{one}/events", responses=says(200, EventList, 400, 401, 404))(self.events),
            get(f"{one}/replay", responses=says(200, Replay, 400, 401, 404))(self.replay),
            get(feed, responses=says(200, NotificationPage, 400, 401))(self.notifications),
            get(
                f"{feed}/stream",
                media_type="text/event-stream",
                responses={**stream_of(Note, _STREAM), **refusals_of(400, 401)},
            )(self.stream),
            post(
                f"{parent}/complete", status_code=200, responses=says(200, Completed, 400, 401, 409)
            )(self.complete),
            post(f"{parent}/cancel", status_code=200, responses=says(200, RowList, 400, 401))(
                self.cancel_parent
            ),
        ]


def _parent(text: str) -> str:
    return check_id(segment(text), "parent_id")


def _sub_task(text: str) -> str:
    return check_id(segment(text), "sub_task_id")


def _caller(actor: str | None, correlation_id: str | None) -> dict[str, Any]:
    """Who is behind a command, and what it belongs to."""
    return {
        "actor": check_id(_words(actor), "X-Actor") if actor else "api",
        "correlation_id": (
            check_id(_words(correlation_id), "X-Correlation-Id") if correlation_id else None
        ),
    }


def _words(header: str) -> str:
    """A header's text: UTF-8 where it is that, since names are not all Latin."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _state(text: str) -> A2AState:
    _check_choice(text, "state", tuple(A2AState))
    return A2AState(text)


def _check_choice(text: str, field: str, choices: tuple[str, ...]) -> None:
    if text not in choices:
        raise refusal(field, found=found_in(text), accepted=f"one of {', '.join(choices)}")


def _cursor(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    accepted = "the id of an event of this stream"
    raise refusal("Last-Event-ID", found=found_in(text), accepted=accepted)
