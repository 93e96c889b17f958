"""The connections to an agent: aiohttp's pool as an httpx transport. Knows HTTP, and no A2A.

aiohttp's pool stays fast with thousands of connections. Its errors are mapped here with
one question in mind, since work must never be sent twice (C7): can the request have reached the
agent? `httpx.ConnectError`, `ConnectTimeout` and `UnsupportedProtocol` mean that it surely has not;
every other error means that it may have.
"""

import asyncio
import errno
import io
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable
from functools import cache
from typing import Final, NoReturn

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.http_exceptions import LineTooLong
from multidict import CIMultiDict
from yarl import URL

from ..names import Names
from .faults import AddressRefusedError, NoTlsError, TooLargeError
from .notes import CALL, WireLimits

__all__ = ["Guard", "Pool", "open_pool"]

Guard = Callable[[str, str], None]
"""Given a host and an IP address that it stands for; raises when it must not be dialled (A4)."""

# Servers commonly drop a connection after 5 idle seconds. One that is dropped while a send is on
# its way leaves the send in doubt, so ours are dropped first.
_KEEP_ALIVE: Final = 4.0
# Names are looked up again after so long, and at most so many at once.
_NAMES_KEPT: Final = 10.0
_NAMES_AT_ONCE: Final = 16
_READ_BUFFER: Final = 64 << 10
_LARGE_BODY: Final = 1 << 20
_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
_NOTHING_ADDED: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


def open_pool(
    *,
    ssl_context: ssl.SSLContext | None = None,
    guard: Guard | None = None,
    limits: WireLimits | None = None,
) -> httpx.AsyncBaseTransport:
    """A pool of connections without a limit of its own, without cookies, redirects and proxies.

    `ssl_context` None verifies against the usual authorities (httpx's, with `SSL_CERT_FILE`).
    `guard` is asked about every address before it is dialled, resolved or literal, so that a name
    that has come to mean another address is noticed, and again before anything is sent on a
    connection, which may be older than what the guard knows. Of a name's addresses those that it
    lets pass are dialled; when it refuses them all, what it raises becomes AddressRefusedError.
    Opens nothing before the first request; it belongs to the event loop of that request.
    """
    return Pool(ssl_context=ssl_context, guard=guard, limits=limits)


@cache
def _usual_ssl_context() -> ssl.SSLContext:
    # Loading the authorities takes tens of milliseconds; the context is never changed.
    return httpx.create_ssl_context()


class Pool(httpx.AsyncBaseTransport):
    """See `open_pool`."""

    def __init__(
        self,
        *,
        ssl_context: ssl.SSLContext | None = None,
        guard: Guard | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        self._ssl_context = ssl_context
        self._guard = guard
        self._limits = limits or WireLimits()
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response, as soon as its head is there; the body is read from its stream."""
        if self._closed:
            raise httpx.ConnectError("the connections to this agent are closed")
        self._check_literal(request.url.host)
        if self._session is None:
            self._session = self._open_session()
        timeout = request.extensions.get("timeout", {})
        body = await request.aread()
        try:
            response = await self._session.request(
                request.method,
                # As httpx has written it: the escapes of a path must not be undone (K3).
                URL(str(request.url), encoded=True),
                headers=CIMultiDict(request.headers.multi_items()),
                # Past a size aiohttp wants to be handed a file, which it writes in pieces.
                data=io.BytesIO(body) if len(body) > _LARGE_BODY else body or None,
                allow_redirects=False,
                ssl=self._tls(request.url.scheme),
                timeout=aiohttp.ClientTimeout(
                    # `connect` covers the look-up of the name too, which `sock_connect` does not.
                    connect=timeout.get("connect"),
                    sock_read=timeout.get("read"),
                ),
            )
        except AddressRefusedError:
            raise
        except (aiohttp.ClientError, OSError, RuntimeError, ValueError) as fault:
            notes = CALL.get()
            if notes is not None and not notes.sent:
                _raise_unsent(fault)
            _raise_for(fault, self._limits)
        # Its reason phrase is left out: httpx would log it, and the agent may quote a key in it (G8).
        return httpx.Response(
            response.status,
            headers=list(response.raw_headers),
            stream=_Body(response, self._limits),
            extensions={"http_version": b"HTTP/1.1"},
        )

    async def aclose(self) -> None:
        """Close every connection, those of open streams too."""
        self._closed = True
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _tls(self, scheme: str) -> ssl.SSLContext | bool:
        # Nothing is loaded for an agent that is only spoken to in the clear.
        return self._ssl_context or (_usual_ssl_context() if scheme == "https" else True)

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=_Connector(self._guard),
            request_class=_Request,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NOTHING_ADDED,
            auto_decompress=False,
            trust_env=False,
            read_bufsize=_READ_BUFFER,
            max_line_size=self._limits.header_limit,
            max_field_size=self._limits.header_limit,
            max_headers=self._limits.header_count,
            requote_redirect_url=False,
        )

    def _check_literal(self, host: str) -> None:
        if self._guard is not None:
            try:
                address = str(ipaddress.ip_address(host))
            except ValueError:
                return  # A name; its addresses are checked when it is resolved.
            _ask(self._guard, host, address)


class _Request(aiohttp.ClientRequest):
    """A request that tells the call's notes when its first bytes are about to leave."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        notes = CALL.get()
        if notes is None:
            return await super().send(conn)
        notes.leave()
        try:
            return await super().send(conn)
        except ValueError:
            # A header that cannot be written; it is noticed before anything is.
            notes.sent = False
            raise


class _Connector(aiohttp.TCPConnector):
    """Notes where each connection leads, and lets the guard see it before anything is sent."""

    def __init__(self, guard: Guard | None) -> None:
        super().__init__(
            limit=0,
            keepalive_timeout=_KEEP_ALIVE,
            resolver=_Resolver(guard),
            # What the connector keeps would not be shown to the guard again.
            use_dns_cache=False,
        )
        self._guard = guard

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[aiohttp.tracing.Trace],
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.connector.Connection:
        """A connection, a new one or one from before; raises AddressRefusedError."""
        connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        peer = transport.get_extra_info("peername") if transport is not None else None
        if peer:
            if self._guard is not None:
                try:
                    _ask(self._guard, req.url.host or "", peer[0])
                except AddressRefusedError:
                    connection.close()
                    raise
            notes = CALL.get()
            if notes is not None:
                notes.peer = peer[0]
        return connection


class _Resolver(AbstractResolver):
    """Resolves names like aiohttp does, and gives those addresses that the guard lets pass."""

    def __init__(self, guard: Guard | None) -> None:
        self._guard = guard
        self._names = Names(_NAMES_AT_ONCE)
        self._kept: dict[tuple[str, int, int], tuple[float, list[ResolveResult]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of `host`; raises AddressRefusedError when the guard refuses them all."""
        refusal: AddressRefusedError | None = None
        passed: list[ResolveResult] = []
        for result in await self._look_up(host, port, family):
            try:
                if self._guard is not None:
                    _ask(self._guard, host, result["host"])
            except AddressRefusedError as error:
                refusal = error
            else:
                passed.append(result)
        if refusal is not None and not passed:
            raise refusal
        return passed

    async def _look_up(
        self, host: str, port: int, family: socket.AddressFamily
    ) -> list[ResolveResult]:
        key, now = (host, port, family), asyncio.get_running_loop().time()
        good_until, found = self._kept.get(key, (now, []))
        if good_until <= now:
            found = [
                ResolveResult(
                    hostname=host,
                    host=address.host,
                    port=port,
                    family=address.family,
                    proto=address.protocol,
                    flags=_NUMERIC,
                )
                for address in await self._names.look_up(host, port, family, socket.AI_ADDRCONFIG)
            ]
            if len(self._kept) >= _NAMES_AT_ONCE:
                # Whoever has pushes sent by `self` may name ever new hosts (J3).
                self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > now}
            self._kept[key] = (now + _NAMES_KEPT, found)
        return found

    async def close(self) -> None:
        """Nothing is held: a look-up that is under way ends by itself."""


def _ask(guard: Guard, host: str, address: str) -> None:
    try:
        guard(host, address)
    except Exception as refusal:
        raise AddressRefusedError(f"{host} is {address}: {refusal}") from refusal


class _Body(httpx.AsyncByteStream):
    """The body of a response; closing it early closes the connection (D11)."""

    def __init__(self, response: aiohttp.ClientResponse, limits: WireLimits) -> None:
        self._response = response
        self._limits = limits

    def __aiter__(self) -> "_Body":
        # No generator: one that is not read to its end would have to be closed, too.
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, OSError, RuntimeError) as fault:
            _raise_for(fault, self._limits)
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        # Read to its end the connection is back in the pool already, and this closes nothing.
        self._response.close()


# None of aiohttp's errors is kept as a cause: their texts name the URL, where a key may be (G8).
_UNUSABLE: Final = (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)


def _raise_unsent(fault: Exception) -> NoReturn:
    """Raise the httpx error for a request of which no byte has left."""
    if isinstance(fault, ValueError) and not isinstance(fault, aiohttp.ClientError):
        raise httpx.LocalProtocolError(f"the request cannot be sent: {fault}") from None
    _raise_if_unreached(fault)
    raise httpx.ConnectError(f"nothing was sent: {fault}") from None


def _raise_for(fault: Exception, limits: WireLimits) -> NoReturn:
    """Raise the httpx error for a request that has left, unless the error itself denies it."""
    _raise_if_unreached(fault)
    if isinstance(fault, TimeoutError):
        raise httpx.ReadTimeout("the agent said nothing in time") from None
    if isinstance(fault, aiohttp.ServerDisconnectedError):
        raise httpx.RemoteProtocolError("the agent closed the connection unanswered") from None
    if isinstance(fault, aiohttp.ClientResponseError):
        _raise_for_head(fault, limits)
    if isinstance(fault, aiohttp.ClientPayloadError):
        raise httpx.ReadError("the answer was cut off") from None
    why = _tls_words(fault) or type(fault).__name__
    raise httpx.ReadError(f"the connection broke: {why}") from None


def _raise_if_unreached(fault: Exception) -> None:
    if isinstance(fault, aiohttp.ConnectionTimeoutError):
        raise httpx.ConnectTimeout("no connection in time") from None
    if isinstance(fault, aiohttp.ClientConnectorError):
        why = _tls_words(fault)
        if why:
            raise NoTlsError(f"{fault.host}:{fault.port}, {why}") from None
        raise httpx.ConnectError(_unreached(fault)) from None
    if isinstance(fault, _UNUSABLE):
        raise httpx.UnsupportedProtocol("this is no URL that can be dialled") from None


def _unreached(fault: aiohttp.ClientConnectorError) -> str:
    """Where nobody answered and why: `host:port, connection refused`. Once, not as aiohttp does."""
    trouble = fault.os_error
    number = trouble.errno or 0
    if isinstance(trouble, socket.gaierror) or number not in errno.errorcode:
        # A server that hangs up amid a handshake leaves an error without a number.
        hung_up = isinstance(trouble, ConnectionResetError)
        why = trouble.strerror or ("it hung up" if hung_up else "no connection")
    else:
        why = os.strerror(number)
    return f"{fault.host}:{fault.port}, {why[:1].lower()}{why[1:]}"


# X509_V_ERR_…: self-signed, alone or in the chain, and an issuer that is not there.
_UNKNOWN_SIGNERS: Final = frozenset({18, 19, 20, 21})


def _tls_words(fault: BaseException) -> str:
    """Why there is no TLS with the agent, or an empty text when it is not for that."""
    link: BaseException | None = fault
    # Some of aiohttp's own are SSLErrors, too, but without what is looked for.
    while isinstance(link, aiohttp.ClientError):
        link = getattr(link, "os_error", None) or link.__cause__
    if not isinstance(link, ssl.SSLError):
        return ""
    # Which of these it has depends on how far the handshake came.
    verified = getattr(link, "verify_message", "")
    if verified:
        unknown = getattr(link, "verify_code", 0) in _UNKNOWN_SIGNERS
        what_to_do = ": set ca_file to who signed it" if unknown else ""
        return f"its certificate is not trusted ({verified}){what_to_do}"
    said = (getattr(link, "reason", None) or "the handshake failed").replace("_", " ").lower()
    if " alert " in said:
        return f"it refuses our TLS ({said}): set auth of type mtls to a certificate that it takes"
    return f"no TLS ({said}): see whether that port speaks it"


def _raise_for_head(fault: aiohttp.ClientResponseError, limits: WireLimits) -> NoReturn:
    link: BaseException | None = fault
    while link is not None:
        if isinstance(link, LineTooLong):
            raise TooLargeError("a line of the answer's head", limits.header_limit) from None
        link = link.__cause__
    if fault.message.startswith("Too many headers"):
        raise TooLargeError("the answer's head", limits.header_count, "headers") from None
    raise httpx.RemoteProtocolError("the agent's answer is no HTTP") from None
