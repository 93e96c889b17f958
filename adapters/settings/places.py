"""How a setting that names a place or a version is read: URLs, hosts, origins, specifiers.

Rules like those of `rules.py`. A URL is never shown in a refusal, since it may hold a
credential.
"""

from dataclasses import dataclass
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from locum.core.errors import ConfigError

from ..origins import BadUrlError, Origin, OriginPattern
from .rules import from_variable, refuse

__all__ = ["Host", "HttpUrl", "OriginEntry", "Specifier"]


@dataclass(frozen=True)
class HttpUrl:
    """An absolute HTTP(S) URL without credentials, query or fragment; empty where it may be.

    `base` cuts the slashes at its end, so that paths can be put behind it.
    """

    empty: bool = False
    base: bool = False
    query: bool = False

    def read(self, value: Any, key: str) -> str:
        """The URL as written, without white space around it."""
        accepted = "an http:// or https:// URL without credentials or fragment"
        if not isinstance(value, str):
            raise refuse(value, key, accepted, secret=True)
        url = value.strip()
        if not url and self.empty:
            return ""
        try:
            Origin.of(url)
        except BadUrlError as error:
            said = f"a URL that cannot be used ({error}){from_variable(value)}"
            raise ConfigError(key, found=said, accepted=accepted) from None
        if "#" in url or ("?" in url and not self.query):
            said = f"a URL with a query or fragment{from_variable(value)}"
            raise ConfigError(key, found=said, accepted=accepted)
        return url.rstrip("/") if self.base else url


@dataclass(frozen=True)
class Host:
    """A host name or an IP address, without a port."""

    def read(self, value: Any, key: str) -> str:
        """The host as written."""
        accepted = "a host name or an IP address"
        if not isinstance(value, str):
            raise refuse(value, key, accepted)
        try:
            Origin.at(value)
        except BadUrlError:
            raise refuse(value, key, accepted) from None
        return str(value)


@dataclass(frozen=True)
class OriginEntry:
    """An entry of `allowed_hosts`."""

    def read(self, value: Any, key: str) -> OriginPattern:
        """The pattern."""
        accepted = 'an origin such as "https://files.example:8443", or "host:port", or "host"'
        if not isinstance(value, str):
            raise refuse(value, key, accepted)
        try:
            return OriginPattern.parse(value.strip())
        except BadUrlError as error:
            raise ConfigError(
                key, found=f"an entry that cannot be used ({error})", accepted=accepted
            ) from None


@dataclass(frozen=True)
class Specifier:
    """A PEP 440 version specifier such as `>=1,<2`; empty for any version."""

    def read(self, value: Any, key: str) -> str:
        """The specifier's text."""
        accepted = 'a PEP 440 version specifier such as ">=1,<2"'
        if not isinstance(value, str):
            raise refuse(value, key, accepted)
        try:
            SpecifierSet(value)
        except InvalidSpecifier:
            raise refuse(value, key, accepted) from None
        return str(value)
