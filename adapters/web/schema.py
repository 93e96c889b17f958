"""What the schema at `/schema` says besides the routes. Litestar makes it from them."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from ..problem import Problem
from .problems import MEDIA_TYPE

__all__ = ["answers_of", "openapi_config", "refusals_of"]

_REASONS = {
    400: "The request cannot be used; the title names the field and what is accepted.",
    401: "No token, or not the right one.",
    404: "There is no such thing; `agent.unknown` lists the valid ids in `detail.valid`.",
    409: "It cannot be done as things stand; `code` says why.",
    413: "The body is too large.",
    429: "Too many refused pushes from one source; `Retry-After` says how long to wait.",
    503: "Not ready, or shutting down.",
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
        path="/schema",
        components=Components(security_schemes={"bearer": bearer}),
        security=[{"bearer": []}],
        render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"])],
        use_handler_docstrings=True,
        operation_id_creator=_operation_id,
    )


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


def answers_of(status: int, shape: type[Any], *refusals: int) -> Mapping[int, ResponseSpec]:
    """What the schema says of all answers: `shape` with `status`, or a problem document."""
    description = (shape.__doc__ or "").partition("\n")[0]
    spec = ResponseSpec(shape, description=description, generate_examples=False)
    return {status: spec, **refusals_of(*refusals)}
