"""An agent's HTTP client with credentials, and a token endpoint's answers. No tests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from locum.adapters.a2a.credentials.kinds import CustomCredentials
from locum.adapters.a2a.credentials.placing import credentials_for
from locum.adapters.a2a.credentials.tls import tls_context_for
from locum.adapters.a2a.http import open_http
from locum.adapters.a2a.wire.budget import Budget
from locum.adapters.a2a.wire.notes import WireLimits
from locum.adapters.settings import Settings
from tests.agents.raw import RawAgent

__all__ = ["JSON", "SECRET", "bearers", "failed", "http_for", "oauth2", "oidc", "token"]

SECRET = "s3cr3t+/="
JSON = {"content-type": "application/json"}


def token(word: str, **more: Any) -> tuple[int, dict[str, str], str]:
    """A token endpoint's answer."""
    body = {"access_token": word, "token_type": "Bearer", "expires_in": 3600} | more
    return 200, JSON, json.dumps(body)


def failed(status: int, **body: Any) -> tuple[int, dict[str, str], str]:
    """A token endpoint's refusal."""
    return status, JSON, json.dumps(body)


def bearers(agent: RawAgent, path: str = "/x") -> list[str]:
    """The tokens that the agent saw."""
    return [seen.headers.get("authorization", "none") for seen in agent.calls(path)]


def oauth2(issuer: RawAgent, **more: Any) -> dict[str, Any]:
    """An oauth2 auth at `issuer`."""
    return {
        "type": "oauth2",
        "token_url": f"{issuer.url}/token",
        "client_id": "locum id",
        "client_secret_env": "SECRET",
    } | more


def oidc(issuer: RawAgent, **more: Any) -> dict[str, Any]:
    """An oidc auth at `issuer`."""
    return {
        "type": "oidc",
        "issuer": issuer.url,
        "client_id": "locum",
        "client_secret_env": "SECRET",
    } | more


@asynccontextmanager
async def http_for(
    url: str, *, custom: CustomCredentials | None = None, timeout: float = 5.0, **agent: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP client of an agent at `url`, as the registry opens it."""
    tables = {"agents": [{"id": "a", "url": url} | agent]}
    settings = Settings.from_mapping(tables).agents[0]
    environ = {"SECRET": SECRET, "KEY": "k3y v&lue"}
    credentials = credentials_for(settings, environ, custom=custom, token_timeout=timeout)
    async with open_http(
        credentials=credentials,
        limits=WireLimits(),
        budget=Budget(),
        tls=tls_context_for(settings),
    ) as http:
        yield http
