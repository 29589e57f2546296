"""The control plane's own certificate authority: serving and client certificates, and the service-account key.

Everything is created for each control plane, lives in its work directory and is worthless elsewhere.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from volcano_py.cluster.certificates import Signer, certificate_pem, common_name, new_key

_VALIDITY = datetime.timedelta(days=30)
"""Longer than a local control plane stays up."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes


class CertificateAuthority:
    """Signs the certificates of one control plane."""

    def __init__(self, name: str) -> None:
        self._signer = Signer(common_name(name), new_key())
        self.certificate = certificate_pem(self._signer.own(_now(), _VALIDITY))
        """The authority's own certificate, as PEM: what clients and servers trust."""

    def serving(self, name: str, dns_names: Sequence[str], addresses: Sequence[str]) -> KeyPair:
        """A certificate for a server that is reached under these DNS names and IP addresses."""
        # etcd's gateway connects to its own server with the serving certificate.
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issue(common_name(name), usages, [*dns_names, *addresses])

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes reads the user from its common name, the groups from its organisations."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        return self._issue(x509.Name(attributes), [ExtendedKeyUsageOID.CLIENT_AUTH])

    def _issue(self, subject: x509.Name, usages: Sequence[x509.ObjectIdentifier], hosts: Sequence[str] = ()) -> KeyPair:
        key = new_key()
        certificate = self._signer.sign(subject, key.public_key(), _now(), _VALIDITY, usages=usages, hosts=hosts)
        return KeyPair(certificate_pem(certificate), private_key_pem(key))


def service_account_keys() -> KeyPair:
    """The key that signs service-account tokens; `certificate` holds its public half, which verifies them."""
    key = new_key()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(public, private_key_pem(key))


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Unencrypted PEM, in the encoding that Go's TLS and token signers both read."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def write_private(path: Path, content: bytes) -> Path:
    """Write a file that only its owner may read, from the first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
