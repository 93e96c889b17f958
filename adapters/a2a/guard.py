"""Watches which addresses an agent's connections go to, so that a public agent stays public (A4).

A name may come to mean another address between the card's check and a call. The pool asks this
guard before it dials.
"""

import ipaddress

from ..origins import Origin
from .addresses import Reach, reach_of

__all__ = ["AddressGuard"]


class AddressGuard:
    """Given to the pool of one agent. Refuses nothing until the card has come from a public place."""

    def __init__(self) -> None:
        self._first: dict[str, Reach] = {}
        """How far away the first card from each host was."""
        self._is_public = False

    def __call__(self, host: str, address: str) -> None:
        """Raises ValueError when `address`, which `host` is at, must not be dialled."""
        reach = _reach(address)
        if self._is_public and reach is not Reach.PUBLIC:
            raise ValueError(f"a {reach} address, and the agent's card came from a public one")

    def came_from(self, url: str, peer: str) -> Reach:
        """The card came from `url` at the address `peer`: how far away the agent is.

        A public agent is one from now on. One that was found near stays near: a name may have
        addresses of both kinds, and which of them a connection gets changes from one to the next.
        """
        first = self._first.setdefault(Origin.of(url).host, _reach(peer))
        self._is_public = self._is_public or first is Reach.PUBLIC
        return first


def _reach(address: str) -> Reach:
    return reach_of(ipaddress.ip_address(address.partition("%")[0]))
