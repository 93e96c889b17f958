"""An error without the secret that the call carried, should the agent have quoted it (G8, P10)."""

from typing import Any

from locum.core.errors import RemoteCallError

from .words import redacted

__all__ = ["without_secret"]


def without_secret(error: RemoteCallError, secret: str) -> RemoteCallError:
    """The same error, the secret masked in its message and its data."""
    return RemoteCallError(
        redacted(error.message, (secret,)),
        code=error.code,
        kind=error.kind,
        method=error.method,
        status=error.status,
        agent_code=_masked(error.detail.get("agent_code"), secret),
        retry_after=error.retry_after,
        data=_masked(error.detail.get("data"), secret),
        anomalies=error.anomalies,
    )


def _masked(value: Any, secret: str) -> Any:
    match value:
        case str():
            return redacted(value, (secret,))
        case dict():
            return {_masked(name, secret): _masked(item, secret) for name, item in value.items()}
        case list():
            return [_masked(item, secret) for item in value]
        case _:
            return value
