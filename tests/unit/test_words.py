"""What an agent says beside its answer is understood, bounded, and rid of what it quotes of ours."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from locum.adapters.a2a.wire.anomalies import ANOMALIES
from locum.adapters.a2a.wire.answers import error_in, mend_answer
from locum.adapters.a2a.wire.asked import Asked
from locum.adapters.a2a.wire.words import one_line, retry_after, target_of, words_of

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "value,rpc,expected",
    [
        ({"error": {"code": -32001, "message": "gone"}}, True, (-32001, "gone")),
        ({"error": {"code": "-32001", "message": "gone"}}, True, (-32001, "gone")),
        ([{"error": {"code": -32001, "message": "gone"}}], True, (-32001, "gone")),
        ({"code": -32001, "message": "gone"}, True, (-32001, "gone")),
        ({"error": {"code": 404, "status": "NOT_FOUND", "message": "x"}}, False, (404, "x")),
        (
            {
                "error": {
                    "code": 404,
                    "message": "x",
                    "details": [
                        {
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                            "reason": "TASK_NOT_FOUND",
                        }
                    ],
                }
            },
            False,
            ("TASK_NOT_FOUND", "x"),
        ),
        (
            {
                "type": "https://a2a-protocol.org/errors/task-not-found",
                "title": "Gone",
                "status": 404,
            },
            False,
            ("TASK_NOT_FOUND", "Gone"),
        ),
        ({"detail": "Not Found"}, False, (None, "Not Found")),
        ({"error": "invalid_token", "error_description": "expired"}, False, (None, "expired")),
        ({"message": "boo"}, False, (None, "boo")),
        ("plain", False, (None, "plain")),
        ({}, False, (None, "")),
    ],
)
def test_errors_are_found_in_every_dress(value: Any, rpc: bool, expected: tuple[Any, str]) -> None:
    """K4: JSON-RPC errors, google.rpc.Status, problem documents and plain words."""
    error = error_in(value, failed=True, rpc=rpc)
    assert error is not None
    assert (error["code"], error["message"]) == expected


@pytest.mark.parametrize(
    "value", [{"id": "t"}, {"error": None, "result": 1}, {"message": {}}, [], None]
)
def test_what_is_no_error_is_none(value: Any) -> None:
    """K4: a result is not taken for an error."""
    assert error_in(value, failed=False, rpc=True) is None


def test_a_task_is_only_told_of_by_what_an_update_is_about() -> None:
    """K2: found by the fuzz: a stray `status` in an artifact update is no task's status."""
    odd: list[str] = []
    update = {"taskId": "t", "artifact": {"artifactId": "a"}, "status": 1}
    task = mend_answer("GetTask", {"artifactUpdate": update}, {}, odd)
    assert task == {"id": "t", "contextId": "", "artifacts": [{"artifactId": "a"}]}


def test_secrets_that_an_agent_quotes_are_masked() -> None:
    """G8, case P10: an agent may quote what it was sent; neither its words nor its data keep it."""
    body = json.dumps(
        {
            "params": {"token": "push-tok", "authentication": {"credentials": "push-cred"}},
            "jsonrpc": "2.0",
        }
    ).encode()
    headers = {"Authorization": "Bearer abc.def", "X-Key": "k3y-value", "Cookie": "sid=c00kie"}
    request = httpx.Request("POST", "http://h/rpc?api_key=qu3ry", headers=headers, content=body)
    said = "bad abc.def k3y-value c00kie qu3ry push-tok push-cred"
    error = Asked(request, body).without_secrets({"code": 1, "message": said, "data": [said]})
    assert error == {
        "code": 1,
        "message": "bad **** **** **** **** **** ****",
        "data": [error["message"]],
    }


def test_a_password_is_masked() -> None:
    """G8: Basic credentials are known in their plain form too."""
    request = httpx.Request(
        "GET", "http://h/tasks/1", headers={"Authorization": "Basic dTpwYXNzd29yZA=="}
    )
    error = Asked(request, b"").without_secrets({"message": "password dTpwYXNzd29yZA== is wrong"})
    assert error["message"] == "**** **** is wrong"


@pytest.mark.parametrize(
    "value,seconds",
    [
        ("", None),
        ("5", 5.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        ("1e9", 86400.0),
        ("nan", None),
        ("soon", None),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10.0),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10.0),
        ("Fri, 02 Jan 2020 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """K4, C7: seconds or a date, never negative, never more than a day."""
    assert retry_after(value, NOW) == seconds


def test_words_of_a_page() -> None:
    """K4, case S8: of HTML the words are kept, not the markup, on one bounded line."""
    page = b"<html><head><title>503</title><style>a{}</style></head><body><h1>Try&nbsp;later</h1>\n<p>ok"
    assert words_of(page) == "503: Try later ok"
    assert len(words_of(b"x" * 100_000)) == 300
    assert words_of(b"<script>" * 10_000) == ""
    assert one_line("a\x00\u202e\n b", 10) == "a b"


@pytest.mark.parametrize(
    "location,target",
    [
        ("https://u:p@other/x?token=1#f", "https://other/x"),
        ("/login?next=1", "http://here:1/login"),
        ("http://[", None),
        ("", None),
    ],
)
def test_the_target_of_a_redirect(location: str, target: str | None) -> None:
    """A6: the refusal names the target, without what might be secret in it."""
    named = target_of(location, httpx.URL("http://here:1/rpc?key=s"))
    assert "token" not in named
    assert "key" not in named
    assert target is None or named == target


def test_every_anomaly_is_explained() -> None:
    """K2: each name has a sentence, and is dotted."""
    for name, meaning in ANOMALIES.items():
        assert name.count(".") == 1
        assert meaning.endswith(".")


def test_quoted_secrets_and_requests_that_are_odd() -> None:
    """G8: credentials that are no base64, and a body that is no JSON, hide nothing else."""
    request = httpx.Request("POST", "http://h/rpc", headers={"Authorization": "Basic ?"})
    error = Asked(request, b"not JSON").without_secrets({"message": "Basic ? is odd", "data": [1]})
    assert error == {"code": None, "message": "**** is odd", "data": [1]}
