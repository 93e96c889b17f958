"""Every error of ours as a problem document (J2)."""

import inspect

import msgspec
import pytest
from litestar.exceptions import HTTPException

from locum.adapters.problem import status_of
from locum.adapters.web.problems import problem_for
from locum.core import errors
from locum.core.errors import (
    AgentRefusedError,
    AgentUnknownError,
    ClientError,
    ClientTimeoutError,
    ConfigError,
    HistoryError,
    IllegalTransitionError,
    LocumError,
    NotParkedError,
    RemoteCallError,
    RequestError,
    ServerError,
    StaleQuestionError,
    StoreError,
    SubTaskNotFoundError,
    SubTaskResolvedError,
    SubTasksUnresolvedError,
)

CASES: list[tuple[LocumError, int]] = [
    (AgentUnknownError("x", ["a", "b"]), 404),
    (AgentRefusedError("x", "why", "card.invalid"), 409),
    (SubTaskNotFoundError("s"), 404),
    (NotParkedError("s", "WORKING"), 409),
    (SubTaskResolvedError("s", "FAILED"), 409),
    (StaleQuestionError("s", 1, 2), 409),
    (IllegalTransitionError("WORKING", "submit"), 409),
    (SubTasksUnresolvedError("p", ["s"]), 409),
    (RequestError("bad"), 400),
    (ClientError("bad"), 400),
    (ClientTimeoutError("late"), 504),
    (RemoteCallError("bad", code="remote.timeout", kind="in_doubt"), 502),
    (HistoryError("bad"), 409),
    (HistoryError("bad", code="history.no_version"), 404),
    (StoreError("bad"), 503),
    (ServerError("bad", code="server.stopping"), 503),
    (errors.CardError("bad"), 409),
    (errors.UnsupportedExtensionError("bad"), 409),
    (ConfigError("k", found="x", accepted="y"), 500),
    (LocumError("bad"), 500),
]


@pytest.mark.parametrize("error,status", CASES, ids=lambda value: getattr(value, "code", value))
def test_each_error_has_its_status(error: LocumError, status: int) -> None:
    """J2: each error is answered with its status."""
    assert status_of(error) == status


def test_no_error_is_without_a_status() -> None:
    """J2: the table of statuses knows every class of the error tree."""
    classes = {
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, LocumError)
    }
    assert {type(error) for error, _ in CASES} == classes


def test_the_document_says_what_to_do_and_keeps_the_detail() -> None:
    """J2: `title` is the sentence, `detail.valid` is where programs look for it (docs/adr/0040)."""
    problem, headers = problem_for(AgentUnknownError("x", ["a", "b"]))
    assert msgspec.to_builtins(problem) == {
        "type": "about:blank",
        "title": "There is no agent 'x'. Use one of these ids: a, b.",
        "status": 404,
        "detail": {"agent": "x", "valid": ["a", "b"]},
        "code": "agent.unknown",
    }
    assert headers == {}


def test_unresolved_sub_tasks_are_listed() -> None:
    """C8: the refusal to complete lists the sub-tasks under `detail.unresolved`."""
    problem, _ = problem_for(SubTasksUnresolvedError("p", ["s1", "s2"]))
    assert (problem.status, problem.detail["unresolved"]) == (409, ["s1", "s2"])


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("the password is hunter2"),
        ConfigError("server.api_token", found="hunter2", accepted="a token"),
        LocumError("hunter2"),
        HTTPException(detail="hunter2", status_code=500),
        TimeoutError("hunter2"),
    ],
    ids=repr,
)
def test_what_is_not_for_clients_is_not_told(error: Exception) -> None:
    """J2: an error that no client caused is a bare 500; nothing of its text leaves."""
    problem, _ = problem_for(error)
    assert (problem.status, problem.code) == (500, "server.internal")
    assert "hunter2" not in repr(problem)


def test_a_pause_is_told_in_its_header() -> None:
    """K4: a `Retry-After` that an agent asked for is passed on."""
    busy = RemoteCallError("busy", code="remote.busy", kind="transient", retry_after=7.0)
    assert problem_for(busy)[1] == {"Retry-After": "7"}


def test_a_missing_token_names_the_scheme() -> None:
    """J1: a 401 says by which scheme to authenticate (RFC 9110, section 11.6.1)."""
    _, headers = problem_for(RequestError("no", code="request.unauthorized"))
    assert headers == {"WWW-Authenticate": "Bearer"}
