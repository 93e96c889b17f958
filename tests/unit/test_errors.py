"""The error tree: drawn as it is, each with its code, and nothing but words and JSON in it."""

import inspect
import re

import msgspec
import pytest

from locum.core import errors
from locum.core.errors import (
    AgentRefusedError,
    AgentUnknownError,
    CardError,
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
    UnsupportedExtensionError,
)

MADE = [
    ConfigError("store.url", found="5", accepted="a URL"),
    AgentUnknownError("ghost", ["inventory", "search"]),
    AgentRefusedError("inventory", "its card is no JSON", "card.invalid"),
    CardError("its card is no JSON"),
    UnsupportedExtensionError("it requires x"),
    SubTaskNotFoundError("s1"),
    NotParkedError("s1", "WORKING"),
    SubTaskResolvedError("s1", "COMPLETED"),
    StaleQuestionError("s1", 3, 5),
    IllegalTransitionError("COMPLETED", "ask", "INPUT_REQUIRED"),
    SubTasksUnresolvedError("p1", ["s1", "s2"]),
    RequestError("goal: found no text"),
    ClientError("streaming is off", code="client.streaming_off"),
    ClientTimeoutError("not within 5 s", detail={"timeout": 5}),
    RemoteCallError("no", code="remote.refused", kind="refused"),
    HistoryError("cannot be read"),
    StoreError("cannot be written"),
    ServerError("cannot be reached"),
]
CODES = {
    "ConfigError": "config.invalid",
    "AgentUnknownError": "agent.unknown",
    "AgentRefusedError": "agent.refused",
    "CardError": "card.invalid",
    "UnsupportedExtensionError": "card.unsupported",
    "SubTaskNotFoundError": "sub_task.not_found",
    "NotParkedError": "sub_task.not_parked",
    "SubTaskResolvedError": "sub_task.resolved",
    "StaleQuestionError": "sub_task.stale_question",
    "IllegalTransitionError": "sub_task.illegal_transition",
    "SubTasksUnresolvedError": "parent.unresolved",
    "RequestError": "request.invalid",
    "ClientError": "client.streaming_off",
    "ClientTimeoutError": "client.timeout",
    "RemoteCallError": "remote.refused",
    "HistoryError": "history.invalid",
    "StoreError": "store.failed",
    "ServerError": "server.unreachable",
}


def _classes() -> list[type[LocumError]]:
    return [
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, Exception)
    ]


def test_tree_is_drawn_as_it_is() -> None:
    """J2: the tree in the docstring has every class below its parent, and no other."""
    drawn: dict[str, str] = {}
    line_of: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)(\w+Error)", line)
        if found is None:
            continue
        depth = len(found[1]) // 4
        line_of[depth:] = [found[2]]
        drawn[found[2]] = line_of[depth - 1] if depth else ""
    is_so = {
        found.__name__: "" if found is LocumError else found.__bases__[0].__name__
        for found in _classes()
    }
    assert drawn == is_so


def test_drawn_codes_are_the_codes() -> None:
    """J2: the code drawn beside a class is the one that its errors have."""
    for error in MADE:
        name = type(error).__name__
        found = re.search(rf"{name} +([a-z_.*]+)", errors.__doc__ or "")
        assert found is not None
        family = found[1].removesuffix("*")
        assert error.code.startswith(family)


def test_all_is_complete() -> None:
    """J2: `__all__` names every error."""
    assert set(errors.__all__) == {found.__name__ for found in _classes()}


def test_every_class_is_tried_here() -> None:
    """J2: no class of the tree is missing from these tests."""
    assert {type(error) for error in MADE} == set(_classes()) - {LocumError}


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_code_words_and_detail(error: LocumError) -> None:
    """J2: each has its code, a message of its own and a detail that is JSON."""
    assert error.code == CODES[type(error).__name__]
    assert error.message == str(error)
    assert error.message
    assert msgspec.json.decode(msgspec.json.encode(error.detail)) == error.detail


def test_code_of_one_error_is_not_the_class_code() -> None:
    """J2: a code given to one error leaves the others of its class alone."""
    assert CardError("x", code="card.bad_url").code == "card.bad_url"
    assert CardError("x").code == "card.invalid"


def test_unknown_agent_lists_the_valid_ones() -> None:
    """C1: the words and the detail list the ids that take work, or say that none does."""
    error = AgentUnknownError("", ["inventory", "search"])
    assert error.detail == {"agent": "", "valid": ["inventory", "search"]}
    assert "inventory, search" in error.message
    assert "none is registered" in AgentUnknownError("x", []).message
    error = AgentUnknownError("x", [], {"search": "its card is no JSON"})
    assert error.detail["refused"] == {"search": "its card is no JSON"}
    assert "none takes work. Refused, and of no use now: search." in error.message


def test_unresolved_lists_them() -> None:
    """C8: what is still open is listed."""
    error = SubTasksUnresolvedError("p1", ["s1", "s2"])
    assert error.detail["unresolved"] == ["s1", "s2"]
    assert "s1, s2" in error.message


def test_stale_question_names_both() -> None:
    """C12: the error says which question was meant and which one is open."""
    error = StaleQuestionError("s1", 3, 5)
    assert error.detail == {"sub_task": "s1", "question": 3, "open": 5}


def test_remote_call_error_keeps_what_the_agent_said() -> None:
    """K4: status, the agent's code, its data and Retry-After are kept; what it did not say is not."""
    bare = RemoteCallError("no", code="remote.reset", kind="in_doubt")
    assert bare.detail == {"kind": "in_doubt"}
    full = RemoteCallError(
        "busy",
        code="remote.busy",
        kind="transient",
        method="SendMessage",
        status=429,
        agent_code=-32000,
        retry_after=1.5,
        data={"why": "load"},
        anomalies=("json.error",),
    )
    assert full.detail == {
        "kind": "transient",
        "method": "SendMessage",
        "status": 429,
        "agent_code": -32000,
        "retry_after": 1.5,
        "data": {"why": "load"},
    }
    assert (full.kind, full.status, full.agent_code) == ("transient", 429, -32000)
    assert (full.retry_after, full.anomalies) == (1.5, ("json.error",))
