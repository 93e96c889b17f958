"""Each kind of credential: how it goes onto a request, and which security schemes it meets (A3).

None of them knows where it may go; `placing.py` puts them on for configured origins only (A6).
"""

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import httpx
from a2a.types.a2a_pb2 import SecurityScheme

from locum.core.errors import RemoteCallError

from ...origins import Origin
from ...secret import Secret
from .security import Scopes
from .tokens import TokenSource

__all__ = [
    "QUERY_KEYS",
    "ApiKeyCredential",
    "BasicCredential",
    "BearerCredential",
    "Credential",
    "CustomCredential",
    "CustomCredentials",
    "MtlsCredential",
    "TokenCredential",
    "is_sendable",
]

QUERY_KEYS = "locum.query_keys"
"""Request extension: names and Secrets that belong into the query, put there by the transport."""


class CustomCredentials(Protocol):
    """Credentials that somebody else looks after (section G)."""

    async def resolve(self, audience: str, scopes: Sequence[str]) -> Mapping[str, str]:
        """Headers for requests to the origin `audience`, with the `scopes` its card asks for."""
        ...


class Credential(ABC):
    """One credential of an agent."""

    @abstractmethod
    def meets(self, scheme: SecurityScheme) -> bool:
        """True when a card that declares `scheme` is satisfied with this."""

    @abstractmethod
    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """Put it onto `request`; `scopes` are those that the card asks for."""

    async def renew(self, request: httpx.Request, scopes: Scopes) -> bool:
        """`request` was answered 401. True when something else is on it now."""
        return False


class BearerCredential(Credential):
    """A token that does not change."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    def meets(self, scheme: SecurityScheme) -> bool:
        """Whatever takes a Bearer token."""
        return _takes_bearer(scheme)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """As `Authorization`."""
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"


class BasicCredential(Credential):
    """A user name and a password (RFC 7617)."""

    def __init__(self, username: str, password: Secret) -> None:
        self._username, self._password = username, password

    def meets(self, scheme: SecurityScheme) -> bool:
        """HTTP's own Basic."""
        return _http_scheme(scheme) == "basic"

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """As `Authorization`."""
        pair = f"{self._username}:{self._password.reveal()}".encode()
        request.headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()


class ApiKeyCredential(Credential):
    """A key in a header, in the query or in a cookie."""

    def __init__(self, name: str, place: str, value: Secret) -> None:
        self._name, self._place, self._value = name, place, value

    def meets(self, scheme: SecurityScheme) -> bool:
        """A key of the same name in the same place; only a header's name has no case."""
        if not scheme.HasField("api_key_security_scheme"):
            return False
        asked = scheme.api_key_security_scheme
        same_name = asked.name == self._name
        if self._place == "header":
            same_name = asked.name.lower() == self._name.lower()
        return bool(same_name and asked.location.lower() == self._place)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """Where it belongs; for the query it is only handed down."""
        match self._place:
            case "query":
                keys = request.extensions.get(QUERY_KEYS, {})
                request.extensions[QUERY_KEYS] = {**keys, self._name: self._value}
            case "cookie":
                others = request.headers.get("Cookie", "").split("; ")
                kept = [pair for pair in others if pair and not pair.startswith(f"{self._name}=")]
                own = f"{self._name}={self._value.reveal()}"
                request.headers["Cookie"] = "; ".join([*kept, own])
            case _:
                request.headers[self._name] = self._value.reveal()


class TokenCredential(Credential):
    """A token that is fetched when it is needed."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def meets(self, scheme: SecurityScheme) -> bool:
        """Whatever takes a Bearer token."""
        return _takes_bearer(scheme)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """As `Authorization`. Raises RemoteCallError when there is no token to be had."""
        token = await self._source.token()
        request.headers["Authorization"] = f"Bearer {token.reveal()}"

    async def renew(self, request: httpx.Request, scopes: Scopes) -> bool:
        """Another token, unless the source has nothing but the refused one."""
        before = request.headers["Authorization"]
        self._source.forget(Secret(before.removeprefix("Bearer ")))
        await self.put_on(request, scopes)
        return bool(request.headers["Authorization"] != before)


class MtlsCredential(Credential):
    """A certificate. It goes with the connection (tls.py); here it only meets its scheme."""

    def meets(self, scheme: SecurityScheme) -> bool:
        """Mutual TLS."""
        return scheme.HasField("mtls_security_scheme")

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """Nothing: it is on the connection."""


class CustomCredential(Credential):
    """Whatever headers somebody else's object gives."""

    def __init__(self, inner: CustomCredentials) -> None:
        self._inner = inner

    def meets(self, scheme: SecurityScheme) -> bool:
        """Anything but a certificate, which cannot be a header; the rest is the object's business."""
        return not scheme.HasField("mtls_security_scheme")

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> None:
        """The headers. Raises RemoteCallError when the object fails or gives what cannot be sent."""
        try:
            headers = await self._inner.resolve(str(Origin.of(str(request.url))), scopes)
        except RemoteCallError:
            raise
        except Exception as error:  # noqa: BLE001 (anybody's code; its type is told)
            # Not chained and not quoted: what it says may hold the secret (G8).
            raise RemoteCallError(
                f"The credentials object failed ({type(error).__name__}); nothing was sent.",
                code="remote.credentials",
                kind="transient",
            ) from None
        for name, value in headers.items():
            if not _is_header(name) or not is_sendable(value):
                # Which one is not said: even a name may be a secret that slipped.
                raise RemoteCallError(
                    "The credentials object gave a header that cannot be sent; it has to give"
                    " names and values of printable ASCII.",
                    code="remote.credentials",
                    kind="refused",
                )
            request.headers[name] = value

    async def renew(self, request: httpx.Request, scopes: Scopes) -> bool:
        """Ask the object again; the same answer is not worth sending."""
        before = request.headers.multi_items()
        await self.put_on(request, scopes)
        return request.headers.multi_items() != before


def is_sendable(value: object) -> bool:
    """True when `value` can be a header's value: printable ASCII."""
    return isinstance(value, str) and value.isascii() and (value.isprintable() or not value)


def _is_header(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None


def _takes_bearer(scheme: SecurityScheme) -> bool:
    """OAuth 2 and OpenID Connect tokens are sent as Bearer, so any Bearer token may meet them."""
    kind = scheme.WhichOneof("scheme")
    is_token = kind in ("oauth2_security_scheme", "open_id_connect_security_scheme")
    return is_token or _http_scheme(scheme) == "bearer"


def _http_scheme(scheme: SecurityScheme) -> str:
    if scheme.HasField("http_auth_security_scheme"):
        return str(scheme.http_auth_security_scheme.scheme).lower()
    return ""
