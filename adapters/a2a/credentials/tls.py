"""TLS contexts for agents and token endpoints: whom we trust, and with which certificate we come."""

import ssl

import httpx

from locum.core.errors import UnsupportedExtensionError

from ...settings.agents import AgentSettings, MtlsAuth

__all__ = ["tls_context", "tls_context_for"]


def tls_context_for(agent: AgentSettings) -> ssl.SSLContext | None:
    """The context for connections to an agent; see `tls_context`."""
    for auth in agent.auth:
        if isinstance(auth, MtlsAuth):
            return tls_context(
                ca_file=auth.ca_file or agent.ca_file,
                cert_file=auth.cert_file,
                key_file=auth.key_file,
            )
    return tls_context(ca_file=agent.ca_file)


def tls_context(
    *, ca_file: str = "", cert_file: str = "", key_file: str = ""
) -> ssl.SSLContext | None:
    """A client's context: the usual authorities, those of `ca_file`, and our own certificate.

    None when there is nothing of its own, so that the usual one will do. Raises
    UnsupportedExtensionError (`card.unsupported`) for a file that cannot be used, naming it.
    """
    if not (ca_file or cert_file):
        return None
    context = httpx.create_ssl_context()
    if ca_file:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:
            raise _unusable("ca_file", ca_file, error) from error
    if cert_file:
        try:
            # The empty password keeps OpenSSL from asking for one at the terminal.
            context.load_cert_chain(cert_file, key_file, password="")
        except (OSError, ValueError) as error:
            raise _unusable("cert_file or key_file", f"{cert_file}, {key_file}", error) from error
    return context


def _unusable(key: str, files: str, error: Exception) -> UnsupportedExtensionError:
    reason = getattr(error, "strerror", None) or getattr(error, "reason", None)
    return UnsupportedExtensionError(
        f"The TLS file of {key} ({files}) cannot be used: {reason or type(error).__name__}.",
        detail={"key": key},
    )
