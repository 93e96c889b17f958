"""What is asked with one request: its binding, its parameters, and what in it is secret.

Reads the request; changes nothing but the spelling of tenant and ids in a URL (A5, K3).
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from .faults import MalformedError
from .json_text import NotJsonError, dumped, read_json
from .notes import CallNotes
from .redaction import masked
from .words import one_line, redacted, words_of

__all__ = ["OWN_QUERY", "Asked", "RecentCredentials", "error_body", "malformed", "rest_url"]

OWN_QUERY: Final = "locum.own_query"
"""Request extension: the query (bytes) that the agent's own card gave its URL. No secret of ours."""
_RPC_MARK: Final = b'"jsonrpc"'
_EDGE: Final = 96
_REST_PATH: Final = re.compile(rb"/(?:message:(?:send|stream)|tasks(?:/.*)?|extendedAgentCard)$")
_OPEN_HEADERS: Final = frozenset(
    {
        *("a2a-extensions", "a2a-version", "accept", "accept-encoding", "cache-control"),
        *("connection", "content-length", "content-type", "host", "if-modified-since"),
        *("if-none-match", "traceparent", "tracestate", "transfer-encoding", "user-agent"),
        "x-participant-id",
    }
)
_OPEN_QUERY: Final = frozenset(
    {
        *("contextId", "historyLength", "includeArtifacts", "pageSize", "pageToken"),
        *("status", "statusTimestampAfter"),
    }
)
_CREDENTIALS_KEPT: Final = 32
_SHORTEST_SECRET: Final = 4
_SHORTEST_QUOTED: Final = 8
_FOR_HTML: Final = re.compile(r"[\"&'+<>`]")
_ESCAPES: Final = (r"\u{:04x}", r"\u{:04X}")
_WORDS: Final = 300


class RecentCredentials:
    """The latest credentials of an agent's requests, for an access token is renewed now and then:
    what an agent quotes may be the one before.
    """

    def __init__(self) -> None:
        self._kept: dict[str, None] = {}

    def add(self, credentials: Iterable[str]) -> None:
        """Keep these, and forget the oldest."""
        for one in filter(None, credentials):
            self._kept.pop(one, None)
            self._kept[one] = None
        for oldest in list(self._kept)[:-_CREDENTIALS_KEPT]:
            del self._kept[oldest]

    def __iter__(self) -> Iterator[str]:
        """They, as they are in a header or a query."""
        return iter(self._kept)


class Asked:
    """One request, as far as its answer depends on it. `before` are credentials sent earlier."""

    def __init__(
        self, request: httpx.Request, body: bytes, before: "RecentCredentials | None" = None
    ) -> None:
        self._request = request
        self._body = body
        self._before = before
        if before is not None:
            before.add(self._credentials())
        # The mark stands first or last; in the middle a part of a message could hold it too.
        self.rpc: Final = request.method == "POST" and (
            _RPC_MARK in body[:_EDGE] or _RPC_MARK in body[-_EDGE:]
        )

    def is_call(self, notes: CallNotes) -> bool:
        """True when this is the call that the notes are about, and no request on its behalf."""
        if notes.method == "AgentCard":
            return self._request.method == "GET"
        return self.rpc or bool(_REST_PATH.search(self._request.url.raw_path.partition(b"?")[0]))

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters of the call, empty when there are none."""
        try:
            value = msgspec.json.decode(self._body or b"{}")
        except msgspec.DecodeError:
            return {}
        if self.rpc and isinstance(value, dict):
            value = value.get("params")
        return value if isinstance(value, dict) else {}

    def without_secrets(self, error: dict[str, Any]) -> dict[str, Any]:
        """The agent's error, with whatever it quotes of our credentials masked (G8, case P10)."""
        secrets = self._secrets
        return {
            "code": error.get("code"),
            "message": redacted(str(error.get("message") or ""), secrets),
            "data": masked(error.get("data"), secrets),
        }

    def veiled(self, body: bytes, odd: list[str]) -> bytes:
        """The JSON of a result, with whatever it quotes of our credentials masked (G8).

        A credential that is quoted is rare: the body is only read when one is found in its bytes.
        """
        if not any(spelling in body for spelling in self._spellings):
            return body
        try:
            value, met = read_json(body)
        except NotJsonError:
            return body  # it answers nothing, and its words are masked where they are kept
        odd += [*met, "json.secret_quoted"]
        return dumped(masked(value, self._quotable))

    def masked(self, text: str) -> str:
        """The agent's text, with whatever it quotes of our credentials masked (G8)."""
        return redacted(text, self._secrets)

    def words(self, body: bytes) -> str:
        """The words of a body that is no JSON, masked before they are cut: no secret in halves."""
        return one_line(self.masked(words_of(body, len(body))), _WORDS)

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return _masks((*self._all_credentials(), *self._push_tokens()), _SHORTEST_SECRET)

    @cached_property
    def _quotable(self) -> tuple[str, ...]:
        """The secrets that are looked for in results: those too long to be words by chance."""
        return _masks(self._all_credentials(), _SHORTEST_QUOTED)

    @cached_property
    def _spellings(self) -> tuple[bytes, ...]:
        return tuple({text.encode() for one in self._quotable for text in _spellings(one)})

    def _all_credentials(self) -> Iterator[str]:
        yield from self._credentials()
        yield from self._before or ()

    def _credentials(self) -> Iterator[str]:
        for name, value in self._request.headers.items():
            if name.lower() not in _OPEN_HEADERS:
                yield value
                yield from _inside(value)
        own = httpx.QueryParams(self._request.extensions.get(OWN_QUERY, b"")).multi_items()
        for name, value in self._request.url.params.multi_items():
            if name not in _OPEN_QUERY and (name, value) not in own:
                yield value

    def _push_tokens(self) -> Iterator[str]:
        inline = self.params.get("configuration")
        for holder in (self.params, inline if isinstance(inline, dict) else {}):
            config = holder.get("taskPushNotificationConfig", holder)
            if isinstance(config, dict):
                yield str(config.get("token") or "")
                authentication = config.get("authentication")
                if isinstance(authentication, dict):
                    yield str(authentication.get("credentials") or "")


def _masks(secrets: Iterable[str], shortest: int) -> tuple[str, ...]:
    """The secrets and what they are in a URL, the longest first: none hides the rest of another."""
    long = {secret for secret in secrets if len(secret) >= shortest}
    long |= {quote(secret, safe=safe) for secret in long for safe in ("", "/")}
    return tuple(sorted(long, key=len, reverse=True))


def _spellings(secret: str) -> Iterator[str]:
    """How writers of JSON spell a text: with `/`, or with what HTML could trip over, escaped."""
    written = json.dumps(secret)[1:-1]
    yield from (written, written.replace("/", r"\/"))
    yield from (_FOR_HTML.sub(partial(_escaped, escape), secret) for escape in _ESCAPES)


def _escaped(escape: str, sign: re.Match[str]) -> str:
    return escape.format(ord(sign[0]))


def _inside(value: str) -> Iterator[str]:
    """The secrets in a header's value: a token behind its scheme, a password, cookies."""
    scheme, _, token = value.partition(" ")
    if token:
        yield token
    if scheme.lower() == "basic":
        try:
            yield base64.b64decode(token).decode("utf-8", "replace").partition(":")[2]
        except (binascii.Error, ValueError):
            pass
    for cookie in value.split(";"):
        yield cookie.partition("=")[2].strip()


def error_body(error: dict[str, Any], *, rpc: bool) -> dict[str, Any]:
    """The error as the SDK finds it in an answer of the binding."""
    code, message, data = error["code"], error["message"], error["data"]
    if rpc:
        said = {"code": code, "message": message, "data": data}
        return {"jsonrpc": "2.0", "id": None, "error": said}
    return {"error": {"code": code, "message": message, "details": data}}


def malformed(body: bytes, notes: CallNotes, asked: Asked) -> MalformedError:
    """The error for a body that answers nothing; its words are kept in the notes (K4)."""
    notes.error = asked.without_secrets({"message": asked.words(body)})
    words = notes.error["message"] or "nothing at all"
    return MalformedError(f"it answered with something else than A2A: {words}")


def rest_url(url: str, notes: CallNotes) -> str:
    """The URL with the call's tenant and ids percent-encoded in it (A5, K3).

    The SDK writes them into the path as they are, so that one with a `/`, `?`, `#` or `..` in it
    would ask for something else. What has no such path (JSON-RPC) comes back unchanged.
    """
    before = f"/{notes.tenant}" if notes.tenant else ""
    for path, spelled in _paths(notes):
        written = before + path
        if url.endswith(written):
            tenant = f"/{_segment(notes.tenant)}" if before else ""
            return url[: -len(written)] + tenant + spelled
    return url


def _paths(notes: CallNotes) -> Iterator[tuple[str, str]]:
    """The paths of a call over HTTP+JSON, as the SDK writes them and as they are to be."""
    if notes.task_id:
        configs = "/pushNotificationConfigs"
        tails = {
            f"{configs}/{notes.config_id}": f"{configs}/{_segment(notes.config_id)}",
            **{tail: tail for tail in (configs, ":cancel", ":subscribe", "")},
        }
        for tail, spelled in tails.items():
            yield f"/tasks/{notes.task_id}{tail}", f"/tasks/{_segment(notes.task_id)}{spelled}"
    for path in ("/message:send", "/message:stream", "/tasks", "/extendedAgentCard"):
        yield path, path


def _segment(text: str) -> str:
    """The text as one segment of a path, never one that means another level."""
    if text in (".", ".."):
        return text.replace(".", "%2E")
    return quote(text.encode("utf-8", "replace"), safe="")
