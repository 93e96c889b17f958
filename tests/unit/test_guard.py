"""The guard over the addresses of one agent: what a card's own address says about it (A4)."""

import pytest

from locum.adapters.a2a.addresses import Reach
from locum.adapters.a2a.guard import AddressGuard

URL = "https://inventory.example"
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"


def test_a_public_agent_stays_public() -> None:
    """A4: a name that comes to mean a private address after the card's check is not dialled."""
    guard = AddressGuard()
    guard("files.example", PRIVATE)
    guard("inventory.example", PUBLIC)
    assert guard.came_from(URL, PUBLIC) is Reach.PUBLIC
    guard("inventory.example", "93.184.216.35")
    for address in ("127.0.0.1", "169.254.169.254", "fe80::1%eth0"):
        with pytest.raises(ValueError, match="came from a public one"):
            guard("inventory.example", address)


def test_a_private_agent_is_left_alone() -> None:
    """A4: a card from a private address forbids nothing."""
    guard = AddressGuard()
    guard("inventory.example", PRIVATE)
    assert guard.came_from(URL, PRIVATE) is Reach.PRIVATE
    assert guard.came_from("http://[fe80::1]", "fe80::1%eth0") is Reach.LINK_LOCAL
    guard("inventory.example", "10.0.0.2")


def test_a_name_with_addresses_of_both_kinds_is_public() -> None:
    """A4: what counts is the address that the card came from, not what else the name means."""
    guard = AddressGuard()
    guard("inventory.example", PUBLIC)
    guard("inventory.example", PRIVATE)
    assert guard.came_from(URL, PUBLIC) is Reach.PUBLIC
    with pytest.raises(ValueError, match="came from a public one"):
        guard("inventory.example", PRIVATE)


def test_an_agent_that_was_found_near_stays_near() -> None:
    """A4: a name of both kinds that was first reached at its private address goes on working."""
    guard = AddressGuard()
    assert guard.came_from(URL, PRIVATE) is Reach.PRIVATE
    assert guard.came_from(URL, PUBLIC) is Reach.PRIVATE
    guard("inventory.example", PRIVATE)
    assert guard.came_from("https://other.example", PUBLIC) is Reach.PUBLIC
    with pytest.raises(ValueError, match="came from a public one"):
        guard("inventory.example", PRIVATE)
