"""The door: who may come in (J1). It judges a request's Host, Origin, sender and token, nothing else.

Health and the push route have no door of their own here (a push bears its own token). The A2A
routes of `self` need no token, but a page on another origin drives neither them nor the API.
"""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from litestar.types import Scope

from locum.core.errors import RequestError

from ..origins import BadUrlError, Origin, literal_address
from ..secret import Secret
from ..settings import ServerSettings

__all__ = ["Area", "Door", "area_of"]

Area = Literal["open", "a2a", "api"]
"""`open`: no questions asked; `a2a`: no token asked; `api`: everything is."""

_OPEN = frozenset({"/healthz", "/readyz"})
_PUSH = "/a2a/push"
_FORWARDED = frozenset(
    {
        *(b"cf-connecting-ip", b"forwarded", b"true-client-ip", b"via", b"x-client-ip"),
        *(b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"),
    }
)
_A2A = frozenset({"/.well-known/agent-card.json", "/a2a", "/a2a/rest"})


def area_of(path: str) -> Area:
    """Which area a path (as `paths.routed_path` gives it) is in."""
    if path in _OPEN or path.startswith(_PUSH + "/"):
        return "open"
    if path in _A2A or path.startswith("/a2a/rest/"):
        return "a2a"
    return "api"


class Door:
    """Lets a request pass, or raises the RequestError that says why not and what to do."""

    def __init__(self, server: ServerSettings) -> None:
        self._token: Secret | None = server.api_token
        self._base = Origin.of(server.base_url) if server.base_url else None
        self._bound = Origin.at(server.host)
        self._knows = lru_cache(256)(self._judge_host)

    def check(self, scope: Scope, area: Area) -> None:
        """Raises RequestError with `request.foreign_host`, `.foreign_origin`, `.not_local` or
        `.unauthorized`; passes without a word otherwise.
        """
        if area == "open":
            return
        headers = _headers(scope)
        self._check_host(headers)
        self._check_origin(headers)
        if area == "api":
            self._check_sender(scope, headers)

    def _check_host(self, headers: Mapping[bytes, list[bytes]]) -> None:
        # A page whose name was rebound to this machine bears its own name as Host.
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._knows(hosts[0]):
            raise RequestError(
                "This Host is not ours. Call locum by a loopback address or by the host of"
                " server.base_url, and set server.base_url if it has another name.",
                code="request.foreign_host",
            )

    def _judge_host(self, host: bytes) -> bool:
        try:
            text = host.decode("ascii")
            if any(sign in text for sign in "/?#@\\"):
                return False
            origin = Origin.of(f"http://{text}")
        except (UnicodeDecodeError, BadUrlError):
            return False
        if origin.is_loopback or (self._base and origin.host == self._base.host):
            return True
        if self._bound.is_loopback:
            return False
        # Off loopback a token is asked for anyway, and a page cannot bear an address of ours as
        # its own name.
        return origin.host == self._bound.host or literal_address(origin.host) is not None

    def _check_origin(self, headers: Mapping[bytes, list[bytes]]) -> None:
        for value in headers.get(b"origin", ()):
            if not self._is_own(value, headers[b"host"][0]):
                raise RequestError(
                    "A page on another origin cannot drive locum. Open it from locum's own"
                    " address, or call from a program, which sends no Origin.",
                    code="request.foreign_origin",
                )

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        try:
            page = Origin.of(origin.decode("ascii"))
            return page in (self._base, Origin.of(f"{page.scheme}://{host.decode('ascii')}"))
        except (UnicodeDecodeError, BadUrlError):
            return False

    def _check_sender(self, scope: Scope, headers: Mapping[bytes, list[bytes]]) -> None:
        if self._token is None:
            if not _is_local(scope) or _is_forwarded(scope):
                raise RequestError(
                    "Without server.api_token only this machine may call; set one.",
                    code="request.not_local",
                )
            return
        values = headers.get(b"authorization", [])
        scheme, _, token = _text(values[0]).partition(" ") if len(values) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not self._token.matches(token.strip()):
            raise RequestError(
                "Send `Authorization: Bearer <token>` with the token of server.api_token.",
                code="request.unauthorized",
            )


def _headers(scope: Scope) -> dict[bytes, list[bytes]]:
    wanted: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        if name in (b"host", b"origin", b"authorization"):
            wanted.setdefault(name, []).append(value)
    return wanted


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _is_forwarded(scope: Scope) -> bool:
    """True for what a proxy hands on: it is near, and whom it speaks for may be anywhere."""
    return any(name in _FORWARDED for name, _ in scope["headers"])


def _is_local(scope: Scope) -> bool:
    """True for a sender on this machine, and for one that came over no network at all."""
    client = scope.get("client")
    if client is None:
        return True
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return True
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
