"""Keys as OpenSSH reads them."""

from __future__ import annotations

import base64
import re
from typing import Final

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

_RSA_BITS = 2048
_RSA_EXPONENT = 65537

_PEM_BLOCK: Final = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----END", re.DOTALL)
_LENGTH: Final = rb"(?:[\x00-\x7f]|\x81.|\x82..)"  # DER, of less than 64 KiB
_PKCS8: Final = re.compile(rb"\x30" + _LENGTH + rb"\x02\x01.\x30" + _LENGTH, re.DOTALL)
"""The start of a key that names its algorithm: PrivateKeyInfo of RFC 5208. The identifier of the algorithm follows."""
_ALGORITHMS: Final = tuple(
    bytes.fromhex(text)
    for text in (
        "06092a864886f70d010101",  # 1.2.840.113549.1.1.1, RSA
        "06072a8648ce3d0201",  # 1.2.840.10045.2.1, elliptic curves
        "06032b6570",  # 1.3.101.112, ed25519
    )
)
"""DER of the algorithms that ssh has keys of."""


def new_pair(key_type: str) -> tuple[bytes, bytes]:
    """A new private key and its public one; `key_type` is rsa or ed25519."""
    key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
    # The format that every ssh reads; for ed25519 there is only OpenSSH's own.
    if key_type == "ed25519":
        key, private_format = ed25519.Ed25519PrivateKey.generate(), serialization.PrivateFormat.OpenSSH
    else:
        key = rsa.generate_private_key(_RSA_EXPONENT, _RSA_BITS)
        private_format = serialization.PrivateFormat.TraditionalOpenSSL
    private = key.private_bytes(serialization.Encoding.PEM, private_format, serialization.NoEncryption())
    return private, _public_line(key.public_key())


def public_of(private: bytes) -> bytes:
    """The public key of a private one.

    Raises:
        ValueError: it cannot be read, or not without a password.
    """
    try:
        return _public_line(_read(private).public_key())
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError) as error:
        raise ValueError("not a private key without a password") from error


def _public_line(key: serialization.SSHPublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n"


def _read(content: bytes) -> serialization.SSHPrivateKeyTypes:
    """Without the check that its numbers are primes: it holds the interpreter, for 4 s where the key has 8192 bits. The
    public key follows without them, and a key with other numbers only locks out its owner's pods."""
    if b"OPENSSH PRIVATE KEY" in content:
        return serialization.load_ssh_private_key(content, password=None, unsafe_skip_rsa_key_validation=True)
    key = serialization.load_der_private_key(_der_of(content), password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey):
        raise TypeError("ssh has no such keys")
    return key


def _der_of(content: bytes) -> bytes:
    """The first private key of a PEM file. One of an algorithm that ssh does not use is refused before it is read: a
    Diffie-Hellman key of 8192 bits held the interpreter for 0.2 s."""
    block = _PEM_BLOCK.search(content)
    if block is None:
        raise ValueError("no private key in PEM")
    der = base64.b64decode(b"".join(block[1].split()), validate=True)
    head = _PKCS8.match(der)
    if head is not None and not der.startswith(_ALGORITHMS, head.end()):
        raise TypeError("ssh has no keys of that algorithm")
    return der
