"""What the routes of `self` say where there is none: problem documents, like every path of ours (J2)."""

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from locum.core.errors import LocumError, RequestError

from ...problem import problem_of

__all__ = ["unrouted"]


async def unrouted(request: Request, error: Exception) -> Response:
    """The answer to a path or a method that A2A does not have (404, 405)."""
    headers: dict[str, str] = {}
    said: LocumError = RequestError(
        "A2A has nothing at this path. The agent card lists where the interfaces are.",
        code="request.not_found",
    )
    if isinstance(error, HTTPException) and error.status_code == 405:
        headers.update(error.headers or {})
        said = RequestError(
            "This path does not take this method. `Allow` lists which it takes.",
            code="request.method_not_allowed",
        )
    problem = problem_of(said)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        headers=headers,
        media_type="application/problem+json",
    )
