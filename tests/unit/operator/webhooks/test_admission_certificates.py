"""Certificates of the webhooks: what is made, what a client makes of it, and when what is renewed."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from volcano_py.operator.webhooks.certificates import (
    AUTHORITY_RENEWED_BEFORE,
    AUTHORITY_VALID,
    SERVING_RENEWED_BEFORE,
    SERVING_VALID,
    Certificates,
    issue,
    renewed,
)

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
HOSTS = ("admission.volcano-system.svc", "127.0.0.1")
DAY = timedelta(days=1)


def trusted(serving: Certificates, authorities: Certificates, now: datetime) -> bool:
    """Whether a client that trusts these authorities lets this server in."""
    store = Store(x509.load_pem_x509_certificates(authorities.authorities))
    verifier = PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(HOSTS[0]))
    try:
        verifier.verify(x509.load_pem_x509_certificate(serving.certificate), [])
    except x509.verification.VerificationError:
        return False
    return True


def number(of: Certificates) -> int:
    return x509.load_pem_x509_certificate(of.certificate).serial_number


def test_a_client_that_trusts_the_authority_trusts_the_server() -> None:
    made, other = issue(HOSTS, NOW), issue(HOSTS, NOW)
    assert trusted(made, made, NOW)
    assert not trusted(made, other, NOW)
    assert made.expires == NOW + SERVING_VALID


def test_what_is_stored_comes_back() -> None:
    made = issue(HOSTS, NOW)
    assert Certificates.from_secret(made.as_secret()) == made


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
def test_a_secret_in_which_something_is_missing_or_wrong_is_not_used(name: str) -> None:
    made, other = issue(HOSTS, NOW).as_secret(), issue(HOSTS, NOW).as_secret()
    for spoilt in ({**made, name: "!"}, {**made, name: "bm9uc2Vuc2U="}, {**made, name: other[name]}):
        with pytest.raises(ValueError, match=r"."):
            Certificates.from_secret(spoilt)
    del made[name]
    with pytest.raises(ValueError, match="its data has no usable"):
        Certificates.from_secret(made)


def by_hand(hosts: x509.SubjectAlternativeName | None, password: bytes = b"") -> dict[str, str]:
    """A Secret's data with a certificate that is its own authority, made with a user's openssl."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "by hand")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(5).not_valid_before(NOW - DAY).not_valid_after(NOW + 3650 * DAY)
    if hosts is not None:
        builder = builder.add_extension(hosts, critical=False)
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    certificate = base64.b64encode(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)).decode()
    secret = base64.b64encode(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)).decode()
    return {"ca.crt": certificate, "ca.key": secret, "tls.crt": certificate, "tls.key": secret}


NAMED = x509.SubjectAlternativeName([x509.DNSName(HOSTS[0])])


def test_foreign_certificates_are_used_if_they_can_be() -> None:
    Certificates.from_secret(by_hand(NAMED))
    with pytest.raises(ValueError, match=r"tls.crt names no hosts \(subjectAltName\)"):
        Certificates.from_secret(by_hand(None))
    with pytest.raises(ValueError, match="Password was not given but private key is encrypted"):
        Certificates.from_secret(by_hand(NAMED, b"secret"))


def test_nothing_is_renewed_before_it_is_due() -> None:
    made = issue(HOSTS, NOW)
    assert renewed(made, HOSTS, NOW) is None
    assert renewed(made, HOSTS, NOW + SERVING_VALID - SERVING_RENEWED_BEFORE) is None


def test_a_serving_certificate_is_renewed_a_month_before_it_ends_by_the_same_authority() -> None:
    made = issue(HOSTS, NOW)
    then = NOW + SERVING_VALID - SERVING_RENEWED_BEFORE + DAY
    after = renewed(made, HOSTS, then)
    assert after is not None
    assert after.authorities == made.authorities
    assert number(after) != number(made)
    assert after.expires == then + SERVING_VALID
    assert trusted(after, made, then)


def test_another_name_is_added_at_once() -> None:
    after = renewed(issue(HOSTS, NOW), (*HOSTS, "more.example"), NOW)
    assert after is not None
    assert renewed(after, HOSTS, NOW) is None, "fewer names are no reason"


def test_over_the_years_every_server_is_trusted_by_clients_with_the_old_bundle() -> None:
    """Renewed daily for twelve years: a client that is a day behind trusts, and so does one that is ahead."""
    current = issue(HOSTS, NOW)
    now, authorities = NOW, {current.authorities}
    for _ in range(12 * 365 // 5):
        now += 5 * DAY
        before, current = current, renewed(current, HOSTS, now) or current
        authorities.add(current.authorities)
        assert trusted(current, before, now), "the new certificate, by the old bundle"
        assert trusted(before, current, now), "the old certificate, by the new bundle"
    assert len(authorities) >= 3


def test_an_authority_ends_after_everything_it_has_signed() -> None:
    assert AUTHORITY_RENEWED_BEFORE > SERVING_VALID
    assert AUTHORITY_VALID > AUTHORITY_RENEWED_BEFORE


def test_an_authority_that_has_expired_is_no_longer_trusted() -> None:
    """A cluster that was switched off for years."""
    made = issue(HOSTS, NOW)
    later = NOW + AUTHORITY_VALID + DAY
    after = renewed(made, HOSTS, later)
    assert after is not None
    assert len(x509.load_pem_x509_certificates(after.authorities)) == 1
    assert trusted(after, after, later)
