"""The push route: agents ring here (D3, D5). Nothing of a push is kept or applied.

The order of the checks lets nobody find out which ids there are: size and time are judged before
the id is looked at, and whoever bears a wrong token gets one and the same answer, whatever else
may be wrong. Only the bearer of the right token learns more. What a body is called (its content
type) does not matter: it is read, or it cannot be.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Request, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from locum.core.errors import LocumError, RequestError

from ..settings import LimitSettings
from .claims import read_claim
from .paths import segment
from .ports import HarnessPort
from .reading import read_body
from .refusals import Refusals, source_of
from .schema import refusals_of

__all__ = ["PushRoute", "tokens_in"]

_TOKEN_HEADERS = (b"x-a2a-notification-token", b"a2a-notification-token")


class PushRoute:
    """`POST /a2a/push/{id}`."""

    def __init__(self, harness: HarnessPort, limits: LimitSettings) -> None:
        self._harness = harness
        self._refusals = Refusals(limits.push_refusals, time.monotonic)

    @property
    def refused(self) -> Mapping[str, int]:
        """How many pushes were refused so far, by reason."""
        return self._refusals.by_reason

    def routes(self) -> list[HTTPRouteHandler]:
        """The one route."""
        says = refusals_of(400, 401, 413, 429)
        return [
            post(
                "/a2a/push/{sub_task_id:str}",
                status_code=204,
                security=[{}],
                response_description="The push is taken; the task is looked at.",
                responses=says,
            )(self.ring)
        ]

    async def ring(self, sub_task_id: FromPath[str], request: Request[Any, Any, Any]) -> None:
        """Take a push: an A2A StreamResponse, with the token that was registered for it."""
        source = source_of(request.scope.get("client"))
        sub_task_id = segment(sub_task_id)
        tokens = tokens_in(request.scope["headers"])
        is_right = bool(tokens) and await self._harness.push_accepts(sub_task_id, tokens)
        wait = 0.0 if is_right else self._refusals.wait(source)
        if wait > 0:
            self._refusals.add_limited()
            raise _TooManyRefusedError(wait)
        try:
            body = await read_body(request.receive)
            if not is_right:
                raise _refused()
            claim = read_claim(body)
            if not self._harness.ring(
                sub_task_id, claim.remote_task_id, claim.state, claim.anomalies
            ):
                raise _refused()
        except RequestError as error:
            self._refusals.add(source, error.code.rpartition(".")[2])
            raise


class _TooManyRefusedError(LocumError):
    code = "push.limited"

    def __init__(self, wait: float) -> None:
        super().__init__(
            "Too many pushes from here were refused in the last minute; wait, or send the token"
            " that was registered."
        )
        self.retry_after = wait


def tokens_in(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """Every token that the headers present; each of them has to be the right one (D3).

    An `Authorization` of another scheme counts as a token, too, which then cannot match.
    """
    tokens: list[str] = []
    for name, value in headers:
        if name in _TOKEN_HEADERS:
            tokens.append(value.decode("latin-1").strip())
        elif name == b"authorization":
            said = value.decode("latin-1").strip()
            scheme, _, credentials = said.partition(" ")
            tokens.append(credentials.strip() if scheme.lower() == "bearer" else said)
    return tokens


def _refused() -> RequestError:
    return RequestError(
        "This push is refused. Send it for a task that locum watches, with the token that was"
        " registered for it.",
        code="push.refused",
    )
