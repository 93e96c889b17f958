"""The HTTP client as a2a-sdk sees it: the one handed in, with requests in one form.

Protobuf gives the fields of data in an order that differs from process to process, and every
number as a double. A brief that goes out again must be byte for byte the same (case D4), and a
whole number must leave as one (case R9), so both are settled here, between the SDK's translation
and the request. So is the query of the interface's URL, which goes with every call (A5): the SDK
knows of none, and httpx drops it for a call that has parameters. Everything else is the wire's
business.
"""

from collections.abc import Mapping
from typing import Any, cast

import httpx

from ..reports import json_number
from ..wire.asked import OWN_QUERY

__all__ = ["in_one_form", "sdk_http"]


def sdk_http(http: httpx.AsyncClient, url: str) -> httpx.AsyncClient:
    """What to hand to a2a-sdk's ClientConfig for `http` and the interface at `url`."""
    # The SDK only ever calls it; a subclass would have to copy the client's state instead.
    return cast(httpx.AsyncClient, _SdkHttp(http, httpx.URL(url).query))


class _SdkHttp:
    """Everything of the client is the client's own but for how a request is built."""

    def __init__(self, http: httpx.AsyncClient, query: bytes) -> None:
        self._http = http
        self._query = query

    def __getattr__(self, name: str) -> Any:
        return getattr(self._http, name)

    def build_request(
        self, method: str, url: str, *, json: Any = None, **rest: Any
    ) -> httpx.Request:
        request = self._http.build_request(method, url, json=in_one_form(json), **rest)
        if self._query:
            asked = request.url.query
            if asked != self._query:
                both = b"&".join(filter(None, (self._query, asked)))
                request.url = request.url.copy_with(query=both)
            request.extensions[OWN_QUERY] = self._query
        return request


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
