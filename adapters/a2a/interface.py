"""The one interface of a card that locum talks to (A5); how it is chosen is the business of `cards`."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Binding", "Interface"]

Binding = Literal["JSONRPC", "HTTP+JSON"]
"""The protocol bindings that locum dials, as cards name them (G6)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """Where and how an agent is called.

    `url` is the card's, verbatim; `tenant` goes with every request when it is not empty;
    `protocol_version` is the A2A 1.x version that the card states for it.
    """

    url: str
    binding: Binding
    tenant: str = ""
    protocol_version: str = "1.0"
