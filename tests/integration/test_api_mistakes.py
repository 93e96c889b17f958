"""What the API says of a value that cannot be used: its path, what was found, what is accepted."""

import re
from typing import Any

import pytest

from .front import front

SUB_TASKS = "/v1/parents/p/sub-tasks"
LONG = b'"' + b"n" * 201 + b'"'


def brief(more: bytes) -> bytes:
    """A body that hands out work, with more in it."""
    return b'{"agent":"raw","goal":"g",' + more + b"}"


BODIES: list[tuple[bytes, str, str, str]] = [
    (b"", "", "nothing", "a JSON object"),
    (b"[]", "", "an empty array", "an object"),
    (b"null", "", "null", "an object"),
    (b"{", "", "what is not JSON", "one JSON object in UTF-8"),
    (b'{"agent":"raw"}', "goal", "nothing", "a value; it is needed"),
    (b'{"agent":"raw","goal":""}', "goal", "an empty string", "a string of at least 1 character"),
    (b'{"agent":"raw","goal":7}', "goal", "the number 7", "a string"),
    (brief(b'"gaol":1'), "gaol", "a field that is not known (is goal meant?)", "agent, goal, name"),
    (brief(b'"timeout":"5"'), "timeout", 'the string "5"', "a number or null"),
    (brief(b'"timeout":0'), "timeout", "the number 0", "a number, more than 0"),
    (brief(b'"timeout":1e999'), "timeout", "a value that is out of range", "what /schema"),
    (brief(b'"name":' + LONG), "name", "a string of 201 characters", "at most 200 characters"),
    (brief(b'"acceptance_criteria":"x"'), "acceptance_criteria", 'the string "x"', "an array"),
    (brief(b'"acceptance_criteria":[1]'), "acceptance_criteria[0]", "the number 1", "a string"),
    (brief(b'"parts":[{"text":[1,2]}]'), "parts[0].text", "an array of 2 entries", "a string"),
    (brief(b'"parts":[{"mime":1}]'), "parts[0].mime", "a field that is not known", "text, data"),
    # Whatever is wrong with the agent's id is told only when the rest can be used.
    (brief(b'"parts":[5]'), "parts[0]", "the number 5", "an object"),
    (brief(b'"parts":{}'), "parts", "an object", "an array"),
]
QUERIES = [
    ("wait=soon", "POST", SUB_TASKS, "wait", 'the string "soon"', "one of created, linked"),
    ("wait_timeout=x", "POST", SUB_TASKS, "wait_timeout", 'the string "x"', "a number"),
    ("wait_timeout=-1", "POST", SUB_TASKS, "wait_timeout", 'the string "-1"', "at least 0"),
    ("state=DONE", "GET", SUB_TASKS, "state", 'the string "DONE"', "one of SUBMITTED"),
    ("unresolved=perhaps", "GET", SUB_TASKS, "unresolved", "perhaps", "true or false"),
    ("after=x", "GET", "/v1/parents/p/notifications", "after", 'the string "x"', "a whole number"),
    ("limit=0", "GET", "/v1/parents/p/notifications", "limit", 'the string "0"', "at least 1"),
]
PYTHON = re.compile(r"\b(str|int|float|bool|list|dict|tuple|NoneType|None)\b|`|'")


def mistake_of(answer: Any) -> dict[str, str]:
    """The one mistake of a 400; checks that title and detail say the same, in nobody's types."""
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "request.invalid"), problem
    (mistake,) = problem["detail"]["errors"]
    assert set(problem["detail"]) == {"errors"}
    assert set(mistake) == {"path", "found", "accepted"}
    place = mistake["path"] or "the body"
    assert (
        problem["title"] == f"{place}: found {mistake['found']}; accepted: {mistake['accepted']}."
    )
    assert not PYTHON.search(problem["title"]), problem["title"]
    return dict(mistake)


async def test_mistakes_in_bodies() -> None:
    """J2: a body that cannot be used is told of by path, in JSON's words."""
    async with front() as face:
        for body, path, found, accepted in BODIES:
            mistake = mistake_of(await face.http.post(SUB_TASKS, content=body))
            assert mistake["path"] == path, body
            assert mistake["found"].startswith(found), (body, mistake)
            assert accepted in mistake["accepted"], (body, mistake)


@pytest.mark.parametrize("query, method, path, field, found, accepted", QUERIES)
async def test_mistakes_in_queries(
    query: str, method: str, path: str, field: str, found: str, accepted: str
) -> None:
    """J2: a query parameter that cannot be used is told of in the same shape."""
    async with front() as face:
        body = {"agent": "raw", "goal": "g"} if method == "POST" else None
        mistake = mistake_of(await face.http.request(method, f"{path}?{query}", json=body))
        assert mistake["path"] == field
        assert found in mistake["found"]
        assert accepted in mistake["accepted"]


async def test_mistakes_in_paths_and_headers() -> None:
    """J2: so is an id in a path, an actor, and a cursor in a header."""
    async with front() as face:
        mistake = mistake_of(await face.http.get(f"/v1/parents/{'p' * 201}/sub-tasks"))
        assert (mistake["path"], mistake["found"]) == ("parent_id", "a string of 201 characters")
        answer = await face.http.post("/v1/sub-tasks/x/cancel", headers={"X-Actor": "a" * 201})
        assert mistake_of(answer)["path"] == "X-Actor"
        feed = "/v1/parents/p/notifications/stream"
        answer = await face.http.get(feed, headers={"Last-Event-ID": "x"})
        assert mistake_of(answer)["path"] == "Last-Event-ID"


async def test_several_mistakes_at_once() -> None:
    """J2: each of several mistakes in a query is told."""
    async with front() as face:
        answer = await face.http.get("/v1/parents/p/notifications?after=x&limit=y")
        errors = answer.json()["detail"]["errors"]
        assert {one["path"]: one["found"] for one in errors} == {
            "after": 'the string "x"',
            "limit": 'the string "y"',
        }
