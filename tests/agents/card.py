"""The agent card that a test peer serves. Builds JSON, serves nothing."""

from collections.abc import Iterable
from typing import Any

from .frames import Binding, Json

__all__ = ["BASE_PATH", "card_for"]

BASE_PATH: dict[Binding, str] = {"JSONRPC": "/rpc", "HTTP+JSON": "/rest"}
"""Where a peer's interface is, by binding."""


def card_for(
    url: str,
    bindings: Iterable[Binding] = ("JSONRPC",),
    *,
    name: str = "Raw",
    streaming: bool = True,
    push: bool = True,
    tenant: str = "",
    extensions: Iterable[str | Json] = (),
    **more: Any,
) -> Json:
    """A valid A2A 1.0 card for the peer at `url`; `more` sets or replaces top-level fields."""
    interfaces: list[Json] = []
    for binding in bindings:
        interface: Json = {
            "url": url + BASE_PATH[binding],
            "protocolBinding": binding,
            "protocolVersion": "1.0",
        }
        interfaces.append(interface | ({"tenant": tenant} if tenant else {}))
    capabilities: Json = {"streaming": streaming, "pushNotifications": push}
    advertised = [{"uri": e} if isinstance(e, str) else e for e in extensions]
    if advertised:
        capabilities["extensions"] = advertised
    card: Json = {
        "name": name,
        "description": f"{name}, a peer for tests",
        "version": "1.0.0",
        "supportedInterfaces": interfaces,
        "capabilities": capabilities,
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "any", "name": "Any", "description": "Anything", "tags": ["test"]}],
    }
    return card | more
