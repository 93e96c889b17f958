"""URLs and origins as they are compared: scheme, IDNA host, effective port. Resolves and dials nothing.

Everything that decides where a request or a credential may go compares `Origin`s, never texts,
so that two spellings of one host are one host and two look-alikes are two (A4, A6, case C1).
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

__all__ = ["BadUrlError", "IpAddress", "Origin", "OriginPattern", "literal_address"]

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_MAX_PORT = 65535
_IPV4_PARTS = 4


class BadUrlError(ValueError):
    """A URL that cannot be dialled; the message says why and never repeats a credential."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a URL leads: `http` or `https`, a lower-case ASCII host or IP literal, a port."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """The origin of an absolute HTTP(S) URL.

        Raises BadUrlError for a relative one, another scheme, credentials in it, no or an
        unusable host, or an unusable port (A4 `card.bad_url`).
        """
        parsed = _parsed(url)
        if not parsed.scheme:
            raise BadUrlError("it is relative")
        if parsed.scheme not in _DEFAULT_PORTS:
            raise BadUrlError(f"its scheme is {parsed.scheme}, not http or https")
        if parsed.userinfo:
            raise BadUrlError("it has credentials in it")
        host = _normal_host(parsed.raw_host.decode("ascii"))
        port = _DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
        if not 0 < port <= _MAX_PORT:
            raise BadUrlError(f"its port is {port}")
        return cls(parsed.scheme, host, port)

    @classmethod
    def at(cls, host: str, port: int = 80) -> "Origin":
        """The origin `http://host:port`. Raises BadUrlError when `host` is more than a host."""
        if any(sign in host for sign in "/?#"):
            raise BadUrlError("it is more than a host")
        netloc = f"[{host}]" if ":" in host else host
        return cls.of(f"http://{netloc}:{port}")

    @property
    def is_loopback(self) -> bool:
        """True for a loopback literal, `localhost` and the names below it (RFC 6761)."""
        address = literal_address(self.host)
        if address is not None:
            mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
            return (mapped or address).is_loopback
        name = self.host.rstrip(".")
        return name == "localhost" or name.endswith(".localhost")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True, slots=True)
class OriginPattern:
    """What one entry of `allowed_hosts` allows.

    `https://host[:port]` is that origin; `host:port` that host and port with either scheme;
    `host` that host on any port. Plain HTTP has to be allowed besides (A4 `card.insecure_url`).
    """

    scheme: str | None
    host: str
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "OriginPattern":
        """Read one entry. Raises BadUrlError, also when it names more than an origin."""
        if "://" in text:
            origin = Origin.of(text)
            parsed = _parsed(text)
            if parsed.raw_path not in (b"/", b"") or parsed.fragment:
                raise BadUrlError("it has a path; only scheme, host and port count")
            return cls(origin.scheme, origin.host, origin.port)
        # The scheme only lends the text a place to be read in; 80 and 443 are told apart by
        # reading it once with each, since httpx drops a port that is the scheme's own.
        http, https = Origin.of(f"http://{text}"), Origin.of(f"https://{text}")
        if _parsed(f"http://{text}").raw_path != b"/":
            raise BadUrlError("it has a path; only host and port count")
        return cls(None, http.host, http.port if http.port == https.port else None)

    def matches(self, origin: Origin) -> bool:
        """True when a request may go to `origin` by this entry."""
        return (
            self.host == origin.host
            and self.scheme in (None, origin.scheme)
            and self.port in (None, origin.port)
        )


def _parsed(url: str) -> "httpx.URL":
    """The URL as the library reads it that dials it. Raises BadUrlError."""
    # It takes longest of all to load, and settings without a URL need none of it.
    import httpx  # noqa: PLC0415

    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError, TypeError):
        raise BadUrlError("it cannot be read as a URL") from None


def literal_address(host: str) -> IpAddress | None:
    """The address that a host written as numbers means, or None when it is a name.

    Resolvers also take one to four decimal, octal or hexadecimal numbers (`2130706433`,
    `0x7f.1`), as inet_aton(3) and the WHATWG URL standard do; so does this.
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    parts = host.lower().rstrip(".").split(".")
    if len(parts) > _IPV4_PARTS or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        *heads, tail = (_number(part) for part in parts)
        if any(head > 0xFF for head in heads) or tail >= 256 ** (_IPV4_PARTS - len(heads)):
            return None
        value = tail
        for place, head in enumerate(heads):
            value += head << (8 * (_IPV4_PARTS - 1 - place))
        return ipaddress.IPv4Address(value)
    except ValueError:
        return None


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if len(text) > 1 and text.startswith("0") else 10)


def _normal_host(host: str) -> str:
    if not host:
        raise BadUrlError("it names no host")
    address = literal_address(host)
    if address is not None:
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
            raise BadUrlError("its address has a zone")
        return str(address)
    if not _HOST_NAME.fullmatch(host):
        raise BadUrlError("its host is not a host name")
    return host
