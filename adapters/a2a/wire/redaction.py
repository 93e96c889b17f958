"""What an agent said without the secrets that it was sent, should it quote them (G8, case P10)."""

from collections.abc import Iterable
from typing import Any

from locum.core.errors import RemoteCallError

from .words import redacted

__all__ = ["masked", "without_secret"]


def without_secret(error: RemoteCallError, secret: str) -> RemoteCallError:
    """The same error, the secret masked in its message and its data."""
    return RemoteCallError(
        redacted(error.message, (secret,)),
        code=error.code,
        kind=error.kind,
        method=error.method,
        status=error.status,
        agent_code=masked(error.detail.get("agent_code"), (secret,)),
        retry_after=error.retry_after,
        data=masked(error.detail.get("data"), (secret,)),
        anomalies=error.anomalies,
        said=redacted(error.said, (secret,)),
        account=error.account,
    )


def masked(value: Any, secrets: Iterable[str]) -> Any:
    """The JSON value, every secret masked in its texts and names. Numbers are left alone."""
    match value:
        case str():
            return redacted(value, secrets)
        case dict():
            return {redacted(name, secrets): masked(item, secrets) for name, item in value.items()}
        case list():
            return [masked(item, secrets) for item in value]
        case _:
            return value
