"""What the schema at `/schema` says besides the routes. Litestar makes it from them."""

import copy
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec
from litestar import Response, Router
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.status_codes import HTTP_404_NOT_FOUND

from locum.core.events import EVENT_TYPES

from ..problem import Problem
from .described import EVENTS, FIELDS, INSIDE, PARAMETERS
from .problems import MEDIA_TYPE

__all__ = ["answers_of", "openapi_config", "refusals_of", "stream_of"]

_REASONS = {
    400: "The request cannot be used; `detail.errors` has path, found and accepted of each mistake.",
    401: "No token, or not the right one.",
    403: "Another host's or another page's request, or one from another machine without a token.",
    404: "There is no such thing; `agent.unknown` lists the valid ids in `detail.valid`.",
    409: "It cannot be done as things stand; `code` says why.",
    413: "The body is too large.",
    429: "Too many refused pushes from one source; `Retry-After` says how long to wait.",
    500: "locum failed at this; its log has the reason.",
    503: "Not ready, shutting down, or the store cannot be reached.",
}


def openapi_config() -> OpenAPIConfig:
    """Title, version and the bearer token. `/schema` is JSON: a page would load foreign scripts."""
    bearer = SecurityScheme(
        type="http", scheme="bearer", description="`server.api_token`, when one is configured (J1)."
    )
    return OpenAPIConfig(
        title="locum",
        version=version("locum"),
        description="Hand work to remote A2A agents and stay in charge of it.",
        openapi_router=Router(
            "/schema",
            route_handlers=[],
            include_in_schema=False,
            dto=None,
            return_dto=None,
            after_request=_no_page,
        ),
        components=Components(security_schemes={"bearer": bearer}),
        security=[{"bearer": []}],
        render_plugins=[_Described(path=["/", "/openapi.json"])],
        use_handler_docstrings=True,
        operation_id_creator=_operation_id,
    )


def _no_page(response: Response[Any]) -> Response[Any]:
    """Litestar has a page of its own for what is not below `/schema`; ours is for all paths (J2)."""
    if response.status_code == HTTP_404_NOT_FOUND:
        raise NotFoundException
    return response


class _Described(JsonRenderPlugin):
    """The schema with what Litestar does not know: `described.py`, the events, the other routes."""

    def render(self, request: Any, openapi_schema: dict[str, Any]) -> bytes:
        schema = copy.deepcopy(openapi_schema)
        schemas = schema["components"]["schemas"]
        for name, fields in FIELDS.items():
            _describe(schemas[name], fields)
        events = _event_schemas()
        schemas.update(events)
        schemas["EventList"]["properties"]["events"]["items"] = {
            "oneOf": [{"$ref": f"{_REF}Event{one.__name__}"} for one in EVENT_TYPES.values()],
            "discriminator": {"propertyName": "type"},
        }
        for item in schema["paths"].values():
            for operation in item.values():
                _complete(operation)
        schema["paths"].update(_OTHER_ROUTES)
        return super().render(request, schema)


def _describe(schema: dict[str, Any], fields: Mapping[str, str]) -> None:
    for name, sentence in fields.items():
        # One that is not there is for the test to find, and no reason to have no schema.
        schema["properties"].get(name, {})["description"] = sentence


def _event_schemas() -> dict[str, Any]:
    """The schemas of the events and of what is inside of them, each under a name of its own."""
    _, made = msgspec.json.schema_components(
        list(EVENT_TYPES.values()), ref_template=f"{_REF}Event{{name}}"
    )
    for name, schema in made.items():
        if name in EVENTS:
            _describe(schema, {**EVENTS[""], **EVENTS[name]})
        elif name in INSIDE:
            _describe(schema, INSIDE[name])
    return {f"Event{name}": schema for name, schema in made.items()}


def _complete(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in PARAMETERS:
            parameter["description"] = PARAMETERS[parameter["name"]]
    answers = operation["responses"]
    if any(status >= "400" for status in answers):
        # What happens before a route is asked, or to any of them.
        for status in (500, 503) if operation.get("security") == [{}] else (403, 500, 503):
            said = {"schema": {"$ref": f"{_REF}Problem"}}
            told = {"description": _REASONS[status], "content": {MEDIA_TYPE: said}}
            answers.setdefault(str(status), told)


_REF = "#/components/schemas/"


def _route(summary: str, description: str, status: str = "200") -> dict[str, Any]:
    return {
        "summary": summary,
        "description": description,
        "responses": {status: {"description": "As A2A 1.0 has it."}},
        "security": [{}],
    }


_OTHER_ROUTES: dict[str, Any] = {
    "/.well-known/agent-card.json": {
        "get": _route(
            "AgentCard", "The card of the agent `self`, when `[card]` is configured (A9)."
        )
    },
    "/a2a": {"post": _route("JsonRpc", "The agent `self`, by JSON-RPC (A2A 1.0, section 9).")},
    "/a2a/rest/message:send": {
        "post": _route(
            "SendMessage",
            "The agent `self`, by HTTP+JSON; its other routes are beside this one (A2A 1.0,"
            " section 11).",
        )
    },
    "/schema": {
        "get": {
            "summary": "Schema",
            "description": "This document.",
            "responses": {"200": {"description": "OpenAPI 3.1, as JSON."}},
        }
    },
}
"""The routes that Litestar does not serve, or does not list."""


def _operation_id(handler: HTTPRouteHandler, method: str, path: list[Any]) -> str:
    """The handler's own name: it is short, and there is one handler to a route."""
    return str(handler.handler_name)


def refusals_of(*statuses: int) -> Mapping[int, ResponseSpec]:
    """What the schema says of the problem documents that a route can answer with."""
    return {
        status: ResponseSpec(
            Problem,
            description=_REASONS[status],
            media_type=MEDIA_TYPE,
            generate_examples=False,
        )
        for status in statuses
    }


def stream_of(shape: type[Any], description: str) -> Mapping[int, ResponseSpec]:
    """What the schema says of server-sent events, the data of each of which is a `shape`."""
    spec = ResponseSpec(
        shape, description=description, media_type="text/event-stream", generate_examples=False
    )
    return {200: spec}


def answers_of(status: int, shape: type[Any], *refusals: int) -> Mapping[int, ResponseSpec]:
    """What the schema says of all answers: `shape` with `status`, or a problem document."""
    description = (shape.__doc__ or "").partition("\n")[0]
    spec = ResponseSpec(shape, description=description, generate_examples=False)
    return {status: spec, **refusals_of(*refusals)}
