"""Watches which addresses an agent's connections go to, so that a public agent stays public (A4).

A name may come to mean another address between the card's check and a call. The pool asks this
guard before it dials.
"""

import ipaddress

from ..origins import Origin, literal_address
from .addresses import Reach, reach_of

__all__ = ["AddressGuard"]


class AddressGuard:
    """Given to the pool of one agent. Refuses nothing until the card has come from a public place."""

    def __init__(self) -> None:
        self._seen: dict[str, Reach] = {}
        self._is_public = False

    def __call__(self, host: str, address: str) -> None:
        """Take note that `host` is at `address`. Raises ValueError when it must not be dialled."""
        reach = reach_of(ipaddress.ip_address(address.partition("%")[0]))
        if self._is_public and reach is not Reach.PUBLIC:
            raise ValueError(f"a {reach} address, and the agent's card came from a public one")
        if reach is not Reach.PUBLIC or host not in self._seen:
            self._seen[host] = reach

    def came_from(self, url: str) -> Reach:
        """The card came from `url`: how far away that is. A public agent is one from now on."""
        host = Origin.of(url).host
        literal = literal_address(host)
        reach = self._seen.get(host, Reach.RESERVED) if literal is None else reach_of(literal)
        self._is_public = self._is_public or reach is Reach.PUBLIC
        return reach
