"""Errors as RFC 9457 problem documents with `code` (J2): the same one over HTTP and with `--json`.

`title` is the sentence that says what to do, `detail` the error's mapping for programs
(docs/adr/0040). Which errors leave the process is not decided here.
"""

from typing import Any

import msgspec

from locum.core.errors import LocumError

__all__ = ["INTERNAL", "Problem", "problem_of", "status_of"]

INTERNAL = 500
"""The status of an error that no client can cause."""

_BY_CODE = {
    "agent.unknown": 404,
    "client.timeout": 504,
    "history.no_time": 400,
    "history.no_version": 404,
    "request.foreign_host": 403,
    "request.foreign_origin": 403,
    "request.head_too_large": 431,
    "request.method_not_allowed": 405,
    "request.not_found": 404,
    "request.not_local": 403,
    "request.too_large": 413,
    "request.too_slow": 408,
    "request.unauthorized": 401,
    "push.limited": 429,
    "push.refused": 401,
    "push.unreadable": 400,
    "server.internal": INTERNAL,
    "sub_task.not_found": 404,
}
_BY_FAMILY = {
    "agent": 409,
    "card": 409,
    "client": 400,
    "history": 409,
    "parent": 409,
    "remote": 502,
    "request": 400,
    "server": 503,
    "store": 503,
    "sub_task": 409,
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem document. Members beyond RFC 9457's: `code`, and `detail` as an object."""

    type: str = "about:blank"
    title: str
    """What went wrong and what to do, in a sentence."""
    status: int
    detail: dict[str, Any] = {}
    """For programs, by `code`: `agent.unknown` has `valid`, `parent.unresolved` has `unresolved`."""
    code: str
    """Stable and dotted, such as `agent.unknown`."""


def status_of(error: LocumError) -> int:
    """The HTTP status that an error is answered with; 500 for one that no client can cause."""
    exact = _BY_CODE.get(error.code)
    if exact is not None:
        return exact
    return _BY_FAMILY.get(error.code.partition(".")[0], INTERNAL)


def problem_of(error: LocumError) -> Problem:
    """The document of an error, all that it says in it."""
    return Problem(
        title=error.message, status=status_of(error), detail=error.detail, code=error.code
    )
