"""X.509 certificates as the webhook server and the local control plane use them: an authority, and what it signs.

Keys are of ECDSA P-256: made in milliseconds, known to every TLS stack.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_CLOCK_SKEW: Final = timedelta(minutes=5)
"""How far the clock of a machine that looks at a certificate may be behind that of the one that made it."""


@dataclass(frozen=True, slots=True)
class Signer:
    """An authority that signs: its name, and its private key."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey

    def own(self, now: datetime, valid: timedelta) -> x509.Certificate:
        """The authority's own certificate, for all that trust the authority."""
        return (
            _builder(self.name, self.name, self.key.public_key(), now, valid)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        now: datetime,
        valid: timedelta,
        *,
        usages: Sequence[x509.ObjectIdentifier],
        hosts: Iterable[str] = (),
    ) -> x509.Certificate:
        """The certificate of a server that is reached at `hosts` (DNS names, IP addresses), or of a client."""
        builder = (
            _builder(subject, self.name, key, now, valid)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        alternatives = [_alternative(host) for host in hosts]
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self.key, hashes.SHA256())


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def common_name(text: str) -> x509.Name:
    """
    Raises:
        ValueError: it has more than 64 characters.
    """
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, valid: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + valid)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
