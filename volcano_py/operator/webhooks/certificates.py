"""Certificates of the webhook server: an authority of its own, and what it signs.

The authority lives for years and the serving certificate for months. Renewing the latter changes nothing for the API
server, which trusts the authority. Long before an authority ends its successor is trusted as well; the next serving
certificate is then signed by the successor. So at no moment does a replica serve what the API server does not trust.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from volcano_py.cluster.certificates import Signer, certificate_pem, common_name, new_key

AUTHORITY_VALID: Final = timedelta(days=5 * 365)
AUTHORITY_RENEWED_BEFORE: Final = timedelta(days=365)
"""More than SERVING_VALID: what the old authority has signed ends before it does."""
SERVING_VALID: Final = timedelta(days=90)
SERVING_RENEWED_BEFORE: Final = timedelta(days=30)

_FIELDS: Final = {"authorities": "ca.crt", "authority_key": "ca.key", "certificate": "tls.crt", "key": "tls.key"}


@dataclass(frozen=True, slots=True)
class Certificates:
    """What the Secret holds, as PEM: all trusted authorities (newest first), the newest one's key, and the server's."""

    authorities: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes

    @classmethod
    def from_secret(cls, data: Mapping[str, str]) -> Certificates:
        """
        Raises:
            ValueError: something is missing, cannot be read, or does not belong together.
        """
        try:
            parts = {field: base64.b64decode(data[name], validate=True) for field, name in _FIELDS.items()}
        except (KeyError, binascii.Error) as error:
            raise ValueError(f"its data has no usable {error}") from error
        found = cls(**parts)
        try:
            found._check()
        except Exception as error:
            # The Secret may hold anything, and the library has a class of errors for each oddity.
            raise ValueError(str(error) or type(error).__name__) from error
        return found

    def as_secret(self) -> dict[str, str]:
        """The Secret's `data`."""
        return {name: base64.b64encode(getattr(self, field)).decode() for field, name in _FIELDS.items()}

    @property
    def expires(self) -> datetime:
        """When the serving certificate does."""
        return _certificate(self.certificate).not_valid_after_utc

    def _check(self) -> None:
        """Read every part as it will be used. Raises if a part cannot be read, or the parts do not belong together."""
        serving, authorities = _certificate(self.certificate), x509.load_pem_x509_certificates(self.authorities)
        if serving.public_key() != _key(self.key).public_key():
            raise ValueError("tls.crt and tls.key do not belong together")
        if authorities[0].public_key() != _key(self.authority_key).public_key():
            raise ValueError("ca.crt and ca.key do not belong together")
        if not any(_signed(serving, authority) for authority in authorities):
            raise ValueError("tls.crt was signed by none of the authorities in ca.crt")
        _hosts_of(serving)


def issue(hosts: Sequence[str], now: datetime) -> Certificates:
    """All new; `hosts` are DNS names and IP addresses, the first is the certificate's subject."""
    certificate, key = _new_authority(now)
    return _with_serving(certificate_pem(certificate), _key_pem(key), hosts, now)


def renewed(current: Certificates, hosts: Sequence[str], now: datetime) -> Certificates | None:
    """With what is due renewed; None when nothing is."""
    result = current
    authorities = x509.load_pem_x509_certificates(current.authorities)
    if authorities[0].not_valid_after_utc - now < AUTHORITY_RENEWED_BEFORE:
        certificate, key = _new_authority(now)
        kept = [each for each in authorities if each.not_valid_after_utc > now]
        bundle = b"".join(certificate_pem(each) for each in (certificate, *kept))
        result = Certificates(bundle, _key_pem(key), current.certificate, current.key)
    serving = _certificate(current.certificate)
    if serving.not_valid_after_utc <= now or not _hosts_of(serving) >= set(hosts):
        # It cannot be used as it is, so there is nothing to wait for.
        return _with_serving(result.authorities, result.authority_key, hosts, now)
    if result is current and serving.not_valid_after_utc - now < SERVING_RENEWED_BEFORE:
        return _with_serving(result.authorities, result.authority_key, hosts, now)
    return None if result is current else result


def _with_serving(authorities: bytes, authority_key: bytes, hosts: Sequence[str], now: datetime) -> Certificates:
    authority = Signer(x509.load_pem_x509_certificates(authorities)[0].subject, _key(authority_key))
    key = new_key()
    certificate = authority.sign(
        _name(hosts[0]), key.public_key(), now, SERVING_VALID, usages=[ExtendedKeyUsageOID.SERVER_AUTH], hosts=hosts
    )
    return Certificates(authorities, authority_key, certificate_pem(certificate), _key_pem(key))


def _new_authority(now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    # Old and new are in one bundle; with equal names, a client could not know which one has signed.
    name = _name(f"volcano-py admission {now.astimezone(UTC):%Y-%m-%d} {x509.random_serial_number() % 10**8:08d}")
    authority = Signer(name, new_key())
    return authority.own(now, AUTHORITY_VALID), authority.key


def _name(text: str) -> x509.Name:
    # A common name has 64 characters at most; what counts are the alternative names.
    return common_name(text[:64])


def _hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise ValueError("tls.crt names no hosts (subjectAltName)") from error
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def _key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("a key is not an elliptic curve key, the only kind generated here")
    return key


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
