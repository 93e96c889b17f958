"""The HTTP client as a2a-sdk sees it: the one handed in, with the JSON of requests in one form.

Protobuf gives the fields of data in an order that differs from process to process, and every
number as a double. A brief that goes out again must be byte for byte the same (case D4), and a
whole number must leave as one (case R9), so both are settled here, between the SDK's translation
and the request. Everything else is the wire's business.
"""

from collections.abc import Mapping
from typing import Any, cast

import httpx

from ..reports import json_number

__all__ = ["in_one_form", "sdk_http"]


def sdk_http(http: httpx.AsyncClient) -> httpx.AsyncClient:
    """What to hand to a2a-sdk's ClientConfig for `http`."""
    # The SDK only ever calls it; a subclass would have to copy the client's state instead.
    return cast(httpx.AsyncClient, _SdkHttp(http))


class _SdkHttp:
    """Everything of the client is the client's own but for how a request's JSON is built."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    def __getattr__(self, name: str) -> Any:
        return getattr(self._http, name)

    def build_request(
        self, method: str, url: str, *, json: Any = None, **rest: Any
    ) -> httpx.Request:
        return self._http.build_request(method, url, json=in_one_form(json), **rest)


def in_one_form(value: Any) -> Any:
    """The JSON value with the fields of each object sorted and whole numbers whole."""
    match value:
        case Mapping():
            return {name: in_one_form(value[name]) for name in sorted(value)}
        case list():
            return [in_one_form(item) for item in value]
        case float():
            return json_number(value)
        case _:
            return value
