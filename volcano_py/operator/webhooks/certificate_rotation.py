"""Keeps the webhook server's certificates: in a Secret that all replicas share, in the server, and in the CA bundles of
the webhook configurations.

Every replica looks every few seconds, and the first that sees something due renews it: the Secret's version lets only
one of them write. Or another program provides certificates as files; then they are loaded when they change.
"""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import structlog

from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.webhooks.certificates import Certificates, issue, renewed

log = structlog.get_logger(__name__)

LOOK_EVERY: Final = 10.0
"""Seconds between two looks: a renewal by another replica, and a webhook configuration that was applied again."""

_CONFIGURATIONS: Final = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
_CONFIGURATION_API: Final = "admissionregistration.k8s.io/v1"


def tls_context(client_authorities: Path | None = None) -> ssl.SSLContext:
    """For the server; a certificate loaded into it later holds for the connections that come after.

    `client_authorities`: a file of authorities. Callers then need a certificate that one of them has signed.

    Raises:
        ValueError: the file has no certificates of authorities.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    if client_authorities is not None:
        try:
            context.load_verify_locations(client_authorities)
        except OSError as error:  # those of TLS are, too
            raise ValueError(f"{client_authorities} cannot be used as client CAs: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def service_hosts(namespace: str, service: str) -> tuple[str, ...]:
    """The names under which the API server reaches a Service."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")


class _Secret(msgspec.Struct, frozen=True):
    class Meta(msgspec.Struct, frozen=True, rename="camel"):
        resource_version: str = ""

    metadata: Meta = Meta()
    data: dict[str, str] | None = None


class _ClientConfig(msgspec.Struct, frozen=True, rename="camel"):
    ca_bundle: str = ""


class _Webhook(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    client_config: _ClientConfig


class _Configuration(msgspec.Struct, frozen=True):
    webhooks: list[_Webhook] = []


class _CertificateLoader:
    """Looks now and then; `ready` is set when the server has a certificate."""

    def __init__(self, tls: ssl.SSLContext, on_expiry: Callable[[float], None], look_every: float) -> None:
        self._tls, self._on_expiry, self._look_every = tls, on_expiry, look_every
        self.ready = asyncio.Event()
        self._problem = "no certificate has been loaded yet"

    async def run(self) -> None:
        """Until cancelled."""
        logged = ""
        while True:
            try:
                await self.look()
                self._problem = logged = ""
            except (RequestError, OSError, ValueError) as error:
                self._problem = f"certificates: {error}"
                if str(error) != logged:
                    log.warning("certificates cannot be updated", error=str(error))
                logged = str(error)
            await asyncio.sleep(self._look_every)

    def problem(self) -> str | None:
        """Why there is no certificate to serve; problems with one that is loaded are in the log."""
        return None if self.ready.is_set() else self._problem

    async def look(self) -> None:
        """Look once, and do what is due."""
        raise NotImplementedError

    def _load(self, certificate: Path, key: Path) -> None:
        self._tls.load_cert_chain(certificate, key)
        self.ready.set()


class CertificateRotator(_CertificateLoader):
    """Certificates of our own, in the Secret `namespace`/`name`; the webhook configurations are called `name`, too."""

    def __init__(
        self,
        client: KubernetesClient,
        tls: ssl.SSLContext,
        *,
        namespace: str,
        name: str,
        hosts: Sequence[str],
        on_expiry: Callable[[float], None],
        directory: Path | None = None,
        look_every: float = LOOK_EVERY,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(tls, on_expiry, look_every)
        self._client, self._hosts, self._now = client, tuple(hosts), now
        self._name, self._secret_path = name, ApiPath("v1", "secrets", namespace).of(name)
        self._directory = directory
        self._loaded: Certificates | None = None

    async def look(self) -> None:
        """Read, renew and load the certificates, and write the CA bundles.

        Raises:
            RequestError: the API server refuses, or does not answer.
            OSError: the files cannot be written.
        """
        current = await self._current()
        # Trust first: the API server must know the authority before it meets what that has signed.
        await self._trust(current.authorities)
        if current != self._loaded:
            await asyncio.to_thread(self._serve, current)
            self._loaded = current
            self._on_expiry(current.expires.timestamp())
            log.info("certificate loaded", expires=current.expires.isoformat())

    async def _current(self) -> Certificates:
        """What the Secret holds, after renewing what is due."""
        while True:
            secret = await self._read()
            current = _usable(secret)
            due = issue(self._hosts, self._now()) if current is None else renewed(current, self._hosts, self._now())
            if due is None and current is not None:
                return current
            assert due is not None
            body = {"metadata": {"resourceVersion": secret.metadata.resource_version}, "data": due.as_secret()}
            try:
                await self._client.patch(self._secret_path, body)
            except ConflictError:
                continue  # another replica was quicker
            log.info("webhook certificates renewed", expires=due.expires.isoformat())
            return due

    async def _read(self) -> _Secret:
        try:
            return await self._client.read(self._secret_path, _Secret)
        except NotFoundError as error:
            raise ValueError(f"Secret {self._name} does not exist; apply manifests/overlays/admission") from error

    async def _trust(self, authorities: bytes) -> None:
        """`caBundle` of every webhook in our two configurations; those that do not exist are skipped."""
        bundle = base64.b64encode(authorities).decode()
        for plural in _CONFIGURATIONS:
            path = ApiPath(_CONFIGURATION_API, plural).of(self._name)
            try:
                found = await self._client.read(path, _Configuration)
            except NotFoundError:
                continue
            outdated = [
                {"name": webhook.name, "clientConfig": {"caBundle": bundle}}
                for webhook in found.webhooks
                if webhook.client_config.ca_bundle != bundle
            ]
            if outdated:
                # Merged by the webhooks' names, so that nothing else of them is touched.
                await self._client.patch(path, {"webhooks": outdated}, PatchType.STRATEGIC)
                log.info("CA bundle updated", configuration=f"{plural}/{self._name}")

    def _serve(self, current: Certificates) -> None:
        with tempfile.TemporaryDirectory(dir=self._directory) as name:
            directory = Path(name)
            certificate = _private(directory / "tls.crt", current.certificate)
            self._load(certificate, _private(directory / "tls.key", current.key))


class CertificateFileWatcher(_CertificateLoader):
    """Certificates that another program keeps: `tls.crt` and `tls.key` in a directory, such as a mounted Secret."""

    def __init__(
        self,
        tls: ssl.SSLContext,
        directory: Path,
        *,
        on_expiry: Callable[[float], None],
        look_every: float = LOOK_EVERY,
    ) -> None:
        super().__init__(tls, on_expiry, look_every)
        self._certificate, self._key = directory / "tls.crt", directory / "tls.key"
        self._seen: tuple[bytes, bytes] | None = None

    async def look(self) -> None:
        """Load the files if they have changed.

        Raises:
            OSError: a file cannot be read.
            ValueError: they are no certificate and key that belong together.
        """
        await asyncio.to_thread(self._look)

    def _look(self) -> None:
        found = self._certificate.read_bytes(), self._key.read_bytes()
        if found == self._seen:
            return
        try:
            # Checked by themselves first: a pair that does not match would spoil the context in use.
            tls_context().load_cert_chain(self._certificate, self._key)
        except ssl.SSLError as error:
            raise ValueError(f"{self._certificate} and {self._key.name} cannot be used: {error}") from error
        self._load(self._certificate, self._key)
        self._seen = found
        expires = _expiry(found[0])
        self._on_expiry(expires.timestamp())
        log.info("certificate loaded", expires=expires.isoformat())


def _usable(secret: _Secret) -> Certificates | None:
    if not secret.data:
        return None
    try:
        return Certificates.from_secret(secret.data)
    except ValueError as error:
        log.warning("replacing unusable webhook certificates", reason=str(error))
        return None


def _expiry(pem: bytes) -> datetime:
    from cryptography import x509

    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _private(path: Path, content: bytes) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path
