"""Certificates for tests of TLS: an authority of the test's own, made anew each time. Serves nothing."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Authority"]

_NOW = dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class Pair:
    """The paths of a certificate and its key, both PEM."""

    cert_file: str
    key_file: str


class Authority:
    """Signs certificates into a folder. `ca_file` is what to trust."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("locum test authority")
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(_usage(signs=True), True)
        self._certificate = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False
        ).sign(self._key, hashes.SHA256())
        self.ca_file = str(folder / "ca.pem")
        Path(self.ca_file).write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def pair(self, name: str) -> Pair:
        """A certificate for 127.0.0.1 and localhost, good for servers and clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.DNSName("localhost"),
        ]
        builder = _builder(_named(name), self._name, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs=False), True)
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority_id, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = Pair(str(self._folder / f"{name}.pem"), str(self._folder / f"{name}.key"))
        Path(pair.cert_file).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        Path(pair.key_file).write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def server_context(self, *, wants_client: bool = False) -> ssl.SSLContext:
        """A server's context; with `wants_client` only who shows a certificate gets in."""
        pair = self.pair("server")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.cert_file, pair.key_file)
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cafile=self.ca_file)
        return context


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - dt.timedelta(hours=1))
        .not_valid_after(_NOW + dt.timedelta(days=1))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
