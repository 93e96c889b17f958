"""Opens the one HTTP client of an agent: its pool, the wire above it, its credentials. Sends nothing.

Both the card and the calls go through it, so that what holds for one holds for the other (A1, A6).
"""

import ssl
from collections.abc import Mapping
from urllib.parse import unquote_plus, urlencode

import httpx
from a2a.utils.constants import PROTOCOL_VERSION_1_0, VERSION_HEADER

from ..settings import Settings
from .credentials.kinds import QUERY_KEYS
from .credentials.placing import Credentials
from .wire.budget import Budget
from .wire.notes import WireLimits
from .wire.pool import Guard, open_pool
from .wire.transport import WireClient, WireTransport

__all__ = ["open_http", "wire_limits"]


def wire_limits(settings: Settings) -> WireLimits:
    """The limits that the settings put on answers (J3)."""
    limits = settings.limits
    return WireLimits(
        event_limit=settings.standin.event_limit,
        value_limit=limits.value_limit,
        card_limit=limits.card_limit,
        error_limit=limits.error_limit,
        header_limit=limits.header_limit,
        header_count=limits.header_count,
        call_time=limits.call_timeout,
        queue_time=limits.queue_timeout,
    )


def open_http(
    *,
    credentials: Credentials,
    limits: WireLimits,
    budget: Budget,
    tls: ssl.SSLContext | None = None,
    guard: Guard | None = None,
    connect_timeout: float = 10.0,
) -> httpx.AsyncClient:
    """The client; the caller closes it. It opens no connection before the first request.

    Every request carries `A2A-Version: 1.0` and no redirect is followed. There is no read timeout:
    the wire gives a call its time, and a held stream is quiet for as long as it likes (D8).
    """
    pool = open_pool(ssl_context=tls, guard=guard, limits=limits)
    return WireClient(
        transport=_QueryKeys(WireTransport(pool, limits, budget)),
        auth=credentials,
        headers={VERSION_HEADER: PROTOCOL_VERSION_1_0},
        follow_redirects=False,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=connect_timeout),
    )


class _QueryKeys(httpx.AsyncBaseTransport):
    """Puts keys that belong into the query there, below whatever logs or keeps a URL (G8)."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        keys = request.extensions.get(QUERY_KEYS)
        if keys:
            secrets = {name: secret.reveal() for name, secret in keys.items()}
            request = httpx.Request(
                request.method,
                _with_keys(request.url, secrets),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _with_keys(url: httpx.URL, keys: Mapping[str, str]) -> httpx.URL:
    """The URL with these keys behind its own query, of which the rest stays as it is written (A5).

    httpx would write the whole query anew: `%20` as `+`, `?flag` as `?flag=`.
    """
    own = url.query.decode("ascii").split("&") if url.query else []
    kept = [pair for pair in own if unquote_plus(pair.partition("=")[0]) not in keys]
    return url.copy_with(query="&".join([*kept, urlencode(keys)]).encode("ascii"))
