"""Talking to the running server, for the commands that change something. Knows only its API."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from locum.core.errors import LocumError, ServerError

from ..settings import Settings

__all__ = ["Server", "segment"]

PATIENCE = 60.0
"""Seconds that an answer may take beyond what a call waits for by itself."""


class Server:
    """The HTTP API at `url`. Raises ServerError when there is none, LocumError for its problems."""

    def __init__(self, url: str, *, token: str | None, actor: str) -> None:
        headers = {"X-Actor": actor.encode("ascii", "replace").decode()[:200]}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False
        )

    @classmethod
    def of(cls, settings: Settings, url: str | None, *, actor: str) -> Self:
        """The server named by `--server`, else the one that the settings describe."""
        token = settings.server.api_token
        host = settings.server.host
        at = f"[{host}]" if ":" in host else host
        return cls(
            url or f"http://{at}:{settings.server.port}",
            token=token.reveal() if token else None,
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

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON of a GET."""
        return await self._call("GET", path, None, query)

    async def post(self, path: str, body: Mapping[str, Any], **query: Any) -> Any:
        """The JSON of a POST."""
        return await self._call("POST", path, body, query)

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, Any]
    ) -> Any:
        given = {key: value for key, value in query.items() if value is not None}
        try:
            response = await self._client.request(
                method, path, json=None if body is None else dict(body), params=given
            )
        except httpx.ConnectError as error:
            raise ServerError(
                f"No locum server answers at {self.url}. Start one with `locum serve`, or name"
                " another with --server."
            ) from error
        except httpx.HTTPError as error:
            raise ServerError(
                f"The server at {self.url} did not answer ({type(error).__name__}).",
                code="server.no_answer",
            ) from error
        if response.is_error:
            raise _problem(response)
        return response.json()


def _problem(response: httpx.Response) -> LocumError:
    try:
        problem = response.json()
        return LocumError(
            str(problem["title"]), code=str(problem["code"]), detail=problem.get("detail")
        )
    except (ValueError, KeyError, TypeError):
        return ServerError(
            f"The server answered {response.status_code} {response.reason_phrase}; is it locum?",
            code="server.no_answer",
        )


def segment(text: str) -> str:
    """`text` as one segment of a path."""
    return quote(text, safe="")
