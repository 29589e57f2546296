"""Certificates of the webhook server: an authority of its own, and what it signs.

The authority lives for years and the serving certificate for months. Renewing the latter changes nothing for the API
server, which trusts the authority. Long before an authority ends its successor is trusted as well; the next serving
certificate is then signed by the successor. So at no moment does a replica serve what the API server does not trust.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_VALID: Final = timedelta(days=5 * 365)
AUTHORITY_RENEWED_BEFORE: Final = timedelta(days=365)
"""More than SERVING_VALID: what the old authority has signed ends before it does."""
SERVING_VALID: Final = timedelta(days=90)
SERVING_RENEWED_BEFORE: Final = timedelta(days=30)
_CLOCK_SKEW: Final = timedelta(minutes=5)

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
        found.check()
        return found

    def as_secret(self) -> dict[str, str]:
        """The Secret's `data`."""
        return {name: base64.b64encode(getattr(self, field)).decode() for field, name in _FIELDS.items()}

    @property
    def expires(self) -> datetime:
        """When the serving certificate does."""
        return _certificate(self.certificate).not_valid_after_utc

    def check(self) -> None:
        """
        Raises:
            ValueError: a part cannot be read, or the parts do not belong together.
        """
        serving, authorities = _certificate(self.certificate), x509.load_pem_x509_certificates(self.authorities)
        if serving.public_key() != _key(self.key).public_key():
            raise ValueError("tls.crt and tls.key do not belong together")
        if authorities[0].public_key() != _key(self.authority_key).public_key():
            raise ValueError("ca.crt and ca.key do not belong together")
        if not any(_signed(serving, authority) for authority in authorities):
            raise ValueError("tls.crt was signed by none of the authorities in ca.crt")


def issue(hosts: Sequence[str], now: datetime) -> Certificates:
    """All new; `hosts` are DNS names and IP addresses, the first is told as the certificate's subject."""
    certificate, key = _new_authority(now)
    return _with_serving(_pem(certificate), _key_pem(key), hosts, now)


def renewed(current: Certificates, hosts: Sequence[str], now: datetime) -> Certificates | None:
    """With what is due made anew; None when nothing is."""
    result = current
    authorities = x509.load_pem_x509_certificates(current.authorities)
    if authorities[0].not_valid_after_utc - now < AUTHORITY_RENEWED_BEFORE:
        certificate, key = _new_authority(now)
        kept = [each for each in authorities if each.not_valid_after_utc > now]
        bundle = b"".join(_pem(each) for each in (certificate, *kept))
        result = Certificates(bundle, _key_pem(key), current.certificate, current.key)
    serving = _certificate(current.certificate)
    if serving.not_valid_after_utc <= now or not _hosts_of(serving) >= set(hosts):
        # Nobody can use it as it is, so that there is nothing to wait for.
        return _with_serving(result.authorities, result.authority_key, hosts, now)
    if result is current and serving.not_valid_after_utc - now < SERVING_RENEWED_BEFORE:
        return _with_serving(result.authorities, result.authority_key, hosts, now)
    return None if result is current else result


def _with_serving(authorities: bytes, authority_key: bytes, hosts: Sequence[str], now: datetime) -> Certificates:
    authority, signer = x509.load_pem_x509_certificates(authorities)[0], _key(authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(hosts[0]), authority.subject, key.public_key(), now, SERVING_VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    return Certificates(authorities, authority_key, _pem(builder.sign(signer, hashes.SHA256())), _key_pem(key))


def _new_authority(now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    # Old and new stand in one bundle; by their names alone a client could not tell which one has signed.
    name = _name(f"volcano-py admission {now.astimezone(UTC):%Y-%m-%d} {x509.random_serial_number() % 10**8:08d}")
    builder = (
        _builder(name, name, key.public_key(), now, AUTHORITY_VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA256()), key


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


def _name(text: str) -> x509.Name:
    # A common name has 64 characters at most; what counts are the alternative names.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts_of(certificate: x509.Certificate) -> set[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
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
        raise ValueError("a key is not of the kind that is made here (an elliptic curve's)")
    return key


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
