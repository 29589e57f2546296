"""Keys as OpenSSH reads them."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

_RSA_BITS = 2048
_RSA_EXPONENT = 65537


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
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("not a private key without a password") from error


def _public_line(key: serialization.SSHPublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n"


def _read(content: bytes) -> serialization.SSHPrivateKeyTypes:
    """Without the check that its numbers are primes: it holds the interpreter, for 4 s where the key has 8192 bits. The
    public key follows without them, and a key with other numbers only locks out its owner's pods."""
    if b"OPENSSH PRIVATE KEY" in content:
        return serialization.load_ssh_private_key(content, password=None, unsafe_skip_rsa_key_validation=True)
    key = serialization.load_pem_private_key(content, password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey):
        raise TypeError("ssh has no such keys")
    return key
