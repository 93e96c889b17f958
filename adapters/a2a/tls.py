"""TLS contexts for agents and token endpoints: whom we trust, and with which certificate we come."""

import ssl
from functools import cache

import httpx

from locum.core.errors import UnsupportedExtensionError

__all__ = ["tls_context"]


def tls_context(*, ca_file: str = "", cert_file: str = "", key_file: str = "") -> ssl.SSLContext:
    """A client's context: the usual authorities, those of `ca_file`, and our own certificate.

    Contexts with nothing of their own are one and the same, since reading the authorities takes
    tens of milliseconds. Raises UnsupportedExtensionError (`card.unsupported`) for a file that
    cannot be used, naming it.
    """
    if not (ca_file or cert_file):
        return _usual()
    context = _new()
    if ca_file:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _unusable("ca_file", ca_file, error) from error
    if cert_file:
        try:
            # The empty password keeps OpenSSL from asking for one at the terminal.
            context.load_cert_chain(cert_file, key_file, password="")
        except (OSError, ssl.SSLError, ValueError) as error:
            raise _unusable("cert_file or key_file", f"{cert_file}, {key_file}", error) from error
    return context


@cache
def _usual() -> ssl.SSLContext:
    return _new()


def _new() -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    # Besides the bundle that httpx brings, what the machine's owner trusts.
    context.load_default_certs()
    return context


def _unusable(key: str, files: str, error: Exception) -> UnsupportedExtensionError:
    reason = getattr(error, "strerror", None) or getattr(error, "reason", None)
    return UnsupportedExtensionError(
        f"The TLS file of {key} ({files}) cannot be used: {reason or type(error).__name__}.",
        detail={"key": key},
    )
