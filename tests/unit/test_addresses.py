"""Origins and addresses: what is one place, and which places are not public."""

import ipaddress

import pytest

from locum.adapters.a2a.addresses import Reach, reach_of, resolve, widest
from locum.adapters.origins import BadUrlError, Origin, OriginPattern, literal_address


@pytest.mark.parametrize(
    "address, reach",
    [
        ("93.184.216.34", Reach.PUBLIC),
        ("2606:4700::1111", Reach.PUBLIC),
        ("127.0.0.1", Reach.LOOPBACK),
        ("127.9.9.9", Reach.LOOPBACK),
        ("::1", Reach.LOOPBACK),
        ("10.1.2.3", Reach.PRIVATE),
        ("172.31.255.255", Reach.PRIVATE),
        ("192.168.0.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("169.254.1.1", Reach.LINK_LOCAL),
        ("fe80::1", Reach.LINK_LOCAL),
        ("169.254.169.254", Reach.METADATA),
        ("168.63.129.16", Reach.METADATA),
        ("100.100.100.200", Reach.METADATA),
        ("fd00:ec2::254", Reach.METADATA),
        ("0.0.0.0", Reach.UNSPECIFIED),
        ("::", Reach.UNSPECIFIED),
        ("224.0.0.1", Reach.RESERVED),
        ("255.255.255.255", Reach.RESERVED),
        ("203.0.113.7", Reach.RESERVED),
        ("ff02::1", Reach.RESERVED),
        ("2001:db8::1", Reach.RESERVED),
        # IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
        ("::ffff:127.0.0.1", Reach.LOOPBACK),
        ("::ffff:93.184.216.34", Reach.PUBLIC),
        ("::127.0.0.1", Reach.LOOPBACK),
        ("::ffff:0:10.0.0.1", Reach.PRIVATE),
        ("64:ff9b::a9fe:a9fe", Reach.METADATA),
        ("64:ff9b::5db8:d822", Reach.PUBLIC),
        ("64:ff9b:1::1", Reach.PRIVATE),
        ("2002:7f00:1::1", Reach.LOOPBACK),
        ("2001:0:7f00:1::1", Reach.LOOPBACK),
        ("2001:0:5db8:d822::80ff:fffe", Reach.LOOPBACK),
        ("2606:4700::5efe:a00:1", Reach.PRIVATE),
    ],
)
def test_what_is_public(address: str, reach: Reach) -> None:
    """A4: link-local, private and metadata addresses are not public, in whatever they are wrapped."""
    assert reach_of(ipaddress.ip_address(address)) is reach


def test_one_private_address_among_public_ones() -> None:
    """A4: a name is public only when all its addresses are."""
    public, private = ipaddress.ip_address("93.184.216.34"), ipaddress.ip_address("10.0.0.1")
    assert widest([public, public]) is Reach.PUBLIC
    assert widest([public, private]) is Reach.PRIVATE


@pytest.mark.parametrize(
    "host, address",
    [
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("169.254.43518", "169.254.169.254"),
        ("::1", "::1"),
        ("1.2.3.4.", "1.2.3.4"),
        ("256.1.1.1", None),
        ("1.2.3.4.5", None),
        ("4294967296", None),
        ("09.1", None),
        ("x.1", None),
        ("example.com", None),
    ],
)
def test_addresses_written_as_numbers(host: str, address: str | None) -> None:
    """A4: decimal, octal and hexadecimal spellings mean the address that a resolver takes them for."""
    expected = None if address is None else ipaddress.ip_address(address)
    assert literal_address(host) == expected


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("https://a.example/x", "https://A.EXAMPLE:443/y?z", True),
        ("http://a.example", "http://a.example:80", True),
        ("http://a.example", "https://a.example", False),
        ("https://a.example", "https://a.example:8443", False),
        ("https://a.example", "https://b.a.example", False),
        ("https://bücher.example", "https://xn--bcher-kva.example", True),
        ("https://BÜCHER.example", "https://bücher.example", True),
        ("https://inventor\u212a.example", "https://inventork.example", True),
        ("https://аpple.example", "https://apple.example", False),
        ("http://127\u30020\u30020\u30021", "http://127.0.0.1", True),
        ("http://2130706433", "http://127.0.0.1", True),
    ],
)
def test_same_origin(one: str, other: str, same: bool) -> None:
    """A4, case C1: origins are compared by scheme, host after IDNA and effective port, never by
    look.
    """
    assert (Origin.of(one) == Origin.of(other)) is same


@pytest.mark.parametrize(
    "url, reason",
    [
        ("", "relative"),
        ("/a2a", "relative"),
        ("//a.example/a2a", "relative"),
        ("a.example/a2a", "relative"),
        ("ftp://a.example", "scheme is ftp"),
        ("grpc://a.example", "scheme is grpc"),
        ("https://user:pw@a.example", "credentials"),
        ("https://user@a.example", "credentials"),
        ("https://good.example\\@evil.example", "credentials"),
        ("https:///a2a", "names no host"),
        ("https://a b.example", "host name"),
        ("https://%31%32%37.0.0.1", "host name"),
        ("https://a.example:0", "port is 0"),
        ("https://a.example:65536", "port is 65536"),
        ("https://a.example:x", "cannot be read"),
        ("https://ｆullwidth.example", "cannot be read"),
        ("https://[fe80::1%eth0]", "zone"),
        ("https://a.example/\r\nX: y", "cannot be read"),
    ],
)
def test_urls_that_cannot_be_used(url: str, reason: str) -> None:
    """A4: relative, another scheme, credentials, no usable host or port: said, without the secret."""
    with pytest.raises(BadUrlError, match=reason) as caught:
        Origin.of(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "entry, allowed, not_allowed",
    [
        ("https://f.example", "https://f.example:443", "http://f.example"),
        ("https://f.example:8443", "https://f.example:8443", "https://f.example"),
        ("f.example:8443", "http://f.example:8443", "https://f.example"),
        ("f.example:80", "http://f.example", "https://f.example"),
        ("f.example", "https://f.example:9", "https://g.example"),
        ("[::1]:90", "http://[::1]:90", "http://[::1]:91"),
    ],
)
def test_allowed_hosts(entry: str, allowed: str, not_allowed: str) -> None:
    """A4: an entry of allowed_hosts is an origin, a host and port, or a host."""
    pattern = OriginPattern.parse(entry)
    assert pattern.matches(Origin.of(allowed))
    assert not pattern.matches(Origin.of(not_allowed))


@pytest.mark.parametrize("entry", ["", "https://f.example/path", "f.example/path", "u@f.example"])
def test_allowed_hosts_name_origins_only(entry: str) -> None:
    """A4: an entry with a path or credentials is refused, not cut."""
    with pytest.raises(BadUrlError):
        OriginPattern.parse(entry)


@pytest.mark.parametrize(
    "url, loopback",
    [
        ("http://127.0.0.1:9", True),
        ("http://[::1]", True),
        ("http://localhost", True),
        ("http://x.localhost.", True),
        ("http://localhost.example", False),
        ("http://10.0.0.1", False),
        ("http://[::ffff:127.0.0.1]", True),
    ],
)
def test_loopback_by_name(url: str, loopback: bool) -> None:
    """A4, G7: plain HTTP is taken for loopback: its addresses, and `localhost` by RFC 6761."""
    assert Origin.of(url).is_loopback is loopback


async def test_resolving() -> None:
    """A4: a literal is itself, `localhost` is loopback, a name that is not there has no address."""
    assert await resolve("0x7f.1", 80) == [ipaddress.ip_address("127.0.0.1")]
    assert widest(await resolve("localhost", 80)) is Reach.LOOPBACK
    assert await resolve("nowhere.invalid", 80) == []
