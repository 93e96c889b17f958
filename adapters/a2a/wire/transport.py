"""The tolerant transport below the SDK (section K): readable answers, bounded sizes and times.

a2a-sdk's client is used as it is and handed an httpx client on this transport. It decides nothing
about tasks, tries nothing again and follows no redirect (A6).
"""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from ...json_measure import is_crowded
from .answers import NOTHING, NoResultError, enveloped, error_in, mend_answer, result_in
from .asked import Asked, RecentCredentials, error_body, malformed, rest_url
from .bodies import EventStream, declared_kind, read_answer, read_body
from .budget import Budget, Place
from .faults import RedirectRefusedError, TooLargeError, error_for
from .framer import Framer
from .json_text import NotJsonError, dumped, read_json
from .notes import CALL, CallNotes, WireLimits
from .pool import Pool
from .shapes import look
from .sse import Kind
from .words import one_line, retry_after, target_of

__all__ = ["CALL", "Budget", "CallNotes", "WireClient", "WireLimits", "WireTransport", "error_for"]

_REDIRECTS: Final = frozenset({300, 301, 302, 303, 305, 307, 308})
_STREAMS: Final = frozenset({"SendStreamingMessage", "SubscribeToTask"})
_MAY_BE_EMPTY: Final = frozenset(
    {"CreateTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"}
)
# What describes the body as it came, and what would be kept for the next request.
_DROPPED: Final = frozenset(
    {
        *(b"connection", b"content-encoding", b"content-length", b"content-type", b"keep-alive"),
        *(b"set-cookie", b"trailer", b"transfer-encoding"),
    }
)
_STREAM_HEADERS: Final = (("content-type", "text/event-stream"),)
_WORDS: Final = 1000


class WireClient(httpx.AsyncClient):
    """An httpx client that spells the ids of the call into a REST URL (K3).

    It has to happen before httpx reads the URL: afterwards a `?` or a `..` of the id is the URL's.
    """

    def build_request(self, method: str, url: httpx.URL | str, **how: Any) -> httpx.Request:
        """The request, as httpx builds it."""
        notes = CALL.get()
        if notes is not None and isinstance(url, str):
            url = rest_url(url, notes)
        return super().build_request(method, url, **how)


class WireTransport(httpx.AsyncBaseTransport):
    """See the module. Belongs to one agent; `budget` may be shared by transports to the same.

    What it raises are httpx errors, which the SDK wraps; `error_for` unwraps them again.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        limits: WireLimits | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._inner = inner
        self._limits = limits or WireLimits()
        self._budget = budget or Budget()
        self._credentials = RecentCredentials()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The agent's answer, mended, in the head and body that the SDK expects."""
        asked = Asked(request, await request.aread(), self._credentials)
        notes = CALL.get()
        if notes is None or not asked.is_call(notes):
            # Not a call of A2A's (a token is fetched): its answer and its trouble are its own.
            notes = CallNotes("")
        notes.begin()
        notes.share = self._budget.share
        request.headers["Accept-Encoding"] = "identity"
        token = CALL.set(notes)
        try:
            if notes.streaming or notes.method in _STREAMS:
                return await self._stream(request, asked, notes)
            return await self._call(request, asked, notes)
        finally:
            CALL.reset(token)

    async def aclose(self) -> None:
        """Close the connections below, those of held streams too."""
        await self._inner.aclose()

    async def _pass_on(self, request: httpx.Request, notes: CallNotes) -> httpx.Response:
        # Only our own pool says when the first byte leaves.
        if not isinstance(self._inner, Pool):
            notes.leave()
        return await self._inner.handle_async_request(request)

    # A call that is no stream

    async def _call(self, request: httpx.Request, asked: Asked, notes: CallNotes) -> httpx.Response:
        own = request.extensions.get("timeout", {}).get("read")
        place = await self._budget.place(notes) if notes.is_patient else None
        try:
            async with asyncio.timeout(self._limits.call_time if own is None else own):
                if place is None:
                    place = await self._budget.place(notes)
                response = await self._pass_on(request, notes)
                try:
                    kind, body, named_error = await self._read(request, response, asked, notes)
                finally:
                    await response.aclose()
            # Its place is kept meanwhile, so that only so many answers wait to be understood.
            await notes.turn()
        except TimeoutError as late:
            raise _too_late(notes, place) from late
        finally:
            if place is not None:
                place.leave()
        if not notes.method:
            return _response(response, body, dropped=_DROPPED - {b"content-type"})
        if response.status_code >= 400 or named_error:
            return _refused(response, body, asked, notes)
        if is_crowded(body, self._limits.value_limit):
            raise TooLargeError("the answer", self._limits.value_limit, "values")
        if kind == "sse":
            notes.note(["http.stream_for_call"])
        return _answered(response, body, asked, notes)

    async def _read(
        self, request: httpx.Request, response: httpx.Response, asked: Asked, notes: CallNotes
    ) -> tuple[Kind, bytes, bool]:
        _read_head(request, response, asked, notes)
        if response.status_code >= 400:
            limit = self._limits.error_limit
            return "json", await read_body(response, notes, limit, cut=True), False
        is_card = notes.method == "AgentCard"
        limit = self._limits.card_limit if is_card else self._limits.event_limit
        if is_card or not notes.method:
            return "json", await read_body(response, notes, limit, cut=False), False
        return await read_answer(response, notes, limit, declared_kind(notes.content_type))

    # A stream

    async def _stream(
        self, request: httpx.Request, asked: Asked, notes: CallNotes
    ) -> httpx.Response:
        patience = None if notes.is_patient else self._limits.queue_time
        place = await self._budget.place(notes, patience)
        try:
            try:
                async with asyncio.timeout(self._limits.stream_first):
                    response = await self._pass_on(request, notes)
            except TimeoutError as late:
                raise _too_late(notes, place) from late
            try:
                _read_head(request, response, asked, notes)
                if response.status_code < 300:
                    return self._opened(response, asked, notes, place)
                body = await self._read_error(response, notes)
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()
        except BaseException:
            place.leave()
            raise
        place.leave()
        return _refused(response, body, asked, notes)

    def _opened(
        self, response: httpx.Response, asked: Asked, notes: CallNotes, place: Place
    ) -> httpx.Response:
        framer = Framer(notes, asked, declared_kind(notes.content_type), self._limits)
        stream = EventStream(response, notes, framer, self._limits, place)
        notes.response = stream
        return httpx.Response(
            response.status_code,
            headers=_STREAM_HEADERS,
            stream=stream,
            extensions=response.extensions,
        )

    async def _read_error(self, response: httpx.Response, notes: CallNotes) -> bytes:
        try:
            async with asyncio.timeout(self._limits.call_time):
                return await read_body(response, notes, self._limits.error_limit, cut=True)
        except TimeoutError as late:
            raise httpx.ReadTimeout("the answer did not end in time") from late


def _read_head(
    request: httpx.Request, response: httpx.Response, asked: Asked, notes: CallNotes
) -> None:
    """Note what the head says. Raises RedirectRefusedError (A6)."""
    status = response.status_code
    notes.sent = notes.answered = True
    notes.status = status
    notes.content_type = one_line(response.headers.get("content-type", ""), _WORDS)
    notes.retry_after = retry_after(response.headers.get("retry-after", ""), datetime.now(UTC))
    if status < 300:
        return
    # An agent may quote what it was sent wherever it has a word (G8).
    notes.challenge = one_line(asked.masked(response.headers.get("www-authenticate", "")), _WORDS)
    if notes.challenge:
        _rewrite(response, b"WWW-Authenticate", notes.challenge)
    if status in _REDIRECTS:
        target = target_of(asked.masked(response.headers.get("location", "")), request.url)
        raise RedirectRefusedError(status, target)


def _too_late(notes: CallNotes, place: Place | None) -> httpx.TimeoutException:
    if place is None:
        return httpx.PoolTimeout("too much is under way with this agent already")
    if not notes.sent:
        return httpx.ConnectTimeout("no connection in time")
    return httpx.ReadTimeout("the answer did not end in time")


def _refused(
    response: httpx.Response, body: bytes, asked: Asked, notes: CallNotes
) -> httpx.Response:
    """The answer with an error in it; its status stays, for whoever renews a token on a 401."""
    if not notes.method:
        return _response(response, body, dropped=_DROPPED - {b"content-type"})
    try:
        value, _ = read_json(body)
        error = error_in(value, failed=True, rpc=asked.rpc)
    except NotJsonError:
        words = asked.words(body)
        error = {"code": None, "message": words, "data": None} if words else None
    if error is None:
        return _response(response, b"")
    notes.error = said = asked.without_secrets(error)
    return _failed(response, said, asked)


def _failed(response: httpx.Response, said: dict[str, Any], asked: Asked) -> httpx.Response:
    """The error in the binding's own form. Over HTTP+JSON it is told by the status alone."""
    status = response.status_code
    if not asked.rpc and status < 400:
        code = said["code"]
        status = code if isinstance(code, int) and 400 <= code < 600 else 400
    return _response(response, dumped(error_body(said, rpc=asked.rpc)), status=status)


def _answered(
    response: httpx.Response, body: bytes, asked: Asked, notes: CallNotes
) -> httpx.Response:
    """The result, mended where it has to be."""
    is_card = notes.method == "AgentCard"
    quoted: list[str] = []
    body = asked.veiled(body, quoted)
    notes.note(quoted)
    if (is_card and not body.strip()) or look(body, notes.method, rpc=asked.rpc) is not None:
        return _response(response, body)
    odd: list[str] = []
    value: Any = NOTHING
    if body.strip():
        try:
            value, odd = read_json(body)
        except NotJsonError:
            if is_card:
                return _response(response, body)  # `cards` says what is wrong with it (A4)
            raise malformed(body, notes, asked) from None
        error = error_in(value, failed=False, rpc=asked.rpc)
        if error is not None:
            notes.note(odd)
            notes.error = said = asked.without_secrets(error)
            return _failed(response, said, asked)
    try:
        result = _result(value, asked, notes, odd)
    except NoResultError as nothing:
        raise malformed(body, notes, asked) from nothing
    notes.note(odd)
    return _response(response, dumped(enveloped(result, rpc=asked.rpc)))


def _result(value: Any, asked: Asked, notes: CallNotes, odd: list[str]) -> Any:
    try:
        result = result_in(value, rpc=asked.rpc, odd=odd)
    except NoResultError:
        if notes.method not in _MAY_BE_EMPTY:
            raise
        result = None
        odd.append("http.empty_answer")
    return mend_answer(notes.method, result, asked.params, odd)


def _response(
    response: httpx.Response,
    body: bytes,
    *,
    status: int | None = None,
    dropped: frozenset[bytes] = _DROPPED,
) -> httpx.Response:
    headers = _kept(response, dropped)
    if b"content-type" in dropped:
        headers.append((b"content-type", b"application/json"))
    return httpx.Response(
        response.status_code if status is None else status,
        headers=headers,
        content=body,
        extensions=response.extensions,
    )


def _kept(response: httpx.Response, dropped: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    # As bytes: a value may be anything (RFC 9110, 5.5), and httpx writes texts as ASCII.
    return [(n, v) for n, v in response.headers.raw if n.lower() not in dropped]


def _rewrite(response: httpx.Response, name: bytes, value: str) -> None:
    others = _kept(response, frozenset({name.lower()}))
    response.headers = httpx.Headers([*others, (name, value.encode())])
