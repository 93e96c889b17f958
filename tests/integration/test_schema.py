"""`/schema` describes all that there is: every route, parameter, field and problem."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from locum.adapters.web import shapes
from locum.adapters.web.bodies import CancelBody, PartBody, ReplyBody, SpawnBody
from locum.adapters.web.described import EVENTS, FIELDS, INSIDE
from locum.core.events import EVENT_TYPES

from .front import front

WHERE = "adapters/web/described.py"


async def schema() -> dict[str, Any]:
    """The schema as it is served."""
    async with front() as face:
        return dict((await face.http.get("/schema")).json())


def _structs() -> dict[str, Any]:
    found = {name: one for name, one in vars(shapes).items() if isinstance(one, type)}
    structs = {n: one for n, one in found.items() if one.__module__ == shapes.__name__}
    bodies = (CancelBody, PartBody, ReplyBody, SpawnBody)
    return structs | {one.__name__: one for one in bodies}


async def test_every_field_has_its_sentence() -> None:
    """API: each field of a row, a note, an event, a body or a problem is described.

    Whoever adds a field describes it in adapters/web/described.py, and in docs/fields.md by
    `python -m tests.unit.test_fields_page`.
    """
    schemas = (await schema())["components"]["schemas"]
    undescribed = [
        f"{name}.{field}"
        for name, one in schemas.items()
        for field, said in one.get("properties", {}).items()
        if not said.get("description", "").endswith((".", ")"))
    ]
    assert not undescribed, f"describe in {WHERE}: {', '.join(undescribed)}"


def test_nothing_is_described_that_is_not_there() -> None:
    """API: a sentence about a field that has gone would be one about nothing."""
    fields = {name: set(one.__struct_fields__) for name, one in _structs().items()}
    for name, said in FIELDS.items():
        known = fields.get(name, {"type", "title", "status", "detail", "code"})
        assert set(said) == known, f"{WHERE}: {name}"
    common = set(EVENTS[""])
    events = {one.__name__: set(one.__struct_fields__) | {"type"} for one in EVENT_TYPES.values()}
    assert set(events) == set(EVENTS) - {""}
    for name, its in events.items():
        assert set(EVENTS[name]) == its - common, f"{WHERE}: EVENTS[{name!r}]"
    _, made = msgspec.json.schema_components(list(EVENT_TYPES.values()))
    for name, said in INSIDE.items():
        assert set(said) == set(made[name]["properties"]), f"{WHERE}: INSIDE[{name!r}]"


def _operations(paths: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in paths.items():
        for verb, operation in item.items():
            yield f"{verb.upper()} {path}", operation


async def test_every_route_is_described() -> None:
    """API: each route says what it does, what its parameters are and what it answers.

    That the routes are all there are is held against the README's table in test_readme.py.
    """
    found = await schema()
    for route, operation in _operations(found["paths"]):
        assert operation["description"], route
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), f"{route}: {parameter['name']}, in {WHERE}"
        answers = operation["responses"]
        ok = [said for status, said in answers.items() if status < "400"]
        assert ok, route
        assert not ok[0]["description"].startswith("Request fulfilled"), route
        for status, said in answers.items():
            if status >= "400":
                assert set(said["content"]) == {"application/problem+json"}, route
                assert said["description"].endswith("."), route


async def test_the_stream_is_described() -> None:
    """E3: of the stream it says that it is one, and what each event holds."""
    path = "/v1/parents/{parent_id}/notifications/stream"
    answers = (await schema())["paths"][path]["get"]["responses"]
    content = answers["200"]["content"]["text/event-stream"]
    assert content["schema"] == {"$ref": "#/components/schemas/Note"}
    assert "`id` the cursor" in answers["200"]["description"]


@pytest.mark.parametrize("event", [one.__name__ for one in EVENT_TYPES.values()])
async def test_events_are_described_by_type(event: str) -> None:
    """H1: the list of events says which there are, and what each holds."""
    schemas = (await schema())["components"]["schemas"]
    listed = schemas["EventList"]["properties"]["events"]["items"]["oneOf"]
    assert {"$ref": f"#/components/schemas/Event{event}"} in listed
    assert schemas[f"Event{event}"]["properties"]["type"]["enum"] == [event]
    assert "cause" in schemas[f"Event{event}"]["required"]
