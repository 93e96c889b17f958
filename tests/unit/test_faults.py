"""Every exception becomes one typed error that says what may be done about it."""

import asyncio
import inspect
import json
import ssl
from typing import Any

import a2a.client.errors
import a2a.utils.errors
import aiohttp
import httpx
import pytest
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from google.protobuf.json_format import ParseError

from locum.adapters.a2a.wire.faults import (
    AddressRefusedError,
    MalformedError,
    RedirectRefusedError,
    TooLargeError,
    error_for,
)
from locum.adapters.a2a.wire.notes import CallNotes
from locum.core.errors import CardError, RemoteCallError


def notes_of(method: str = "SendMessage", **seen: Any) -> CallNotes:
    """The notes of a call of which so much was seen."""
    notes = CallNotes(method, agent_id="peer")
    for name, value in seen.items():
        setattr(notes, name, value)
    return notes


def wrapped(cause: BaseException) -> Exception:
    """The cause as the SDK hands it on."""
    try:
        try:
            raise cause
        except type(cause) as inner:
            raise a2a.client.errors.A2AClientError("Network communication error") from inner
    except a2a.client.errors.A2AClientError as outer:
        return outer


def classes_of(module: Any) -> list[type[Exception]]:
    """The exception classes that a module has."""
    return [
        one for _, one in inspect.getmembers(module, inspect.isclass) if issubclass(one, Exception)
    ]


def made(kind: type[BaseException]) -> BaseException:
    """An exception of the kind, however it is made."""
    if kind is httpx.HTTPStatusError:
        request = httpx.Request("GET", "http://x")
        return kind("bad", request=request, response=httpx.Response(500, request=request))
    if kind in (
        httpx.StreamConsumed,
        httpx.StreamClosed,
        httpx.ResponseNotRead,
        httpx.RequestNotRead,
    ):
        return kind()
    return kind("bad")


SDK = {*classes_of(a2a.utils.errors), *classes_of(a2a.client.errors)}
HTTPX = {
    one
    for name in httpx.__all__
    if inspect.isclass(one := getattr(httpx, name)) and issubclass(one, Exception)
}
OTHERS = {
    ParseError, ValueError, TypeError, KeyError, RuntimeError, RecursionError, OverflowError,
    NotImplementedError, AttributeError, ConnectionResetError, TimeoutError, OSError,
    asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, StopAsyncIteration, ssl.SSLError,
    aiohttp.ClientError, aiohttp.ServerDisconnectedError, MemoryError,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(SDK | HTTPX | OTHERS, key=str))
@pytest.mark.parametrize("sent", [False, True])
def test_there_is_an_error_for_everything(kind: type[BaseException], sent: bool) -> None:
    """K4: the mapping is total, whatever the SDK, httpx, aiohttp or Python raise."""
    error = error_for(made(kind), notes_of(sent=sent))
    assert isinstance(error, RemoteCallError)
    assert error.code.startswith("remote.")
    assert error.kind in ("refused", "transient", "in_doubt")
    assert error.method == "SendMessage"


@pytest.mark.parametrize(
    "fault,code,kind",
    [
        (httpx.ConnectError("refused"), "remote.unreachable", "transient"),
        (httpx.ConnectTimeout("late"), "remote.unreachable", "transient"),
        (httpx.PoolTimeout("full"), "remote.busy", "transient"),
        (httpx.ReadTimeout("late"), "remote.timeout", "in_doubt"),
        (httpx.WriteTimeout("late"), "remote.timeout", "in_doubt"),
        (httpx.ReadError("cut"), "remote.reset", "in_doubt"),
        (httpx.WriteError("cut"), "remote.reset", "in_doubt"),
        (httpx.RemoteProtocolError("hung up"), "remote.reset", "in_doubt"),
        (httpx.UnsupportedProtocol("ftp"), "remote.unsendable", "refused"),
        (httpx.DecodingError("zip"), "remote.malformed", "in_doubt"),
        (RedirectRefusedError(302, "http://y/z"), "remote.redirected", "refused"),
        (TooLargeError("an event", 5), "remote.too_large", "in_doubt"),
        (MalformedError("HTML"), "remote.malformed", "in_doubt"),
        (AddressRefusedError("x is 10.0.0.1"), "remote.address", "refused"),
        (json.JSONDecodeError("no", "x", 0), "remote.malformed", "in_doubt"),
        (ParseError("no"), "remote.malformed", "in_doubt"),
        (NotImplementedError("no"), "remote.unsupported", "refused"),
    ],
)
def test_trouble_on_the_way(fault: Exception, code: str, kind: str) -> None:
    """C7, K4: what surely never arrived is transient, what may have arrived is in doubt."""
    for exc in (fault, wrapped(fault)):
        error = error_for(exc, notes_of(sent=True))
        assert (error.code, error.kind) == (code, kind)


def test_a_timeout_of_ours_is_in_doubt_only_when_something_left() -> None:
    """C7: a timeout says nothing by itself; whether bytes left does."""
    for exc in (TimeoutError(), a2a.client.errors.A2AClientTimeoutError("late")):
        assert error_for(exc, notes_of(sent=True)).kind == "in_doubt"
        assert error_for(exc, notes_of(sent=False)).kind == "transient"


@pytest.mark.parametrize("method", ["GetTask", "SubscribeToTask", "ListTasks", "AgentCard"])
def test_a_read_is_never_in_doubt_for_being_cut_off(method: str) -> None:
    """K4, D8: the same read may always go out again; what is too large will be so again."""
    for fault in (httpx.ReadError("cut"), httpx.ReadTimeout("late"), TimeoutError()):
        assert error_for(fault, notes_of(method, sent=True)).kind == "transient"
    assert error_for(TooLargeError("x", 1), notes_of(method, sent=True)).kind == "in_doubt"


@pytest.mark.parametrize(
    "code,reason,name",
    [
        (-32001, "TASK_NOT_FOUND", "remote.not_found"),
        (-32002, "TASK_NOT_CANCELABLE", "remote.not_cancelable"),
        (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "remote.push_unsupported"),
        (-32004, "UNSUPPORTED_OPERATION", "remote.unsupported"),
        (-32005, "CONTENT_TYPE_NOT_SUPPORTED", "remote.refused"),
        (-32006, "INVALID_AGENT_RESPONSE", "remote.refused"),
        (-32008, "EXTENSION_SUPPORT_REQUIRED", "remote.extension"),
        (-32009, "VERSION_NOT_SUPPORTED", "remote.version"),
        (-32603, "INTERNAL_ERROR", "remote.refused"),
        (-32602, "INVALID_PARAMS", "remote.refused"),
        (-32099, "SOMETHING_ELSE", "remote.refused"),
    ],
)
def test_what_the_agent_said_is_kept(code: int, reason: str, name: str) -> None:
    """K4, case C6, case C7: the agent's own errors are refusals, with its code and its words."""
    for said, status in ((code, 200), (code, 500), (reason, 400)):
        notes = notes_of(status=status, error={"code": said, "message": "its words", "data": None})
        error = error_for(wrapped(httpx.ReadError("x")), notes)
        assert (error.code, error.kind, error.agent_code) == (name, "refused", said)
        assert "its words" in str(error)
        assert error.status == status


@pytest.mark.parametrize(
    "status,name,kind",
    [
        (400, "remote.refused", "refused"),
        (401, "remote.unauthorized", "refused"),
        (403, "remote.unauthorized", "refused"),
        (404, "remote.refused", "refused"),
        (408, "remote.timeout", "in_doubt"),
        (425, "remote.busy", "transient"),
        (429, "remote.busy", "transient"),
        (500, "remote.failed", "in_doubt"),
        (502, "remote.unavailable", "in_doubt"),
        (503, "remote.busy", "transient"),
        (504, "remote.unavailable", "in_doubt"),
        (599, "remote.failed", "in_doubt"),
    ],
)
def test_a_status_without_an_error_of_the_agents(status: int, name: str, kind: str) -> None:
    """C7, D10: a bare HTTP status is a gateway's as likely as the agent's; a 404 is no lost task."""
    notes = notes_of(status=status, retry_after=3.0, sent=True)
    error = error_for(wrapped(RuntimeError("bad status")), notes)
    assert (error.code, error.kind, error.status) == (name, kind, status)
    assert error.retry_after == 3.0
    notes.error = {"code": None, "message": "gateway says so", "data": None}
    assert error_for(RuntimeError("bad"), notes).code == name


def test_the_status_beats_a_general_error_and_loses_to_a_particular_one() -> None:
    """K4: a JSON-RPC error under 503 is a busy agent, unless it says what is wrong with the task."""
    general = {"code": -32603, "message": "overloaded", "data": None}
    assert error_for(RuntimeError(), notes_of(status=503, error=general)).code == "remote.busy"
    lost = {"code": -32001, "message": "no such task", "data": None}
    assert error_for(RuntimeError(), notes_of(status=503, error=lost)).code == "remote.not_found"


def test_a_rest_error_under_200_has_the_status_that_it_names() -> None:
    """K4: google.rpc.Status names the HTTP status; some agents forget to set it."""
    error = {"code": 429, "message": "slow down", "data": None}
    assert error_for(RuntimeError(), notes_of(status=200, error=error)).kind == "transient"


def test_a_challenge_is_kept() -> None:
    """K4, case S8: a 401 says what `WWW-Authenticate` said."""
    notes = notes_of(status=401, challenge='Bearer error="invalid_token"')
    assert "invalid_token" in str(error_for(RuntimeError(), notes))


def test_errors_of_the_sdk_speak_for_themselves() -> None:
    """K4: without notes of what was said, the SDK's class says it."""
    for kind, code in JSON_RPC_ERROR_CODE_MAP.items():
        error = error_for(kind("its words"), notes_of())
        assert (error.kind, error.agent_code) == ("refused", code)
        assert "its words" in str(error)


def test_an_error_of_ours_passes_through() -> None:
    """K3: what is typed already stays as it is, however it is wrapped."""
    ours = RemoteCallError("another task", code="remote.wrong_task", kind="refused")
    assert error_for(ours, notes_of()) is ours
    assert error_for(wrapped(ours), notes_of()) is ours


def test_what_the_guard_said_is_kept() -> None:
    """A4: the refusal of an address says which and why."""
    refusal = AddressRefusedError("metadata is 169.254.169.254: link-local")
    refusal.__cause__ = CardError("link-local", code="card.private_address")
    assert "169.254.169.254" in str(error_for(wrapped(refusal), notes_of()))


def test_keys_in_urls_are_not_repeated() -> None:
    """G8: an API key in a query, or credentials in a URL, never reach a message."""
    fault = RuntimeError("not https://user:pass@host/path?key=s3cret#frag nor http://u:pass@h/x")
    text = str(error_for(fault, notes_of()))
    assert "not https://host/path nor http://h/x" in text
    assert "s3cret" not in text
    assert "pass" not in text


def test_long_words_and_data_are_bounded() -> None:
    """J3: an agent cannot fill an event with its error."""
    said = {"code": -32000, "message": "x" * 10_000, "data": ["y" * 10_000]}
    error = error_for(RuntimeError(), notes_of(status=200, error=said))
    assert len(str(error)) < 1200
    assert len(error.detail["data"]) < 4100


def test_a_chain_without_end_ends() -> None:
    """K4: exceptions that lead to each other are no endless loop."""
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    assert error_for(one, notes_of()).code == "remote.failed"


def test_what_was_being_handled_is_not_what_went_wrong() -> None:
    """K4: a call made while another call's error is handled has an error of its own."""
    earlier = RemoteCallError("no push here", code="remote.push_unsupported", kind="refused")
    notes = notes_of("DeleteTaskPushNotificationConfig", sent=True)
    try:
        try:
            raise earlier
        except RemoteCallError:
            raise httpx.ReadError("the connection broke")  # noqa: B904 - as a second call does it
    except httpx.ReadError as fault:
        error = error_for(fault, notes)
    assert (error.code, error.kind) == ("remote.reset", "in_doubt")
