"""Masking what an agent quotes of the push tokens that it was given: by digest, wherever it is."""

import hashlib
import secrets
from typing import Any

import pytest

from locum.adapters.a2a.calls.given_tokens import MASK, GivenTokens
from locum.core.errors import RemoteCallError
from tests.lives import artifact, chunk, data, status, text

TOKEN = "s3cret-" + "A_b" * 12
OTHER = secrets.token_urlsafe(32)


def _knowing(*tokens: str) -> GivenTokens:
    given = GivenTokens()
    given.change((), [hashlib.sha256(token.encode()).hexdigest() for token in tokens])
    return given


@pytest.mark.parametrize(
    "quote",
    [
        TOKEN,
        f"Bearer {TOKEN}.",
        f"token={TOKEN}&x=1",
        f"a line\n{TOKEN}\nand one",
        f"é{TOKEN}é",
        f"x{TOKEN}",
        f"{TOKEN}y",
        f"x-{TOKEN}-y",
        f"{TOKEN}{TOKEN}",
        f'{{"header": "\\n{TOKEN}\\n"}}',
    ],
)
def test_wherever_it_stands(quote: str) -> None:
    """D2, case P10: a token that is quoted is masked, and what stands around it is kept."""
    report = status(
        "WORKING",
        text(quote),
        data({"headers": [{quote: quote}], "whole": 9007199254740993, "half": 0.5, "none": None}),
        text("", metadata={"x": quote}),
    )
    masked = _knowing(OTHER, TOKEN).masked_report(report)
    assert TOKEN not in repr(masked)
    assert masked.text == quote.replace(TOKEN, MASK)
    assert masked.parts[1].data["whole"] == 9007199254740993
    assert masked.parts[1].data["none"] is None
    assert list(masked.parts[1].data["headers"][0]) == [quote.replace(TOKEN, MASK)]


def test_what_is_no_token_of_ours_stays_as_it_is() -> None:
    """D2: other words are not touched, nor is a report built anew for nothing."""
    report = chunk("a", text(f"{OTHER} " + "x" * 43), data({OTHER: 1}))
    assert _knowing(TOKEN).masked_report(report) is report
    assert GivenTokens().masked_report(chunk("a", TOKEN)).artifacts == (artifact("a", TOKEN),)


def test_a_token_that_was_let_go_of() -> None:
    """D2: when a sub-task is over its tokens are worth nothing and are searched for no more."""
    given = _knowing(TOKEN, OTHER)
    given.change([hashlib.sha256(TOKEN.encode()).hexdigest()], ())
    assert given.masked_json([TOKEN, OTHER]) == [TOKEN, MASK]


def test_long_words_are_looked_at_a_little() -> None:
    """J3: in a word that is very long only the ends are looked at; elsewhere a token is found."""
    given = _knowing(TOKEN)
    long = "x" * 1_000_000
    assert given.masked_json([f"{TOKEN}{long}", f"{long}{TOKEN}", TOKEN]) == [
        f"{MASK}{long}",
        f"{long}{MASK}",
        MASK,
    ]


def _error(message: str, **said: Any) -> RemoteCallError:
    return RemoteCallError(message, code="remote.refused", kind="refused", status=400, **said)


def test_an_error_that_quotes_it() -> None:
    """D2, G8: it is masked in the message, the agent's words and its data; the rest is kept."""
    given = _knowing(TOKEN)
    error = _error(
        f"no {TOKEN}", said=f"no {TOKEN}", data={"why": [TOKEN]}, agent_code=7, retry_after=2.0
    )
    masked = given.masked_error(error)
    assert (masked.message, masked.said, masked.detail["data"]) == (
        f"no {MASK}",
        f"no {MASK}",
        {"why": [MASK]},
    )
    assert (masked.code, masked.kind, masked.status) == ("remote.refused", "refused", 400)
    assert (masked.agent_code, masked.retry_after) == (7, 2.0)
    plain = _error("no such task")
    assert given.masked_error(plain) is plain
    assert GivenTokens().masked_error(error) is error


def test_an_error_that_was_cut_in_the_middle_of_it() -> None:
    """D2: a last word that was cut short may be the half of a token, and is left out."""
    masked = _knowing(TOKEN).masked_error(_error(f"I have {TOKEN[:30]}…"))
    assert masked.message == "I have …"
