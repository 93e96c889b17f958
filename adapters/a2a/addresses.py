"""Which addresses are public, and what a host name resolves to. Decides nothing about cards.

The table is our own and not `ipaddress`'s `is_global`, which has changed with Python's versions
and looks into none of the IPv6 addresses that carry an IPv4 address inside.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum

from ..origins import IpAddress, literal_address
from .names import Names

__all__ = ["Reach", "Resolve", "reach_of", "resolve", "widest"]


class Reach(StrEnum):
    """How far away an address is. Only PUBLIC may be reached from a public card (A4)."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    METADATA = "cloud metadata"
    UNSPECIFIED = "unspecified"
    RESERVED = "reserved"


Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]
"""Host and port → the addresses a connection may go to; empty when there are none."""

_REACH: tuple[tuple[str, Reach], ...] = (
    # The first that holds the address counts. IANA's special-purpose registries (RFC 6890).
    ("127.0.0.0/8", Reach.LOOPBACK),
    ("::1/128", Reach.LOOPBACK),
    # Where clouds answer a machine's questions about its credentials.
    ("169.254.169.254/32", Reach.METADATA),
    ("169.254.170.2/32", Reach.METADATA),
    ("168.63.129.16/32", Reach.METADATA),
    ("100.100.100.200/32", Reach.METADATA),
    ("192.0.0.192/32", Reach.METADATA),
    ("fd00:ec2::254/128", Reach.METADATA),
    ("fd20:ce::254/128", Reach.METADATA),
    ("0.0.0.0/8", Reach.UNSPECIFIED),
    ("::/128", Reach.UNSPECIFIED),
    ("10.0.0.0/8", Reach.PRIVATE),
    ("172.16.0.0/12", Reach.PRIVATE),
    ("192.168.0.0/16", Reach.PRIVATE),
    ("100.64.0.0/10", Reach.PRIVATE),
    ("fc00::/7", Reach.PRIVATE),
    ("fec0::/10", Reach.PRIVATE),
    ("64:ff9b:1::/48", Reach.PRIVATE),
    ("169.254.0.0/16", Reach.LINK_LOCAL),
    ("fe80::/10", Reach.LINK_LOCAL),
    ("192.0.0.0/24", Reach.RESERVED),
    ("192.0.2.0/24", Reach.RESERVED),
    ("192.88.99.0/24", Reach.RESERVED),
    ("198.18.0.0/15", Reach.RESERVED),
    ("198.51.100.0/24", Reach.RESERVED),
    ("203.0.113.0/24", Reach.RESERVED),
    ("224.0.0.0/3", Reach.RESERVED),
    ("2001:db8::/32", Reach.RESERVED),
    ("2001:10::/28", Reach.RESERVED),
    ("2001:20::/28", Reach.RESERVED),
    ("3fff::/20", Reach.RESERVED),
)
_NETWORKS = tuple((ipaddress.ip_network(text), reach) for text, reach in _REACH)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

# Prefix and how many bits of an IPv4 address's end lie behind it: mapped, compatible, translated,
# NAT64, 6to4. Whoever dials such an address may come out at the IPv4 address inside.
_CARRIERS = tuple(
    (ipaddress.IPv6Network(text), shift)
    for text, shift in (
        ("::ffff:0:0/96", 0),
        ("::/96", 0),
        ("::ffff:0:0:0/96", 0),
        ("64:ff9b::/96", 0),
        ("2002::/16", 80),
    )
)
_TEREDO = ipaddress.IPv6Network("2001::/32")
_ISATAP = 0x5EFE

# Of configured hosts only, of which there are so many as somebody has written down.
_NAMES = Names(limit=1000)


def reach_of(address: IpAddress) -> Reach:
    """How far away `address` is; an IPv4 address inside an IPv6 one counts when it is nearer."""
    for network, reach in _NETWORKS:
        if address.version == network.version and address in network:
            return reach
    if isinstance(address, ipaddress.IPv4Address):
        return Reach.PUBLIC
    carried = _carried(address)
    if carried:
        return widest(carried)
    return Reach.PUBLIC if address in _GLOBAL_UNICAST else Reach.RESERVED


def _carried(address: ipaddress.IPv6Address) -> list[IpAddress]:
    value = int(address)
    for network, shift in _CARRIERS:
        if address in network:
            return [ipaddress.IPv4Address(value >> shift & 0xFFFFFFFF)]
    if address in _TEREDO:
        server, client = value >> 64 & 0xFFFFFFFF, ~value & 0xFFFFFFFF
        return [ipaddress.IPv4Address(server), ipaddress.IPv4Address(client)]
    if value >> 32 & 0xFFFF == _ISATAP and value >> 48 & 0xFFFF in (0, 0x0200):
        return [ipaddress.IPv4Address(value & 0xFFFFFFFF)]
    return []


def widest(addresses: Iterable[IpAddress]) -> Reach:
    """PUBLIC when all of them are public, else what the first other one is.

    A name with one private address among public ones is not public: which of them a connection
    gets is not ours to choose.
    """
    return next(
        (reach for a in addresses if (reach := reach_of(a)) is not Reach.PUBLIC), Reach.PUBLIC
    )


async def resolve(host: str, port: int) -> Sequence[IpAddress]:
    """The addresses of `host` by the system's resolver; empty when it has none."""
    literal = literal_address(host)
    if literal is not None:
        return [literal]
    try:
        found = await _NAMES.look_up(host, port)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(ipaddress.ip_address(address.host) for address in found))
