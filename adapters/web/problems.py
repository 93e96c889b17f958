"""Errors as the door tells them: as problem documents (J2), of ours and of the framework's. Raises nothing.

What is not an error of ours becomes a bare 500: no stack trace, no text of it, ever leaves.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import Scope, Send

from locum.core.errors import LocumError, RequestError

from ..problem import INTERNAL, Problem, problem_of, status_of
from ..values import Mistake, accepted_in, found_in, refusal_of

__all__ = [
    "MEDIA_TYPE",
    "ClientGoneError",
    "problem_for",
    "refuse_websocket",
    "respond",
    "send_problem",
]

logger = logging.getLogger("locum.web")

MEDIA_TYPE = "application/problem+json"

# Litestar's own refusals, by status: what ours are called.
_LITESTAR = {
    401: "request.unauthorized",
    404: "request.not_found",
    405: "request.method_not_allowed",
    413: "request.too_large",
}


class ClientGoneError(Exception):
    """The client hung up while its request was read; nobody is left to answer."""


def problem_for(
    error: Exception, given: Mapping[str, str] | None = None
) -> tuple[Problem, dict[str, str]]:
    """The document of any exception, and the headers that go with it.

    `given` are the request's query parameters, to tell what was found in one.
    """
    headers: dict[str, str] = {}
    ours: LocumError | None = error if isinstance(error, LocumError) else None
    if isinstance(error, HTTPException):
        ours, headers = _translated(error, given or {}), dict(error.headers or {})
    if ours is None or (status := status_of(ours)) == INTERNAL:
        return _INTERNAL_PROBLEM, {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    retry_after = getattr(ours, "retry_after", None)
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, round(retry_after)))
    return problem_of(ours), headers


_INTERNAL_PROBLEM = Problem(
    title="locum failed at this. Its log has the reason; nothing was half-done.",
    status=INTERNAL,
    code="server.internal",
)


def _translated(error: HTTPException, given: Mapping[str, str]) -> LocumError | None:
    """A refusal of the framework's in our own words; None for its failures."""
    status = error.status_code
    if status >= INTERNAL:
        return None
    code = _LITESTAR.get(status, "request.invalid")
    if status == 404:
        return RequestError("There is nothing at this path. `/schema` lists what is.", code=code)
    if status == 405:
        return RequestError(
            "This path does not take this method. `Allow` lists which it takes.", code=code
        )
    mistakes = [_mistake(entry, given) for entry in error.extra or () if isinstance(entry, Mapping)]
    if mistakes:
        return refusal_of(mistakes)
    return RequestError(f"The request cannot be used: {error.detail}.", code=code)


def _mistake(entry: Mapping[str, Any], given: Mapping[str, str]) -> Mistake:
    key = str(entry.get("key", ""))
    if key == "data":
        return Mistake("", "nothing", "a JSON object")
    accepted = accepted_in(str(entry.get("message", ""))) or "what /schema describes"
    accepted = accepted.removesuffix(" or null")  # which no query can say
    return Mistake(key, found_in(given[key]) if key in given else "another value", accepted)


def respond(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Litestar's exception handler: the problem document of whatever was raised."""
    problem, headers = problem_for(error, request.query_params)
    if problem.status == INTERNAL and not isinstance(error, ClientGoneError):
        logger.error("%s %s failed", request.method, repr(request.scope["path"]), exc_info=error)
    return Response(
        content=msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=headers,
    )


async def send_problem(send: Send, error: Exception) -> None:
    """Answer with a problem document where no framework is in between."""
    await _send_as("http.response", send, error)


async def refuse_websocket(scope: Scope, send: Send) -> None:
    """Turn a WebSocket away, with a problem document where the server can send one."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1000, "reason": ""})
        return
    error = RequestError(
        "locum speaks no WebSocket. Send plain HTTP; feeds are server-sent events (`/schema`)."
    )
    await _send_as("websocket.http.response", send, error)


async def _send_as(kind: str, send: Any, error: Exception) -> None:
    problem, headers = problem_for(error)
    body = msgspec.json.encode(problem)
    raw = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()),
    ]
    await send({"type": f"{kind}.start", "status": HTTPStatus(problem.status), "headers": raw})
    await send({"type": f"{kind}.body", "body": body, "more_body": False})
