"""Every exception of the SDK, httpx, aiohttp and the wire as one typed RemoteCallError (K4).

Also the wire's own exceptions: httpx errors, so that the SDK wraps them like any other trouble of
the transport. Decides nothing about what is done next, beyond saying what may be done.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import httpx
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import Error as ProtoJsonError

from locum.core.errors import Kind, LocumError, RemoteCallError

from .notes import READS, CallNotes
from .words import one_line

__all__ = [
    "AddressRefusedError",
    "MalformedError",
    "NoTlsError",
    "RedirectRefusedError",
    "TooLargeError",
    "WireError",
    "error_for",
]


class WireError(httpx.TransportError):
    """Base of what the wire itself refuses. The message is for people and holds no secret."""


class RedirectRefusedError(WireError):
    """The agent redirects; locum never follows (A6). `target` has no query and no credentials."""

    def __init__(self, status: int, target: str) -> None:
        super().__init__(f"it answered with a redirect ({status}) to {target}")
        self.target = target


class TooLargeError(WireError):
    """An answer or a part of it is over its limit (J3)."""

    def __init__(self, what: str, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"{what} is over the limit of {limit} {unit}")
        self.limit = limit


class MalformedError(WireError):
    """The answer is not what the call asks for, and nothing can be made of it."""


class AddressRefusedError(httpx.ConnectError):
    """The guard of the pool refuses the agent's address (A4); nothing was sent."""


class NoTlsError(httpx.ConnectError):
    """The agent and we do not trust each other, or it speaks no TLS; nothing was sent.

    The message says what to do.
    """


_WORDS_LIMIT: Final = 1000
_UNREAD: Final = "its answer cannot be read"
_NO_JSON: Final = "its answer is no JSON"
_NO_TEXT: Final = "its answer is no text"
_DATA_LIMIT: Final = 4000

# By JSON-RPC code; over HTTP+JSON the same errors are known by their reason.
_BY_CODE: Final[dict[int, str]] = {
    -32001: "remote.not_found",
    -32002: "remote.not_cancelable",
    -32003: "remote.push_unsupported",
    -32004: "remote.unsupported",
    -32008: "remote.extension",
    -32009: "remote.version",
}
_CODE_OF_REASON: Final[dict[str, int]] = {
    reason: JSON_RPC_ERROR_CODE_MAP[error] for reason, error in A2A_REASON_TO_ERROR.items()
}
_BY_STATUS: Final[dict[int, tuple[str, Kind]]] = {
    401: ("remote.unauthorized", "refused"),
    403: ("remote.unauthorized", "refused"),
    408: ("remote.timeout", "in_doubt"),
    425: ("remote.busy", "transient"),
    429: ("remote.busy", "transient"),
    502: ("remote.unavailable", "in_doubt"),
    503: ("remote.busy", "transient"),
    504: ("remote.unavailable", "in_doubt"),
}
# The first that fits counts. None as the kind: in doubt when the request has left. The last column
# says what happened without a word that an agent may have written; None where the words have none.
_BY_FAULT: Final[tuple[tuple[type[BaseException], str, Kind | None, str, str | None], ...]] = (
    (
        RedirectRefusedError,
        "remote.redirected",
        "refused",
        "{}; redirects are never followed",
        "it answered with a redirect; redirects are never followed",
    ),
    (
        AddressRefusedError,
        "remote.address",
        "refused",
        "its address must not be dialled: {}",
        "its address must not be dialled",
    ),
    (TooLargeError, "remote.too_large", "in_doubt", "{}", None),
    (
        MalformedError,
        "remote.malformed",
        "in_doubt",
        "{}",
        "it answered with something else than A2A",
    ),
    (httpx.ConnectTimeout, "remote.unreachable", "transient", "it cannot be reached: {}", None),
    (httpx.ConnectError, "remote.unreachable", "transient", "it cannot be reached: {}", None),
    (httpx.PoolTimeout, "remote.busy", "transient", "nothing was sent: {}", None),
    (httpx.UnsupportedProtocol, "remote.unsendable", "refused", "nothing was sent: {}", None),
    (httpx.LocalProtocolError, "remote.unsendable", "refused", "nothing was sent: {}", None),
    (httpx.InvalidURL, "remote.unsendable", "refused", "nothing was sent: {}", None),
    (httpx.TimeoutException, "remote.timeout", "in_doubt", "no answer in time: {}", None),
    (httpx.DecodingError, "remote.malformed", "in_doubt", "its answer cannot be unpacked", None),
    (httpx.TransportError, "remote.reset", "in_doubt", "{}", None),
    (A2AClientTimeoutError, "remote.timeout", None, "no answer in time", None),
    (NotImplementedError, "remote.unsupported", "refused", "its card offers no such call", None),
    (ProtoJsonError, "remote.malformed", "in_doubt", f"{_UNREAD}: {{}}", _UNREAD),
    (json.JSONDecodeError, "remote.malformed", "in_doubt", f"{_NO_JSON}: {{}}", _NO_JSON),
    (UnicodeError, "remote.malformed", "in_doubt", f"{_NO_TEXT}: {{}}", _NO_TEXT),
    (RecursionError, "remote.malformed", "in_doubt", "its answer is nested too deep", None),
    (TimeoutError, "remote.timeout", None, "no answer in time", None),
    (OSError, "remote.reset", None, "{}", None),
    (asyncio.CancelledError, "remote.interrupted", None, "the call was broken off here", None),
)
# What an answer that is an error means, in our words.
_MEANT: Final[dict[str, str]] = {
    "remote.not_found": "it does not know the task",
    "remote.not_cancelable": "it does not let the task be cancelled",
    "remote.push_unsupported": "it takes no push configs",
    "remote.unsupported": "it does not support the call",
    "remote.extension": "it wants an extension to be used",
    "remote.version": "it does not speak this version of A2A",
    "remote.refused": "it refused the call",
    "remote.unauthorized": "it refused the call for lack of an authorisation",
    "remote.timeout": "it did not get the whole call in time",
    "remote.busy": "it was too busy to take the call",
    "remote.unavailable": "it was not there behind its gateway",
    "remote.failed": "it failed at the call",
}
_REASON: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def error_for(exc: BaseException, notes: CallNotes) -> RemoteCallError:
    """The one RemoteCallError for what a call raised; whatever it raised, there is one (K4).

    What the agent itself said counts most, then its HTTP status, then what went wrong on the way.
    A call that only reads is never in doubt for having been cut off: it may go out again.
    """
    chain = list(_chain(exc))
    for link in chain:
        if isinstance(link, RemoteCallError):
            return link
    for link in chain:
        if isinstance(link, WireError | AddressRefusedError):
            return _for_fault(link, notes)
    if notes.error is not None or (notes.status or 0) >= 400:
        return _for_answer(notes)
    for link in chain:
        if isinstance(link, A2AError) and type(link) in JSON_RPC_ERROR_CODE_MAP:
            said = {"code": JSON_RPC_ERROR_CODE_MAP[type(link)], "message": link.message}
            return _refusal(notes, said, notes.status)
    return _for_fault(_telling(chain), notes)


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """The exception and what led to it, each once."""
    seen: set[int] = set()
    link: BaseException | None = exc
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        context = None if link.__suppress_context__ else link.__context__
        # An error of ours that was being handled when the call was made did not lead to its trouble.
        link = link.__cause__ or (None if isinstance(context, LocumError) else context)


def _telling(chain: list[BaseException]) -> BaseException:
    """The link that says most: the transport's if there is one, the outermost otherwise."""
    for link in chain:
        if isinstance(link, httpx.TransportError):
            return link
    for link in chain:
        if any(isinstance(link, fault) for fault, *_ in _BY_FAULT):
            return link
    return chain[0]


def _for_answer(notes: CallNotes) -> RemoteCallError:
    said = notes.error or {"code": None, "message": "", "data": None}
    status = notes.status
    code = said.get("code")
    number = code if isinstance(code, int) else _CODE_OF_REASON.get(str(code))
    if number in _BY_CODE:
        return _refusal(notes, said, status)
    if isinstance(code, int) and 400 <= code < 600 and (status or 0) < 400:
        # google.rpc.Status names the HTTP status that the answer should have had.
        status = code
    if status in _BY_STATUS:
        name, kind = _BY_STATUS[status]
        return _answer_error(notes, name, kind, said, status)
    if number is not None and number < 0:
        return _refusal(notes, said, status)
    if (status or 0) >= 500:
        return _answer_error(notes, "remote.failed", "in_doubt", said, status)
    return _refusal(notes, said, status)


def _refusal(notes: CallNotes, said: dict[str, Any], status: int | None) -> RemoteCallError:
    code = said.get("code")
    number = code if isinstance(code, int) else _CODE_OF_REASON.get(str(code), 0)
    name = _BY_CODE.get(number, "remote.refused")
    return _answer_error(notes, name, "refused", said, status)


def _answer_error(
    notes: CallNotes, name: str, kind: Kind, said: dict[str, Any], status: int | None
) -> RemoteCallError:
    """The error that an answer is: what the agent said in it, or what can be said for it."""
    words, code = _words(said, notes, status), said.get("code")
    by = f"it answered HTTP {status}" if status else "it refused without saying why"
    return _error(
        notes,
        name,
        kind,
        words or by,
        status,
        code,
        said.get("data"),
        said=words,
        account=f"{_MEANT[name]}{_by_what(code, status)}",
    )


def _by_what(code: Any, status: int | None) -> str:
    """The agent's own code where it can only be a code, else the HTTP status of an error."""
    if isinstance(code, int) or (isinstance(code, str) and _REASON.fullmatch(code)):
        return f" (code {code})"
    return f" (HTTP {status})" if status and status >= 400 else ""


def _words(said: dict[str, Any], notes: CallNotes, status: int | None) -> str:
    """What the agent said; empty where it said nothing."""
    words = one_line(str(said.get("message") or ""), _WORDS_LIMIT)
    if status in (401, 403) and notes.challenge:
        words = f"{words} ({one_line(notes.challenge, _WORDS_LIMIT)})".strip()
    return words


def _for_fault(fault: BaseException, notes: CallNotes) -> RemoteCallError:
    text = _without_queries(one_line(str(fault), _WORDS_LIMIT)) or type(fault).__name__
    for type_, name, kind, words, account in _BY_FAULT:
        if isinstance(fault, type_):
            told = words.format(text)
            said = _said_in(fault, notes)
            return _error(notes, name, kind, told, notes.status, said=said, account=account or told)
    account = f"the call failed here ({type(fault).__name__})"
    if not notes.sent:
        return _error(notes, "remote.failed", "transient", text, notes.status, account=account)
    name = "remote.malformed" if isinstance(fault, A2AClientError | ValueError) else "remote.failed"
    return _error(notes, name, "in_doubt", text, notes.status, account=account)


def _said_in(fault: BaseException, notes: CallNotes) -> str:
    """The agent's own words in what went wrong on the way, where there are any."""
    if isinstance(fault, RedirectRefusedError):
        return fault.target
    if isinstance(fault, MalformedError) and notes.error is not None:
        return one_line(str(notes.error["message"]), _WORDS_LIMIT)
    return ""


def _error(
    notes: CallNotes,
    name: str,
    kind: Kind | None,
    words: str,
    status: int | None,
    agent_code: int | str | None = None,
    data: Any = None,
    *,
    said: str = "",
    account: str,
) -> RemoteCallError:
    if kind is None:
        kind = "in_doubt" if notes.sent else "transient"
    cut_off = name not in ("remote.too_large", "remote.malformed")
    if kind == "in_doubt" and notes.method in READS and cut_off:
        kind = "transient"
    who = f"Agent {notes.agent_id!r}" if notes.agent_id else "The agent"
    return RemoteCallError(
        f"{who}, {notes.method or 'call'}: {words}",
        code=name,
        kind=kind,
        method=notes.method,
        status=status,
        agent_code=agent_code,
        retry_after=notes.retry_after,
        data=_bounded(data),
        anomalies=notes.anomalies,
        said=said,
        account=_sentence(account),
    )


def _sentence(words: str) -> str:
    """The words as a sentence of their own: who "it" is, is said."""
    for short, whole in (("it ", "The agent "), ("its ", "The agent's ")):
        if words.startswith(short):
            return f"{whole}{words[len(short) :]}."
    return f"{words[:1].upper()}{words[1:]}."


def _bounded(data: Any) -> Any:
    """The agent's data, or the beginning of its JSON when it is long."""
    if data is None:
        return None
    text = json.dumps(data, ensure_ascii=False, default=str)
    return data if len(text) <= _DATA_LIMIT else text[:_DATA_LIMIT] + "…"


_URL: Final = re.compile(r"(https?://)(?:[^\s/?#'\"@]*@)?([^\s?#'\"]*)(?:[?#][^\s'\"]*)?")


def _without_queries(text: str) -> str:
    """The text, its URLs without credentials, query and fragment: a key may be in there (G8)."""
    return _URL.sub(r"\1\2", text)
