"""Plain HTTP on loopback for tests: a client that does not read the machine's CA files."""

import ssl
from typing import Any

import httpx

__all__ = ["plain_http"]

# Trusts nobody, and is made once: reading the CA files takes longer than most tests.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def plain_http(**options: Any) -> httpx.AsyncClient:
    """An httpx client for `http://` URLs that knows no proxy; `options` are httpx's own."""
    return httpx.AsyncClient(verify=_NO_TLS, trust_env=False, **options)
