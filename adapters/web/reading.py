"""How a request's body is read: counted as it arrives, within a time, measured, strictly (J3)."""

import asyncio
from collections.abc import Iterable
from typing import Any

from litestar import Request
from litestar.types import HTTPReceiveMessage, Receive

from locum.core.errors import RequestError

from ..json_measure import DEPTH_LIMIT, depth_of, is_crowded
from ..values import refusal
from .bodies import read_json
from .problems import ClientGoneError

__all__ = ["StrictRequest", "bounded", "check_json", "read_body", "replayed", "strict_request"]

Headers = Iterable[tuple[bytes, bytes]]


def bounded(receive: Receive, headers: Headers, limit: int, seconds: float) -> Receive:
    """`receive`, refusing a body past `limit` bytes or `seconds`.

    What it returns raises RequestError (`request.too_large`, `request.too_slow`), and ClientGoneError
    when the client hangs up before its body is through. After the body it only tells of a hang-up.
    """
    said = declared(headers)
    count, is_through = 0, False
    ends: float | None = None

    async def limited() -> HTTPReceiveMessage:
        nonlocal count, is_through, ends
        if is_through:
            return await receive()  # type: ignore[return-value] # an HTTP scope receives no other
        if said is not None and said > limit:
            raise _too_large(limit)
        now = asyncio.get_running_loop().time()
        ends = ends or now + seconds
        try:
            async with asyncio.timeout(ends - now):
                message = await receive()
        except TimeoutError:
            raise RequestError(
                f"The body did not arrive within {seconds:g} s; send it faster.",
                code="request.too_slow",
                detail={"seconds": seconds},
            ) from None
        if message["type"] != "http.request":
            raise ClientGoneError
        count += len(message["body"])
        if count > limit:
            raise _too_large(limit)
        is_through = not message.get("more_body", False)
        return message

    return limited


async def read_body(receive: Receive) -> bytes:
    """The whole body. Raises whatever `receive` does."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGoneError
        chunks.append(message["body"])
        if not message.get("more_body", False):
            return b"".join(chunks)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, and then what comes after it."""
    is_given = False

    async def given() -> HTTPReceiveMessage:
        nonlocal is_given
        if is_given:
            return await receive()  # type: ignore[return-value] # an HTTP scope receives no other
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return given


def declared(headers: Headers) -> int | None:
    """The length that the client announced, when it is a number."""
    for name, value in headers:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


def _too_large(limit: int) -> RequestError:
    return RequestError(
        f"The body is larger than {limit} bytes; send less.",
        code="request.too_large",
        detail={"limit": limit},
    )


def check_json(body: bytes, values: int, depth: int = DEPTH_LIMIT) -> None:
    """Measure JSON before anything reads it, whoever sent it: it may take minutes to read (J4).

    Raises RequestError, `request.too_large` for more than `values` values, `request.invalid` for
    what is nested deeper than `depth`.
    """
    if is_crowded(body, values):
        raise RequestError(
            f"The body holds more than {values} JSON values; send fewer, or files by URL.",
            code="request.too_large",
            detail={"limit": values},
        )
    if depth_of(body) > depth:
        raise refusal("", found="JSON that is nested too deeply", accepted=f"{depth} levels")
    if b"\0" in body:
        # In UTF-16 it would have been measured wrongly, and some readers take that.
        raise refusal("", found="a NUL byte", accepted="JSON in UTF-8")


class StrictRequest(Request[Any, Any, Any]):
    """A request whose JSON is read strictly into what its handler asks for (`bodies.read_json`).

    Litestar's own way converts (a text to a number) and forgets at which field it stumbled.
    """

    value_limit: int

    async def json(self) -> Any:
        """The body as the handler's `data`. Raises RequestError naming the field."""
        wanted = self.route_handler.parsed_fn_signature.parameters["data"].annotation
        body = await self.body()
        check_json(body, self.value_limit)
        return read_json(body, wanted)


def strict_request(value_limit: int) -> type[StrictRequest]:
    """The request class for `Litestar(request_class=…)`; a body has `value_limit` values at most."""
    return type("LimitedRequest", (StrictRequest,), {"value_limit": value_limit})
