"""The credentials of one agent, put onto its requests: to configured origins and nowhere else (A6).

Each kind knows how it goes onto a request and which security schemes of a card it meets. Nothing
here shows a secret: not in a repr, an error or a log line (G8). A key in the query is handed down
in the request's extensions, below httpx's log line of the URL; `http.py` puts it there.
"""

import base64
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Protocol, assert_never

import httpx
from a2a.types.a2a_pb2 import AgentCard, SecurityScheme

from locum.core.errors import RemoteCallError, UnsupportedExtensionError

from ..origins import BadUrlError, Origin, OriginPattern
from ..secret import Secret
from ..settings_agents import (
    AgentSettings,
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    MtlsAuth,
    OAuth2Auth,
    OidcAuth,
)
from .security import Scopes, missing_schemes
from .tls import tls_context
from .tokens import TokenClient, TokenSource

__all__ = ["QUERY_KEYS", "Credentials", "CustomCredentials", "credentials_for"]

QUERY_KEYS = "locum.query_keys"
"""Request extension: names and Secrets that belong into the query, put there by the transport."""


class CustomCredentials(Protocol):
    """Credentials that somebody else looks after (section G)."""

    async def resolve(self, audience: str, scopes: Sequence[str]) -> Mapping[str, str]:
        """Headers for requests to the origin `audience`, with the `scopes` that its card asks for."""
        ...


class _Credential(Protocol):
    def meets(self, scheme: SecurityScheme) -> bool:
        """True when a card that declares `scheme` is satisfied with this."""
        ...

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        """Put it onto `request`; True when it came out otherwise than the last time."""
        ...

    def refused(self, request: httpx.Request) -> bool:
        """`request` was answered 401. True when another try may be worth it."""
        ...


class Credentials(httpx.Auth):
    """An httpx auth that puts every credential of one agent on each request to where it belongs."""

    def __init__(
        self, parts: Sequence[_Credential], allowed: Sequence[Origin | OriginPattern]
    ) -> None:
        self._parts = tuple(parts)
        self._allowed = tuple(allowed)
        self._known: dict[tuple[str, str, int | None], bool] = {}
        self._scopes: Scopes = ()

    def __repr__(self) -> str:
        kinds = ", ".join(type(part).__name__.strip("_") for part in self._parts)
        return f"<Credentials: {kinds or 'none'}>"

    def fits(self, card: AgentCard) -> tuple[str, ...]:
        """The names of the schemes that the card needs and nothing here meets; none: it fits (A3)."""
        return missing_schemes(card, self._meets)[0]

    def expect(self, card: AgentCard) -> None:
        """From now on ask for the scopes that an accepted card names."""
        self._scopes = missing_schemes(card, self._meets)[1]

    def _meets(self, scheme: SecurityScheme) -> bool:
        return any(part.meets(scheme) for part in self._parts)

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Put the credentials on; after a 401 once more, if they can be renewed (never in a loop)."""
        if not self._parts or not self._belong_at(request.url):
            yield request
            return
        for part in self._parts:
            await part.put_on(request, self._scopes)
        response = yield request
        if response.status_code != httpx.codes.UNAUTHORIZED:
            return
        renewable = [part for part in self._parts if part.refused(request)]
        renewed = [await part.put_on(request, self._scopes) for part in renewable]
        if any(renewed):
            yield request

    def _belong_at(self, url: httpx.URL) -> bool:
        place = (url.scheme, url.host, url.port)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._is_allowed(str(url))
        return known

    def _is_allowed(self, url: str) -> bool:
        try:
            origin = Origin.of(url)
        except BadUrlError:
            return False
        return any(
            allowed.matches(origin) if isinstance(allowed, OriginPattern) else allowed == origin
            for allowed in self._allowed
        )


class _Bearer:
    def __init__(self, token: Secret) -> None:
        self._token = token

    def meets(self, scheme: SecurityScheme) -> bool:
        return _takes_bearer(scheme)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return False

    def refused(self, request: httpx.Request) -> bool:
        return False


class _Basic:
    def __init__(self, username: str, password: Secret) -> None:
        self._username, self._password = username, password

    def meets(self, scheme: SecurityScheme) -> bool:
        return _http_scheme(scheme) == "basic"

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        pair = f"{self._username}:{self._password.reveal()}".encode()
        request.headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        return False

    def refused(self, request: httpx.Request) -> bool:
        return False


class _ApiKey:
    def __init__(self, name: str, place: str, value: Secret) -> None:
        self._name, self._place, self._value = name, place, value

    def meets(self, scheme: SecurityScheme) -> bool:
        if not scheme.HasField("api_key_security_scheme"):
            return False
        asked = scheme.api_key_security_scheme
        same_name = asked.name == self._name
        if self._place == "header":
            same_name = asked.name.lower() == self._name.lower()
        return bool(same_name and asked.location.lower() == self._place)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        match self._place:
            case "query":
                keys = request.extensions.get(QUERY_KEYS, {})
                request.extensions[QUERY_KEYS] = {**keys, self._name: self._value}
            case "cookie":
                others = request.headers.get("Cookie", "").split("; ")
                kept = [pair for pair in others if pair and not pair.startswith(f"{self._name}=")]
                request.headers["Cookie"] = "; ".join(
                    [*kept, f"{self._name}={self._value.reveal()}"]
                )
            case _:
                request.headers[self._name] = self._value.reveal()
        return False

    def refused(self, request: httpx.Request) -> bool:
        return False


class _Token:
    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def meets(self, scheme: SecurityScheme) -> bool:
        return _takes_bearer(scheme)

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        before = request.headers.get("Authorization")
        token = await self._source.token()
        request.headers["Authorization"] = f"Bearer {token.reveal()}"
        return bool(before != request.headers["Authorization"])

    def refused(self, request: httpx.Request) -> bool:
        self._source.forget(Secret(request.headers["Authorization"].removeprefix("Bearer ")))
        return True


class _Mtls:
    """The certificate goes with the connection (tls.py); here it only meets its scheme."""

    def meets(self, scheme: SecurityScheme) -> bool:
        return scheme.HasField("mtls_security_scheme")

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
        return False

    def refused(self, request: httpx.Request) -> bool:
        return False


class _Custom:
    def __init__(self, inner: CustomCredentials) -> None:
        self._inner = inner

    def meets(self, scheme: SecurityScheme) -> bool:
        # What it resolves to is its own business; a certificate cannot be a header.
        return not scheme.HasField("mtls_security_scheme")

    async def put_on(self, request: httpx.Request, scopes: Scopes) -> bool:
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
        changed = False
        for name, value in headers.items():
            if not _is_header(name) or not _is_value(value):
                # Which one is not said: even a name may be a secret that slipped.
                raise RemoteCallError(
                    "The credentials object gave a header that cannot be sent; it has to give"
                    " names and values of printable ASCII.",
                    code="remote.credentials",
                    kind="refused",
                )
            changed = changed or request.headers.get(name) != value
            request.headers[name] = value
        return changed

    def refused(self, request: httpx.Request) -> bool:
        return True


def _takes_bearer(scheme: SecurityScheme) -> bool:
    """OAuth 2 and OpenID Connect tokens are sent as Bearer, so any Bearer token may meet them."""
    is_token = scheme.WhichOneof("scheme") in (
        "oauth2_security_scheme",
        "open_id_connect_security_scheme",
    )
    return is_token or _http_scheme(scheme) == "bearer"


def _http_scheme(scheme: SecurityScheme) -> str:
    if scheme.HasField("http_auth_security_scheme"):
        return str(scheme.http_auth_security_scheme.scheme).lower()
    return ""


def _is_header(name: object) -> bool:
    return (
        isinstance(name, str)
        and name.isascii()
        and name.replace("-", "").replace("_", "").isalnum()
    )


def _is_value(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and (value.isprintable() or not value)


def credentials_for(
    agent: AgentSettings,
    environ: Mapping[str, str],
    *,
    custom: CustomCredentials | None = None,
    token_timeout: float = 10.0,
) -> Credentials:
    """The credentials that an agent's settings name, their secrets taken from `environ`.

    They go to the origins of `url` and `card_url` and to `allowed_hosts`. Raises
    UnsupportedExtensionError (`card.unsupported`) when a variable is not set or a file cannot be
    used, naming it: that agent cannot be used, the others can.
    """
    parts: list[_Credential] = [
        _credential(auth, environ, agent, token_timeout) for auth in agent.auth
    ]
    if custom is not None:
        parts.append(_Custom(custom))
    own = [Origin.of(url) for url in (agent.url, agent.card_url) if url]
    return Credentials(parts, [*own, *agent.allowed_hosts])


def _credential(
    auth: Auth, environ: Mapping[str, str], agent: AgentSettings, token_timeout: float
) -> _Credential:
    match auth:
        case BearerAuth():
            return _Bearer(_variable(auth.token_env, environ))
        case ApiKeyAuth():
            return _ApiKey(auth.name, auth.in_, _variable(auth.value_env, environ))
        case BasicAuth():
            return _Basic(auth.username, _variable(auth.password_env, environ))
        case OAuth2Auth() | OidcAuth():
            return _Token(_token_source(auth, environ, agent, token_timeout))
        case MtlsAuth():
            return _Mtls()
        case _:
            assert_never(auth)


def _token_source(
    auth: OAuth2Auth | OidcAuth,
    environ: Mapping[str, str],
    agent: AgentSettings,
    timeout: float,
) -> TokenSource:
    source = partial(
        TokenSource,
        TokenClient(tls_context(ca_file=agent.ca_file), timeout, agent.allow_insecure),
        client_id=auth.client_id,
        client_secret=_variable(auth.client_secret_env, environ),
        scopes=auth.scopes,
        audience=auth.audience,
    )
    if isinstance(auth, OAuth2Auth):
        return source(token_url=auth.token_url)
    return source(issuer=auth.issuer, allowed_hosts=auth.allowed_hosts)


def _variable(name: str, environ: Mapping[str, str]) -> Secret:
    # White space around it is what files and shells leave behind; inside it is a mistake.
    value = environ.get(name, "").strip()
    if not value:
        what = "is not set" if name not in environ else "is empty"
    elif not _is_value(value):
        what = "holds signs other than printable ASCII"
    else:
        return Secret(value)
    raise UnsupportedExtensionError(
        f"The environment variable {name}, which the agent's auth names, {what}.",
        detail={"variable": name},
    )
