"""Talking to the running server, for the commands that change something. Knows only its API."""

import socket
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from locum.core.errors import LocumError, RequestError, ServerError

from ..origins import BadUrlError, Origin
from ..settings import Settings

__all__ = ["CANCEL_PATIENCE", "PATIENCE", "Server", "segment"]

PATIENCE = 60.0
"""Seconds that an answer may take."""
CANCEL_PATIENCE = 3600.0
"""Seconds that a cancel may take: as long as the server's `cancel_grace`, which is not known here."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - called, not bound to
"""Where a server that listens on all addresses is called on its own machine."""


class Server:
    """The HTTP API at `url`. Raises ServerError when there is none, LocumError for its problems."""

    def __init__(self, url: str, *, token: str | None, actor: str) -> None:
        try:
            Origin.of(url)
        except BadUrlError as error:
            raise RequestError(
                f"--server {url!r}: {error}; give a URL such as {_EXAMPLE}."
            ) from None
        # A header is bytes; the server reads them as UTF-8, since names are not all Latin.
        headers: list[tuple[bytes, bytes]] = [(b"X-Actor", actor[:200].encode(errors="replace"))]
        if token:
            headers.append((b"Authorization", b"Bearer " + token.encode("ascii")))
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False
        )

    @classmethod
    def of(cls, settings: Settings, url: str | None, *, actor: str) -> Self:
        """The server named by `--server`, else the one that the settings describe."""
        server = settings.server
        return cls(
            url or _url_of(server.host, server.port),
            token=server.api_token.reveal() if server.api_token else None,
            actor=actor,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON object that a GET is answered with."""
        return await self._call("GET", path, None)

    async def post(
        self, path: str, body: Mapping[str, Any], *, patience: float = PATIENCE
    ) -> dict[str, Any]:
        """The JSON object that a POST is answered with, within `patience` seconds."""
        return await self._call("POST", path, body, patience)

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, patience: float = PATIENCE
    ) -> dict[str, Any]:
        try:
            response = await self._client.request(
                method,
                path,
                json=None if body is None else dict(body),
                timeout=httpx.Timeout(PATIENCE, read=patience),
            )
        except UnicodeEncodeError as error:
            raise RequestError("An argument is not UTF-8 text; nothing was sent.") from error
        except httpx.ConnectError as error:
            raise ServerError(
                f"No locum server answers at {self.url}{_why(error)}. Start one with `locum serve`,"
                " or name another with --server."
            ) from error
        except httpx.HTTPError as error:
            raise ServerError(
                f"The server at {self.url} did not answer ({type(error).__name__}).",
                code="server.no_answer",
            ) from error
        return self._read(response)

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        """The object answered with. Raises the LocumError that a problem document tells of."""
        try:
            told = response.json()
            if response.is_success and isinstance(told, dict):
                return told
            title, code = str(told["title"]), str(told["code"])
            raise LocumError(title, code=code, detail=told.get("detail"))
        except (ValueError, KeyError, TypeError):
            said = f"{response.status_code} {response.reason_phrase}".strip()
            raise ServerError(
                f"What answers at {self.url} is not locum, by its answer ({said}). Name another"
                " with --server.",
                code="server.no_answer",
            ) from None


def _why(error: httpx.ConnectError) -> str:
    """Why nobody answers, when it is another reason than that nobody listens."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ssl.SSLError):
            reason = getattr(link, "verify_message", "") or link.reason or "no connection"
            return f" (TLS: {reason.replace('_', ' ').lower()})"
        if isinstance(link, socket.gaierror) and link.strerror:
            return f" ({link.strerror[:1].lower()}{link.strerror[1:]})"
        link = link.__cause__ or link.__context__
    return ""


_EXAMPLE = "http://127.0.0.1:8420"


def _url_of(host: str, port: int) -> str:
    if not port:
        raise RequestError(
            "server.port is 0, so where the server listens is known to itself only; name it with"
            " --server, by the URL that it logs."
        )
    return str(Origin.at(_EVERYWHERE.get(host, host), port))


def segment(text: str) -> str:
    """An id as one segment of a path. Raises RequestError for one that cannot be an id."""
    if not text:
        raise RequestError("An id is at least one character long; an empty text was given.")
    try:
        quoted = quote(text, safe="")
    except UnicodeEncodeError as error:
        raise RequestError("An id is UTF-8 text; nothing was sent.") from error
    # Dots alone would be taken for a way through the path.
    return quoted.replace(".", "%2E") if text in (".", "..") else quoted
