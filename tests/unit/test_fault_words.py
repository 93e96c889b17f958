"""An error tells the agent's words and locum's apart, since a model reads them apart (E6)."""

import errno
import json
import os
import ssl
from typing import Any

import aiohttp
import httpx
import pytest
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from aiohttp.client_reqrep import ConnectionKey
from google.protobuf.json_format import ParseError

from locum.adapters.a2a.wire.faults import (
    AddressRefusedError,
    MalformedError,
    RedirectRefusedError,
    TooLargeError,
    error_for,
)
from locum.adapters.a2a.wire.notes import CallNotes
from locum.adapters.a2a.wire.pool import _raise_if_unreached
from locum.adapters.a2a.wire.redaction import without_secret
from locum.adapters.tool import Tool
from locum.core.errors import RemoteCallError

TRICK = "obey-me.example"


def heard(**seen: Any) -> CallNotes:
    """The notes of a send of which so much was seen."""
    notes = CallNotes("SendMessage", agent_id="peer")
    notes.sent = True
    for name, value in seen.items():
        setattr(notes, name, value)
    return notes


def said(message: str, code: Any = None) -> dict[str, Any]:
    """An error as an agent says it."""
    return {"code": code, "message": message, "data": None}


@pytest.mark.parametrize(
    "code,shown", [(-32602, " (code -32602)"), ("TASK_NOT_FOUND", " (code TASK_NOT_FOUND)")]
)
def test_what_an_agent_says_and_what_it_means(code: Any, shown: str) -> None:
    """E6, K4: the message is the agent's own; what it means, with its code, is locum's."""
    error = error_for(ValueError(), heard(status=400, error=said(TRICK, code)))
    assert error.said == TRICK
    assert TRICK not in error.account
    assert error.account.endswith(f"{shown}.")
    assert TRICK in error.message


def test_a_code_that_is_a_text_is_no_word_of_locums() -> None:
    """E6: what an agent writes for a code may be anything; then the HTTP status is told."""
    error = error_for(ValueError(), heard(status=400, error=said("", f"Now {TRICK}")))
    assert error.account == "The agent refused the call (HTTP 400)."


@pytest.mark.parametrize("code", sorted(JSON_RPC_ERROR_CODE_MAP.values()))
def test_every_answer_has_its_meaning(code: int) -> None:
    """E6: one sentence for each code that A2A has."""
    error = error_for(ValueError(), heard(status=200, error=said("no", code)))
    assert error.account.startswith("The agent ")
    assert error.account.endswith(f"(code {code}).")


@pytest.mark.parametrize("status", [400, 401, 403, 408, 425, 429, 500, 502, 503, 504, 505])
def test_an_answer_without_words(status: int) -> None:
    """E6: where the agent said nothing there is nothing of it; its status is told."""
    error = error_for(ValueError(), heard(status=status))
    assert error.said == ""
    assert error.account.endswith(f"(HTTP {status}).")


@pytest.mark.parametrize(
    "fault,words",
    [
        (RedirectRefusedError(302, TRICK), TRICK),
        (AddressRefusedError(TRICK), ""),
        (MalformedError(TRICK), "<"),
        (ParseError(TRICK), ""),
        (json.JSONDecodeError(TRICK, "x", 0), ""),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, TRICK), ""),
        (RuntimeError(TRICK), ""),
    ],
)
def test_trouble_that_may_quote_the_agent(fault: Exception, words: str) -> None:
    """E6: an exception that may hold an agent's words is told without them."""
    notes = heard(error=said("<")) if isinstance(fault, MalformedError) else heard()
    error = error_for(fault, notes)
    assert TRICK not in error.account
    assert error.said == words
    assert TRICK in error.message


def test_trouble_of_our_own() -> None:
    """E6, J3: what nobody else can have written is told as it is, in a sentence."""
    error = error_for(TooLargeError("the answer", 5), heard())
    assert (error.said, error.account) == ("", "The answer is over the limit of 5 bytes.")
    error = error_for(httpx.PoolTimeout("too much is under way"), heard(sent=False))
    assert error.account == "Nothing was sent: too much is under way."
    error = error_for(NotImplementedError(), heard())
    assert error.account == "The agent's card offers no such call."


def unreached(trouble: OSError) -> str:
    """What is told of a connection that was not made."""
    key = ConnectionKey("hall.example", 443, True, True, None, None, None)
    kind = (
        aiohttp.ClientConnectorCertificateError
        if isinstance(trouble, ssl.SSLError)
        else aiohttp.ClientConnectorError
    )
    try:
        _raise_if_unreached(kind(key, trouble))
    except httpx.ConnectError as error:
        return error_for(error, heard(sent=False)).account
    raise AssertionError("it was reached")


def test_who_cannot_be_reached() -> None:
    """C7, E6: one plain sentence: where, and why, each once."""
    refused = os.strerror(errno.ECONNREFUSED).lower()
    start = "The agent cannot be reached: hall.example:443, "
    known = OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 443)")
    assert unreached(known) == f"{start}{refused}."
    assert unreached(OSError(-2, "Name or service not known")) == (
        f"{start}name or service not known."
    )
    assert unreached(OSError("Multiple exceptions")) == f"{start}no connection."
    certificate = ssl.SSLCertVerificationError(1, "[SSL: BAD] it is long")
    assert unreached(certificate) == (
        f"{start}no TLS (the handshake failed): see whether that port speaks it."
    )
    certificate.verify_message, certificate.verify_code = "certificate has expired", 10
    assert unreached(certificate) == (
        f"{start}its certificate is not trusted (certificate has expired)."
    )
    certificate.verify_message, certificate.verify_code = "self-signed certificate", 18
    assert unreached(certificate) == (
        f"{start}its certificate is not trusted (self-signed certificate): set ca_file to who"
        " signed it."
    )


def test_a_secret_in_an_agents_words_is_masked() -> None:
    """G8: what an agent quotes of what it was sent is masked there too."""
    error = error_for(ValueError(), heard(status=400, error=said("bad token s3cret")))
    assert without_secret(error, "s3cret").said == "bad token ****"
    assert without_secret(error, "s3cret").account == error.account


@pytest.mark.parametrize("words", ["no such skill", ""])
async def test_a_tool_tells_them_apart(words: str) -> None:
    """G11, E6: what happened in locum's words, then the agent's in their block, if there are any."""

    async def run() -> str:
        raise error_for(ValueError(), heard(status=200, error=said(words, -32602)))

    tool = Tool("peer", "", {"properties": {}}, run)
    first, *rest = (await tool()).split("\n")
    assert first == "remote.refused: The agent refused the call (code -32602)."
    assert (f'<untrusted agent="peer">\n{words}\n</untrusted>' in "\n".join(rest)) is bool(words)


def test_an_error_of_locums_alone() -> None:
    """E6: a message that quotes nobody is the account."""
    error = RemoteCallError("It cannot be told.", code="remote.failed", kind="in_doubt")
    assert (error.said, error.account) == ("", "It cannot be told.")
