"""Access tokens by client credentials: fetched once, kept until they run out, renewed when refused.

Talks to token endpoints and OpenID issuers only, never to an agent, and never follows a redirect.
What an endpoint answers is not repeated in errors, since it may repeat the secret.
"""

import asyncio
import base64
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import httpx

from locum.core.errors import Kind, RemoteCallError

from ...origins import BadUrlError, Origin, OriginPattern
from ...secret import Secret
from ..wire.faults import TooLargeError
from ..wire.notes import CALL
from ..wire.pool import open_pool

__all__ = ["TokenClient", "TokenSource"]

_LIMIT = 64 * 1024
_EARLY = 0.1
_EARLY_MOST = 60.0
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_ERRORS = frozenset(
    {
        "access_denied",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
    }
)
"""The words of RFC 6749, 6750 and 8707; an `error` that is another word is not repeated."""


@dataclass(frozen=True, slots=True)
class TokenClient:
    """How token endpoints are reached; `tls` None trusts the usual authorities.

    `timeout` is for one whole exchange, in seconds.
    """

    tls: ssl.SSLContext | None = None
    timeout: float = 10.0
    allow_insecure: bool = False

    async def get(self, url: str) -> dict[str, Any]:
        """The JSON object at `url`. Raises RemoteCallError."""
        status, answer = await self._exchange("GET", url, {}, {})
        if status != httpx.codes.OK:
            raise _failed(url, f"answered HTTP {status}", status=status)
        return answer

    async def post(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str], secret: Secret
    ) -> tuple[int, dict[str, Any]]:
        """The status and JSON object that the endpoint answers. Raises RemoteCallError.

        `secret` is what the form or the headers hold, and no error may.
        """
        return await self._exchange("POST", url, form, headers, secret)

    async def _exchange(
        self,
        verb: str,
        url: str,
        form: Mapping[str, str],
        headers: Mapping[str, str],
        secret: Secret | None = None,
    ) -> tuple[int, dict[str, Any]]:
        self._check(url)
        # It may be on behalf of a call, whose notes are about the agent and not about this.
        call = CALL.set(None)
        try:
            async with (
                asyncio.timeout(self.timeout),
                # Of the agents' pool, which lets nobody log a head: it may quote the secret (G8).
                httpx.AsyncClient(
                    transport=open_pool(ssl_context=self.tls), trust_env=False, timeout=self.timeout
                ) as http,
                http.stream(
                    verb,
                    url,
                    data=dict(form) or None,
                    headers={"Accept": "application/json", "Accept-Encoding": "identity"}
                    | dict(headers),
                ) as response,
            ):
                body = b""
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > _LIMIT:
                        raise _failed(url, f"answered more than {_LIMIT} bytes", kind="refused")
                return response.status_code, _read(url, response, body, secret)
        except TimeoutError:
            raise _failed(url, f"did not answer within {self.timeout:g} s") from None
        except TooLargeError:
            raise _failed(url, "answered with too large a head", kind="refused") from None
        except httpx.HTTPError as error:
            # The text of transport errors names hosts and reasons, nothing of the request.
            raise _failed(url, f"cannot be reached ({type(error).__name__})") from error
        finally:
            CALL.reset(call)

    def _check(self, url: str) -> None:
        origin = Origin.of(url)
        if origin.scheme != "https" and not origin.is_loopback and not self.allow_insecure:
            raise _failed(
                url, "is plain HTTP off loopback; use https or allow_insecure", kind="refused"
            )


class TokenSource:
    """The access token for one agent.

    With `issuer`, the token endpoint is what the issuer's discovery document names; it has to be
    on the issuer's origin or on one of `allowed_hosts`, since it is given the client's secret (A6).
    """

    def __init__(
        self,
        client: TokenClient,
        *,
        client_id: str,
        client_secret: Secret,
        token_url: str = "",
        issuer: str = "",
        allowed_hosts: tuple[OriginPattern, ...] = (),
        scopes: tuple[str, ...] = (),
        audience: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._client_id = client_id
        self._client_secret = client_secret
        self._token_url = token_url
        self._issuer = issuer
        self._allowed_hosts = allowed_hosts
        self._scopes = scopes
        self._audience = audience
        self._clock = clock
        self._token: Secret | None = None
        self._good_until = 0.0
        self._in_form = False
        self._attempts = 0
        self._failure: RemoteCallError | None = None
        """Why the last attempt brought no token."""
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def token(self) -> Secret:
        """A token that is not about to run out.

        Many callers at once cause one request, and get its token or its failure; when the caller
        that makes it is cancelled, the next one makes another. Raises RemoteCallError:
        `remote.token_refused` (refused) or `remote.token_unavailable` (transient).
        """
        if self._is_good():
            return self._kept()
        attempts = self._attempts
        async with self._single_flight():
            if not self._is_good():
                if self._attempts == attempts or (self._token is None and self._failure is None):
                    await self._attempt()
                elif self._failure is not None:
                    raise _like(self._failure)
            return self._kept()

    def forget(self, token: Secret) -> None:
        """The agent refused `token`: the next `token()` fetches another, unless it has already."""
        if self._token == token:
            self._token = None

    def _is_good(self) -> bool:
        return self._token is not None and self._clock() < self._good_until

    def _kept(self) -> Secret:
        assert self._token is not None
        return self._token

    def _single_flight(self) -> asyncio.Lock:
        # A client may be used from several event loops, one after the other (G1).
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock

    async def _attempt(self) -> None:
        """Fetch a token, for all who wait for that by now."""
        try:
            await self._fetch()
        except RemoteCallError as error:
            self._attempts, self._failure = self._attempts + 1, _like(error)
            raise
        self._attempts, self._failure = self._attempts + 1, None

    async def _fetch(self) -> None:
        url = self._token_url or await self._discover()
        asked = self._clock()
        status, answer = await self._ask(url)
        unknown = status == httpx.codes.UNAUTHORIZED or answer.get("error") == "invalid_client"
        if unknown and not self._in_form:
            # Endpoints have to take Basic (RFC 6749 section 2.3.1), but some take the form only.
            self._in_form = True
            status, answer = await self._ask(url)
        if status != httpx.codes.OK:
            self._in_form = False
            said = answer.get("error")
            word = f" {said}" if isinstance(said, str) and said in _ERRORS else ""
            raise _failed(url, f"answered HTTP {status}{word}", status=status)
        token = answer.get("access_token")
        kind = answer.get("token_type", "Bearer")
        if (
            not isinstance(token, str)
            or not token
            or not token.isascii()
            or not token.isprintable()
        ):
            raise _failed(url, "answered without a usable access_token", kind="refused")
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise _failed(url, "answered with a token that is no Bearer token", kind="refused")
        self._token = Secret(token)
        life = _seconds(answer.get("expires_in"))
        self._good_until = asked + life - min(life * _EARLY, _EARLY_MOST)

    async def _ask(self, url: str) -> tuple[int, dict[str, Any]]:
        form = {"grant_type": "client_credentials"}
        if self._scopes:
            form["scope"] = " ".join(self._scopes)
        if self._audience:
            form["audience"] = self._audience
        headers: dict[str, str] = {}
        if self._in_form:
            form |= {"client_id": self._client_id, "client_secret": self._client_secret.reveal()}
        else:
            pair = f"{quote_plus(self._client_id)}:{quote_plus(self._client_secret.reveal())}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        return await self._client.post(url, form, headers, self._client_secret)

    async def _discover(self) -> str:
        where = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
        answer = await self._client.get(where)
        issuer, url = answer.get("issuer"), answer.get("token_endpoint")
        if not isinstance(issuer, str) or issuer.rstrip("/") != self._issuer.rstrip("/"):
            raise _failed(where, "names another issuer than the configured one", kind="refused")
        if not isinstance(url, str):
            raise _failed(where, "names no token_endpoint", kind="refused")
        try:
            origin = Origin.of(url)
        except BadUrlError as error:
            raise _failed(
                where, f"names an unusable token_endpoint: {error}", kind="refused"
            ) from None
        known = origin == Origin.of(self._issuer)
        if not known and not any(pattern.matches(origin) for pattern in self._allowed_hosts):
            raise _failed(
                where,
                f"names a token_endpoint at {origin}; put that into the auth's allowed_hosts if the"
                " client's secret may go there",
                kind="refused",
            )
        return url


def _read(url: str, response: httpx.Response, body: bytes, secret: Secret | None) -> dict[str, Any]:
    status = response.status_code
    if 300 <= status < 400:
        target = response.headers.get("location", "")
        raise _failed(
            url, f"redirects to {_target(target, secret)}, which is not followed", kind="refused"
        )
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise _failed(url, "answered compressed although not asked to", kind="refused")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return answer
    if status == httpx.codes.OK:
        raise _failed(url, "answered no JSON object", kind="refused")
    return {}


def _target(location: str, secret: Secret | None) -> str:
    if secret and secret.reveal().lower() in location.lower():
        return "an address that quotes what was sent"
    try:
        return str(Origin.of(location))
    except BadUrlError:
        return "another path of its own" if location.startswith("/") else "somewhere unreadable"


def _seconds(value: Any) -> float:
    """`expires_in`, also as a text; a token without one is kept until it is refused."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return float("inf")
    return seconds if seconds > 0 else 0.0


def _like(error: RemoteCallError) -> RemoteCallError:
    """The same error for another caller: one that is raised twice has a mixed up traceback."""
    return RemoteCallError(error.message, code=error.code, kind=error.kind, status=error.status)


def _failed(
    url: str, what: str, *, status: int | None = None, kind: Kind | None = None
) -> RemoteCallError:
    if kind is None:
        kind = "transient" if status is None or status in _RETRIED else "refused"
    name = "remote.token_refused" if kind == "refused" else "remote.token_unavailable"
    try:
        where = str(Origin.of(url))
    except BadUrlError:
        where = "of the configuration"
    return RemoteCallError(
        f"The token endpoint {where} {what}.", code=name, kind=kind, status=status
    )
